// When typed text runs: after some quiet where runs are quick, else on Enter; never while an input method composes.

export const QUIET = 150; // ms
export const QUICK = 300; // ms of a kernel's run after which the next runs as one types

interface Options {
  run: () => Promise<unknown>; // the text as it stands
  runsAlone: () => boolean; // quick enough
  overtakes: () => boolean; // of runs asked for the last one counts, so that none waits for another
  quiet?: number;
}

export interface Typing {
  typed(): void;
  compose(going: boolean): void;
  enter(): void;
  stop(): void;
}

export function createTyping({ run, runsAlone, overtakes, quiet = QUIET }: Options): Typing {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [composing, going, behind] = [false, 0, false];
  const start = () => {
    clearTimeout(timer);
    behind = going > 0 && !overtakes();
    if (behind) return; // once that one is here
    going++;
    const end = () => {
      going--;
      if (behind && !composing) start();
    };
    run().then(end, end);
  };
  const typed = () => {
    clearTimeout(timer);
    if (!composing && runsAlone()) timer = setTimeout(start, quiet);
  };
  return {
    typed,
    compose: (now) => {
      composing = now;
      typed();
    },
    enter: () => {
      if (!composing) start();
    },
    stop: () => {
      behind = false;
      clearTimeout(timer);
    },
  };
}
