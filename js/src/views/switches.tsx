// The switches that head view, lists and tables follow: form, map, sentence pair, pieces or words, special tokens.
import { MEASURES, type Measure } from "../compute/measure";
import { Check, Segmented, Select } from "../parts/controls";
import { visibleText } from "../parts/token";
import type { PairFilter, Traits } from "../state/synced";
import { useView } from "./context";

const NAMES: Record<Measure, string> = { weight: "Weight α", norm: "Norm ‖αf(x)‖", difference: "Difference" };

export function Switches() {
  const { synced, shown } = useView().store;
  const p = shown.value.picture;
  const set =
    <K extends keyof Traits>(name: K) =>
    (value: Traits[K]) =>
      synced.put({ [name]: value });
  const words = p.queries.words.some((w, n) => w >= 0 && p.queries.words[n - 1] === w);
  const panels = synced.panels.value;
  const numbers = (n: number, only: number[] | null) =>
    Array.from({ length: n }, (_, i) => i)
      .filter((i) => only === null || only.includes(i))
      .map((i) => ({ value: String(i), label: String(i) }));
  return (
    <div class="bl-controls bl-switches">
      {!panels.includes("atlas") && (
        <>
          <Select
            label="layer"
            value={String(shown.value.layer)}
            choices={numbers(p.n_layers, synced.include_layers.value)}
            onChange={(value) => synced.put({ layer: Number(value) })}
          />
          <Select
            label="head"
            value={String(shown.value.head)}
            choices={numbers(p.n_heads, synced.include_heads.value)}
            onChange={(value) => synced.put({ head: Number(value) })}
          />
        </>
      )}
      {p.maps.length > 1 && (
        <Segmented
          label="map"
          value={p.map}
          choices={p.maps.map((value) => ({ value, label: value }))}
          onChange={set("map")}
        />
      )}
      {panels.includes("neurons") && !panels.includes("head") && (
        <Select
          label="query"
          value={String(synced.query.value ?? "")}
          choices={[
            { value: "", label: "clearest word" },
            ...p.queries.tokens.map((token, n) => ({ value: String(n), label: `${n} ${visibleText(token)}` })),
          ]}
          onChange={(value) => synced.put({ query: value === "" ? null : Number(value), key: null })}
        />
      )}
      {p.measures.length > 1 && (panels.includes("head") || panels.includes("atlas")) && (
        <Segmented<Measure>
          label="measure"
          value={synced.measure.value}
          choices={p.measures.map((value) => ({ value, label: NAMES[value], title: MEASURES[value].label }))}
          onChange={set("measure")}
        />
      )}
      {panels.includes("head") && (
        <Segmented
          label="head view"
          value={synced.mode.value}
          choices={[
            { value: "lines", label: "Lines" },
            { value: "matrix", label: "Matrix" },
          ]}
          onChange={set("mode")}
        />
      )}
      {p.pair && p.square && (
        <Segmented<PairFilter>
          label="pairs"
          value={synced.pair_filter.value}
          choices={[
            { value: "all", label: "All" },
            { value: "AA", label: "A→A" },
            { value: "AB", label: "A→B" },
            { value: "BA", label: "B→A" },
            { value: "BB", label: "B→B" },
          ]}
          onChange={set("pair_filter")}
        />
      )}
      {panels.includes("head") && (
        <Segmented<Traits["units"]>
          label="tokens"
          value={synced.units.value}
          choices={[
            { value: "pieces", label: "Pieces" },
            {
              value: "words",
              label: "Words",
              title: words
                ? "A word’s pieces: columns summed, rows averaged"
                : "No word of this text was split: the same as pieces",
            },
            ...(p.spans.length > 0
              ? [
                  {
                    value: "spans" as const,
                    label: "Domains",
                    title: "A domain’s tokens: columns summed, rows averaged",
                  },
                ]
              : []),
          ]}
          onChange={set("units")}
        />
      )}
      {(panels.includes("head") || panels.includes("neurons")) && (
        <Check
          label="hide special"
          title="Leave special tokens out of the head view. Rows then sum to less than 1."
          checked={synced.hide_special.value}
          onChange={set("hide_special")}
        />
      )}
      {synced.hide_special.value && (
        <Check
          label="renormalise rows"
          title="Scale every row of what is left to sum 1"
          checked={synced.renormalize.value}
          onChange={set("renormalize")}
        />
      )}
    </div>
  );
}
