// The place that the program opened: while a view stands there, nobody has chosen another, and the program may move it.
import { PLACE, type Traits } from "../generated/vocabulary";
import type { Synced } from "./synced";

type Place = Pick<Traits, (typeof PLACE)[number]>;
type Now = Place & Partial<Pick<Traits, "opened">>;

/** Of a view. */
export const placeIn = (synced: Synced): Now =>
  Object.fromEntries([...PLACE, "opened" as const].map((name) => [name, synced[name].value])) as unknown as Now;

/** Whether the view is where the program opened it. */
export const isOfProgram = (now: Now): boolean => PLACE.every((name) => now.opened?.[name] === now[name]);

/** Changes of a place that the program makes, with what they make of `opened`: where nobody had chosen, nobody has. */
export function movedBy<T extends Partial<Place>>(now: Now, changes: T): T & Partial<Pick<Traits, "opened">> {
  if (!isOfProgram(now)) return changes;
  const place = { ...now, ...changes };
  return { ...changes, opened: Object.fromEntries(PLACE.map((name) => [name, place[name]])) };
}
