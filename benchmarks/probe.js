// Put into every measured page before its own scripts: when something is painted, by the page's own clock.
// A change is painted when the frame that shows it has ended, which is when the next one begins.
globalThis.bench = (() => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));

  /** Milliseconds from the start of navigation until the frame after `ready()` became true has ended. */
  async function first(ready) {
    do await frame();
    while (!ready());
    await frame();
    return performance.now();
  }

  /**
   * Milliseconds from `act()` until what it changed is painted; `changed()` says whether the page has it. Two marks say
   * in which tasks it began and was drawn.
   */
  async function change(act, changed, patience = 60000) {
    await new Promise((done) => setTimeout(done)); // a task of its own, not one of the measuring tool
    const start = performance.now();
    performance.mark("bench-act");
    act();
    do {
      if (performance.now() - start > patience) throw new Error(`nothing changed in ${patience} ms`);
      await frame();
    } while (!changed());
    performance.mark("bench-drawn");
    await frame();
    return performance.now() - start;
  }

  return { frame, first, change };
})();
