// Thumbnails and statistics of a long text: they arrive once the head is on the screen, and grow into its overview.
import { effect } from "@preact/signals";
import type { Kind } from "../kernel/answers";
import type { Store } from "./store";

/** Its arrays are the overview's own, filled. */
const THUMBNAILS: Kind<null> = { op: "pictures", layered: true, read: () => null };

/** Ask until nothing is pending; what ends it. */
export const askForThumbnails = ({ answers, grown }: Pick<Store, "answers" | "grown">): (() => void) =>
  effect(() => {
    const { sent } = grown.value;
    const answer = sent.byLayer ? answers.get(THUMBNAILS, sent, {}) : null;
    const pending = (answer?.state === "answered" && answer.pending) || sent.pending;
    const { now } = grown.peek();
    // a new `thumbs` object: components that draw thumbnails compare it
    if (pending.length < now.pending.length)
      grown.value = { sent, now: { ...now, pending, thumbs: { ...now.thumbs } } };
  });
