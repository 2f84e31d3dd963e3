// What the tokenizer did that is harmless, behind one sign.
import { Menu } from "../parts/controls";
import { useView } from "../state/view";

export function Notices() {
  const badges = useView().overview.badges.filter(({ severity }) => severity !== "warning");
  if (badges.length === 0) return null;
  return (
    <Menu label="i" title="Notes" name="bl-notices">
      {badges.map(({ kind, label, detail }) => (
        <p key={kind}>
          <b>{label}</b>
          <br />
          {detail}
        </p>
      ))}
    </Menu>
  );
}
