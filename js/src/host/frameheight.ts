// A page in a frame of another says how high it is, now and each time that it changes: a frame of that height needs no
// scroll bar. bertlens/sphinxext.py listens. Nothing but the number leaves the page.

/** Tell the page around this one, where there is one. */
export function tellHeight(): void {
  const { parent, self, document } = globalThis;
  if (!parent || parent === self) return;
  const tell = () =>
    parent.postMessage({ "bertlens height": Math.ceil(document.body.getBoundingClientRect().height) }, "*");
  new ResizeObserver(tell).observe(document.body);
}
