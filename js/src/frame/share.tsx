// The state of a view for somebody else: a line of Python, and, on a page with an address, a link.
import { useCopy } from "../parts/copy";
import { fragmentOf, settingsOf, traitsOf } from "../state/snapshot";
import { useView, type View } from "../state/view";

/** A plain value as Python writes it. */
function python(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, item]) => `${python(name)}: ${python(item)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

/** The run, with its changes where they can be written in a line. */
function changed({ overview: { changes } }: View): string {
  const codes = changes.map(({ code }) => code);
  return codes.length > 0 && codes.every(Boolean) ? `trace.original.rerun(${codes.join(", ")})` : "trace";
}

/** The call that opens this state; layer and head are always named. */
export function pythonLine(view: View): string {
  const { layer, head } = view.shown;
  const settings = settingsOf(view);
  const given = { layer, head, ...traitsOf(view), ...(Object.keys(settings).length > 0 ? { settings } : {}) };
  return `${changed(view)}.explore(${Object.entries(given)
    .map(([name, value]) => `${name}=${python(value)}`)
    .join(", ")})`;
}

/** The address of this state, "" where the page has none of its own. */
export const linkTo = (view: View): string => {
  const base = view.address?.href.split("#")[0] ?? "";
  return /^(https?|file):/.test(base) ? base + fragmentOf(view) : "";
};

export function Share() {
  const view = useView();
  const [said, copyText] = useCopy();
  const button = (label: string, text: () => string) => (
    <button
      type="button"
      onClick={(event) => {
        event.stopPropagation(); // the menu stays open, to say what came of it
        copyText(text());
      }}
    >
      {label}
    </button>
  );
  return (
    <>
      {button("Copy this state as Python", () => pythonLine(view))}
      {linkTo(view) && button("Copy a link to this state", () => linkTo(view))}
      <p role="status">{said}</p>
    </>
  );
}
