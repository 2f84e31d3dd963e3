// What is pinned by an arc; and through an edit it stays so, while its word stands in the text.
import { useEffect, useRef } from "preact/hooks";
import { movedBy, openedNext, placeIn } from "../../kernel/opened";
import type { View } from "../../state/view";
import { askOf } from "../leaf/openleaf";
import { isUnfolded } from "../unfolded";
import { movedPlaces } from "./wordplaces";
import type { Words } from "./wordrow";

/** Keep what was pinned where its word still stands after an edit; the kernel looks for the token alone. */
export function usePins(view: View, words: Words) {
  const { synced, overview, shownHead } = view;
  const state = useRef({ overview, words, query: null as number | null, key: null as number | null, edited: false });
  const isSame = state.current.overview.subject === overview.subject;
  useEffect(() => {
    const { words: before, query, key, edited } = state.current;
    if (!isSame && edited) {
      const follow = (piece: number | null) => {
        const n = before.units.findIndex(({ pieces }) => piece !== null && pieces.includes(piece));
        const line = before.lines.findIndex(({ places }) => places[n]);
        const [from, to] = [before.lines[line], words.lines[line]];
        if (n < 0 || !from || !to) return null;
        const place = movedPlaces(from.places, from.text, to.text)[n];
        const now = to.places.findIndex((one) => one && place && one.start === place.start);
        return now >= 0 && words.units[now]!.label === before.units[n]!.label ? words.units[now]!.pieces[0]! : null;
      };
      const pins = { query: follow(query), key: follow(key) };
      const pinned = Object.entries(pins).filter(
        ([name, piece]) => piece !== null && synced[name as "query"].peek() !== piece,
      );
      if (pinned.length > 0) synced.put(movedBy(placeIn(synced), Object.fromEntries(pinned)));
    }
    state.current = { overview, words, query: synced.query.value, key: synced.key.value, edited: isSame && edited };
  });
  return {
    submitted: () => {
      state.current.edited = true;
      if (!isUnfolded(view)) synced.put(openedNext(placeIn(synced))); // else its head is being looked into
    },
    /** Of the cells between the pieces of two words the one with the most weight, and how it is computed. */
    pinCell: (asker: number, word: number) => {
      const [queries, keys] = [asker, word].map((n) => words.units[n]!.pieces) as [number[], number[]];
      const cells = queries.flatMap((query) => keys.map((key) => ({ query, key })));
      const weightOf = ({ query, key }: (typeof cells)[number]) => shownHead.weights.at(query, key);
      const cell = cells.reduce((best, one) => (weightOf(one) > weightOf(best) ? one : best));
      askOf(view, cell);
    },
  };
}
