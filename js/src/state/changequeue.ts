// Changes of the run as requests: one after the other, each from what the one before has left.
import type { Overview } from "./overview";
import type { Page } from "./page";
import type { Store } from "./store";
import type { Asked } from "./whatif";

export const changesOf = ({ changes }: Overview): number[] => changes.map(({ id }) => id);

/**
 * Run the text with other changes, which `list` makes of those that there are: one request after the other, each from
 * what the one before has left. The link says what goes wrong; nothing is wrong where the text is another by then.
 */
export function change(
  view: { request: Store["request"]; page: Page; overview: Overview },
  list: (there: number[]) => Asked[],
  { subject } = view.overview,
): Promise<Asked[]> {
  const { whatif } = view.page;
  const run = whatif.turn.then(async () => {
    const { trace, map, ...now } = view.overview;
    if (now.subject !== subject) throw new Error("another text");
    const changes = list(changesOf(view.overview));
    await view.request("change", { trace, map, changes });
    return changes;
  });
  whatif.turn = run.catch(() => undefined);
  return run;
}
