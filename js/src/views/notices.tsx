// What the tokenizer did: warnings in a line of their own, harmless notices behind one ⓘ.
import { Menu } from "../parts/controls";
import { useView } from "./context";

export function Warnings() {
  const badges = useView().overview.badges.filter(({ severity }) => severity === "warning");
  if (badges.length === 0) return null;
  return (
    <ul class="bl-report" aria-label="What the tokenizer did">
      {badges.map(({ kind, label, detail }) => (
        <li key={kind} class="bl-badge bl-warning">
          <details>
            <summary>{label}</summary>
            <span>{detail}</span>
          </details>
        </li>
      ))}
    </ul>
  );
}

export function Notices() {
  const badges = useView().overview.badges.filter(({ severity }) => severity !== "warning");
  if (badges.length === 0) return null;
  return (
    <Menu label="i" title={`About this text: ${badges.map(({ label }) => label).join("; ")}`} name="bl-notices">
      {badges.map(({ kind, label, detail }) => (
        <p key={kind}>
          <b>{label}</b>
          {label !== detail && (
            <>
              <br />
              {detail}
            </>
          )}
        </p>
      ))}
    </Menu>
  );
}
