// All that a reader can set in a view, as one plain record: what undo brings back, and what a link or a line of Python
// carries. It holds only what is not the default.
import { batch } from "@preact/signals";
import { DEFAULTS, SETTINGS, type Settings, type Traits } from "../generated/vocabulary";
import { MARK, stateIn } from "../kernel/address";
import type { Synced } from "../kernel/synced";
import { type Page, settingOf } from "./page";

export type State = Record<string, unknown>;
interface Kept {
  synced: Synced;
  page: Page;
}

const isEqual = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
const entries = (record: object): [string, unknown][] => Object.entries(record);
const changed = (known: object, current: (name: string) => unknown): State =>
  Object.fromEntries(
    entries(known).flatMap(([name, value]) => (isEqual(current(name), value) ? [] : [[name, current(name)]])),
  );

export const traitsOf = ({ synced }: Pick<Kept, "synced">): State =>
  changed(DEFAULTS, (name) => synced[name as keyof Traits].value);

export const settingsOf = ({ page }: Pick<Kept, "page">): State =>
  changed(SETTINGS, (name) => {
    const { value } = settingOf(page, name);
    return value instanceof Set ? [...value] : value;
  });

export const stateOf = (view: Kept): State => ({ ...traitsOf(view), ...settingsOf(view) });

/** Set a page to some settings; the others stay. */
export function applySettings(page: Page, settings: Partial<Settings>): void {
  batch(() => {
    for (const [name, value] of entries(settings)) {
      const setting = settingOf(page, name);
      if (name === "muted") setting.value = new Set(value as string[]);
      else if (name === "corpus") setting.value = { ...SETTINGS.corpus, ...(value as object) };
      else if (name === "compare_with" || name === "similar_to")
        setting.value = { ...SETTINGS[name], ...(value as object) };
      else if (!isEqual(setting.peek(), value)) setting.value = value;
    }
  });
}

/** Bring a state back: what it does not name gets its default. */
export function restore({ synced, page }: Kept, state: State): void {
  const pick = <T extends object>(known: T) =>
    Object.fromEntries(entries(known).map(([name, value]) => [name, name in state ? state[name] : value]));
  const traits = entries(pick(DEFAULTS)).filter(
    ([name, value]) => !isEqual(synced[name as keyof Traits].peek(), value),
  );
  batch(() => {
    synced.put(Object.fromEntries(traits));
    applySettings(page, pick(SETTINGS) as unknown as Settings);
  });
}

export const fragmentOf = (view: Kept): string => MARK + encodeURIComponent(JSON.stringify(stateOf(view)));

/** The state in an address; what is unknown or of another kind is left out. Null where there is none. */
export const stateFrom = (hash: string): State | null => stateIn(hash, knownIn);

/** What of a state is known, and of the kind that it should be. */
export function knownIn(given: State): State {
  const defaults = { ...DEFAULTS, ...SETTINGS } as State;
  return Object.fromEntries(
    entries(given).filter(([name, value]) => Object.hasOwn(defaults, name) && alike(name, value, defaults[name])),
  );
}

const isPlace = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;

function alike(name: string, value: unknown, like: unknown): boolean {
  if (name === "heads") return Array.isArray(value) && value.every((one) => one?.length === 2 && one.every(isPlace));
  if (name === "muted") return Array.isArray(value) && value.every((one) => typeof one === "string");
  if (name === "layer" || name === "head") return isPlace(value);
  if (like === null) return Array.isArray(value) ? name.startsWith("include") && value.every(isPlace) : isPlace(value);
  if (Array.isArray(like)) return Array.isArray(value) && value.length === like.length && value.every(Number.isFinite);
  if (typeof like === "object")
    return typeof value === "object" && entries(value ?? {}).every(([, one]) => typeof one === "string");
  return typeof value === typeof like;
}
