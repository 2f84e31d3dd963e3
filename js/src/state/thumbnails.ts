// Thumbnails and statistics of a long text: they arrive once the head is on the screen, and grow into its overview.
import { effect } from "@preact/signals";
import type { Kind } from "../kernel/answers";
import type { Store } from "./store";

/** Its arrays are the overview's own, filled. */
const THUMBNAILS: Kind<null> = { op: "pictures", layered: true, read: () => null };

/** Ask until nothing is pending; what ends it. */
export const askForThumbnails = ({ answers, grown }: Pick<Store, "answers" | "grown">): (() => void) =>
  effect(() => {
    const { of } = grown.value;
    const answer = of.byLayer ? answers.get(THUMBNAILS, of, {}) : null;
    const pending = (answer?.state === "answered" && answer.pending) || of.pending;
    const { now } = grown.peek();
    // who draws them looks at `thumbs`
    if (pending.length < now.pending.length) grown.value = { of, now: { ...now, pending, thumbs: { ...now.thumbs } } };
  });
