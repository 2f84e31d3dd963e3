// How long a run will take in this browser: from the last one, and before that from a small one.
import { run } from "./forward";
import type { Run } from "./runs";
import type { Weights } from "./weights";

const TOKENS = 32; // of the small one
const PICTURES = 1.3; // what pictures of heads add to a pass
const PER_PAIR = 1 / 1200; // of what a token takes, what each token that it looks at does

/** What a run takes, in tokens that look at none. */
const workOf = (tokens: number) => tokens * (1 + tokens * PER_PAIR);

export class Pace {
  private seconds = 0; // for one of them

  secondsOf = (tokens: number): number => this.seconds * workOf(tokens);

  /** By a run of some tokens, whichever. */
  async tried(weights: Weights): Promise<void> {
    const ids = Array.from({ length: Math.min(TOKENS, weights.shape.positions) }, (_, n) => n % weights.words.rows);
    for (let n = 0; n < 2; n++) {
      const start = performance.now();
      await run(weights, { ids, types: ids.map(() => 0) }, []);
      this.heard((performance.now() - start) * PICTURES, ids.length); // the second time counts: code is compiled then
    }
  }

  async timed(make: () => Promise<Run>): Promise<Run> {
    const start = performance.now();
    const timedRun = await make();
    if (timedRun.pass.tokens >= TOKENS) this.heard(performance.now() - start, timedRun.pass.tokens);
    return timedRun;
  }

  private heard(ms: number, tokens: number): void {
    this.seconds = ms / 1000 / workOf(tokens);
  }
}
