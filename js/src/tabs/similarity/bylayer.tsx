// Small bars: what each layer put into the similarity, of the vector of either text.
import { useSignal } from "@preact/signals";
import { signed } from "../../paint/format";
import { Waiting } from "../../parts/section";
import { useView } from "../../state/view";
import { digitsFor } from "./splits";
import { layersOf } from "./twotexts";

/** `whole`: what either column adds up to. */
export function ByLayer({ whole }: { whole: number }) {
  const open = useSignal(false);
  return (
    <details
      class="bl-by-layer"
      onToggle={({ currentTarget }) => {
        open.value = currentTarget.open;
      }}
    >
      <summary>Which layers wrote it?</summary>
      {open.value && <Bars whole={whole} />}
    </details>
  );
}

function Bars({ whole }: { whole: number }) {
  const answer = layersOf(useView());
  if (answer.state !== "answered") return <Waiting answer={answer} doing="splitting by layers" />;
  const { names, a, b } = answer.value;
  const peak = Math.max(1e-12, ...[...a, ...b].map(Math.abs));
  const digits = digitsFor(peak);
  const cells = (value: number) => (
    <>
      <td>
        <span class="bl-bar-track">
          <span class={value < 0 ? "bl-minus" : "bl-plus"} style={{ "--part": `${(100 * Math.abs(value)) / peak}%` }} />
        </span>
      </td>
      <td class="bl-number">{signed(value, digits)}</td>
    </>
  );
  return (
    <table data-testid="similar-layers">
      <caption class="bl-muted">
        What each layer wrote into the vector of a, read by all of b, and the reverse. Either column adds up to{" "}
        {signed(whole, digits)}; LayerNorm deviations as the run had them.
      </caption>
      <thead>
        <tr>
          <th scope="col">layer</th>
          <th scope="col" colSpan={2}>
            of a
          </th>
          <th scope="col" colSpan={2}>
            of b
          </th>
        </tr>
      </thead>
      <tbody>
        {names.map((name, n) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {cells(a[n]!)}
            {cells(b[n]!)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
