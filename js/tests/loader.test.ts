// @vitest-environment happy-dom
// The bundle that all views of a document share: who loads it may go away meanwhile.
import { afterEach, expect, it, vi } from "vitest";
import loader from "../src/host/loader";
import { GONE } from "../src/kernel/kernel";

const PAGE = globalThis as Record<symbol, unknown>;
afterEach(() => {
  PAGE[Symbol.for("a bundle loading")] = undefined;
});

/** A view of a host where the bundle has to be asked for: its questions, and its end. */
function view(model: Record<string, unknown> = {}) {
  const send = vi.fn();
  const life = new AbortController();
  const props = { model: { get: () => "", on() {}, off() {}, send, ...model }, el: null, signal: life.signal };
  const done = loader.render(props as unknown as Parameters<typeof loader.render>[0]);
  const said = done.then(
    () => "drawn",
    (error: Error) => error.message,
  );
  return { send, life, said };
}
const asked = () => new Promise((done) => setTimeout(done));

it("is loaded by the next view where the cell of the first ran again meanwhile", async () => {
  const [first, second, third] = [view(), view(), view()];
  await asked();
  expect([first, second, third].map(({ send }) => send.mock.calls.length)).toEqual([1, 0, 0]);
  first.life.abort(new Error("closed"));
  expect(await first.said).toBe("closed");
  await asked();
  expect([second, third].map(({ send }) => send.mock.calls.length)).toEqual([1, 0]);
  second.life.abort(new Error("closed too"));
  expect(await second.said).toBe("closed too");
  await asked();
  expect(third.send.mock.calls[0]).toMatchObject([{ op: "bundle" }]);
});

it("is refused where nobody has it, to each view by its own kernel", async () => {
  const send = () => {
    throw new Error("disposed");
  };
  const views = [view({ send }), view({ send })];
  expect(await Promise.all(views.map(({ said }) => said))).toEqual([GONE, GONE]);
});
