// Long work on the main thread, a slice a frame: hosts may refuse workers, and nothing may freeze.
const SLICE = 7; // ms of work a frame
const LONGEST_WAIT = 100; // ms; a hidden page draws no frames

const jobs: Iterator<void>[] = [];
let waiting = false;

function work(): void {
  const end = performance.now() + SLICE;
  waiting = false;
  if (jobs.length > 0) wait(); // before any work: the others go on where a job fails
  while (jobs.length > 0 && performance.now() < end) {
    const job = jobs[0]!;
    let ends = true;
    try {
      ends = job.next().done === true;
    } finally {
      if (ends) cancel(job);
    }
  }
}

function wait(): void {
  if (waiting) return;
  waiting = true;
  let frame = 0;
  const once = () => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    work();
  };
  const timer = setTimeout(once, LONGEST_WAIT);
  frame = requestAnimationFrame(once);
}

function cancel(job: Iterator<void>): void {
  const at = jobs.indexOf(job);
  if (at >= 0) jobs.splice(at, 1);
}

/** Have a job done in slices, before or after those that wait; what comes back ends it, and it can be gone on with. */
export function inSlices(job: Iterator<void>, { first = false } = {}): () => void {
  if (first) jobs.unshift(job);
  else jobs.push(job);
  wait();
  return () => cancel(job);
}
