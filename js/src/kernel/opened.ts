// The place that the program opened: while a view stands there, nobody has chosen another, and the program may move it.
import { PLACE, type Traits } from "../generated/vocabulary";
import type { Synced } from "./synced";

type Place = Pick<Traits, (typeof PLACE)[number]>;
type Now = Place & Partial<Pick<Traits, "opened">>;

/** Of a view. */
export const placeIn = (synced: Synced): Now =>
  Object.fromEntries([...PLACE, "opened" as const].map((name) => [name, synced[name].value])) as unknown as Now;

const ofPlace = (now: Place) => Object.fromEntries(PLACE.map((name) => [name, now[name]])) as Traits["opened"];

/** Whether the head is the one that the program opened. */
export const isOfHead = ({ opened, layer, head }: Now) => opened?.layer === layer && opened.head === head;

/** Whether the view is where the program opened it. */
export const isOfProgram = (now: Now): boolean => PLACE.every((name) => now.opened?.[name] === now[name]);

/** Changes of a place that the program makes, with what they make of `opened`: where nobody had chosen, nobody has. */
export function movedBy<T extends Partial<Place>>(now: Now, changes: T): T & Partial<Pick<Traits, "opened">> {
  if (!isOfProgram(now)) return changes;
  return { ...changes, opened: ofPlace({ ...now, ...changes }) };
}

/** That a reader has touched a word: this text's place is theirs, the head is still the program's. */
export const touchedAt = (now: Now): Partial<Pick<Traits, "opened">> =>
  isOfHead(now) ? { opened: { layer: now.layer, head: now.head } } : {};

/** That a new text is the program's to open: where nobody has chosen the head, whatever word was looked at. */
export const openedNext = (now: Now): Partial<Pick<Traits, "opened">> =>
  isOfHead(now) ? { opened: ofPlace(now) } : {};
