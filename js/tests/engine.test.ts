// The parts of a pass by themselves; what they make of a real model is tests/unit/export/test_engine.py's.
import { expect, test, vi } from "vitest";
import { headsThatMatter } from "../src/engine/answers/firstanswer";
import { activate, addAndNorm, erf, halves } from "../src/engine/arithmetic";
import { type Change, covers, factorOf, logarithmsOf, maskOf } from "../src/engine/changes";
import type { Fields } from "../src/engine/chips";
import { cosine, pooled, run } from "../src/engine/forward";
import { pack } from "../src/engine/pack";
import { createProduct, MASKED, plainProduct } from "../src/engine/product";
import type { Engine, Shown } from "../src/engine/runs";
import type { Encoded } from "../src/engine/tokenizer";
import { loadWeights, type Shape } from "../src/engine/weights";
import { type Arrays, unpack } from "../src/kernel/wire";

let seed = 7;
const random = () => {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647 - 0.5;
};
const floats = (length: number) => Float32Array.from({ length }, random);

test.each([true, false])("a product is the sum over the inputs and a bias, by WebAssembly: %s", async (fast) => {
  for (const [rows, n, outputs] of [
    [4, 4, 2],
    [8, 12, 6],
    [20, 64, 34],
  ] as const) {
    const sizes = [rows * n, outputs * n, Math.ceil(outputs / 4) * 4, rows * outputs];
    const at = sizes.map((_, i) => 4 * sizes.slice(0, i).reduce((sum, one) => sum + one, 0));
    const bytes = at[3]! + 4 * sizes[3]! + 16;
    const product = fast ? await createProduct(bytes) : plainProduct(bytes);
    expect(product.fast).toBe(fast);
    const [x, w, b] = sizes.slice(0, 3).map(floats) as [Float32Array, Float32Array, Float32Array];
    for (const [i, values] of [x, w, b].entries()) new Float32Array(product.memory, at[i]).set(values);
    const behind = new Float32Array(product.memory, at[3]! + 4 * sizes[3]!, 4).fill(7);
    product.multiply(at[0]!, at[1]!, at[2]!, at[3]!, rows, n, outputs);
    const y = new Float32Array(product.memory, at[3], sizes[3]);
    for (let r = 0; r < rows; r++)
      for (let o = 0; o < outputs; o++) {
        let sum = b[o]!;
        for (let i = 0; i < n; i++) sum += x[r * n + i]! * w[o * n + i]!;
        expect(y[r * outputs + o]).toBeCloseTo(sum, 5);
      }
    expect([...behind]).toEqual([7, 7, 7, 7]); // it writes nothing beside y
  }
});

test.each([true, false])("rows become weights, GELUs, an entropy, by WebAssembly: %s", async (fast) => {
  const product = fast ? await createProduct(8192) : plainProduct(8192);
  const row = (at: number, values: readonly number[]) => {
    const own = new Float32Array(product.memory, at, values.length);
    own.set(values);
    return own;
  };
  const scores = Array.from({ length: 516 }, (_, n) => (n % 7 === 3 ? MASKED : 150 * Math.sin(37 * n)));
  const powers = scores.map((x) => Math.exp(0.17 * x));
  const sum = powers.reduce((a, b) => a + b);
  const found = row(16, scores);
  expect(product.softmax(16, 516, 0.17)).toBeCloseTo(Math.log(sum), 6);
  for (const [n, power] of powers.entries()) expect(Math.abs(found[n]! - power / sum)).toBeLessThan(1e-7);
  const entropy = powers.reduce((total, p) => (p > 0 ? total - (p / sum) * Math.log(p / sum) : total), 0);
  expect(product.entropy(16, 516)).toBeCloseTo(entropy, 6);
  const numbers = Array.from({ length: 400 }, (_, n) => (n - 200) / 20);
  const after = row(4096, numbers);
  product.gelu(4096, 400);
  for (const [n, x] of numbers.entries())
    expect(Math.abs(after[n]! - 0.5 * x * (1 + erf(x * Math.SQRT1_2)))).toBeLessThan(1e-6);
});

test("activations of what is far from 0 are 0, the number, or ±1", async () => {
  const far = Array.from({ length: 64 }, (_, n) => (n % 2 ? 1 : -1) * 10 ** (1.5 + n / 25)); // to 10,000
  for (const product of [await createProduct(4096), plainProduct(4096)]) {
    const values = new Float32Array(product.memory, 16, far.length);
    values.set(far);
    product.gelu(16, far.length);
    for (const [n, x] of far.entries()) expect(values[n]).toBeCloseTo(x > 0 ? Math.fround(x) : 0, 6);
  }
  for (const name of ["gelu", "gelu_tanh", "relu", "silu", "tanh"] as const) {
    const values = Float32Array.from(far);
    activate(name, values);
    for (const [n, x] of far.entries())
      expect(values[n]).toBeCloseTo(name === "tanh" ? Math.sign(x) : x > 0 ? Math.fround(x) : 0, 6);
  }
});

test("where WebAssembly is refused the plain product stands in", async () => {
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (() => Promise.reject(new Error("a policy"))) as never;
  try {
    expect((await createProduct(64)).fast).toBe(false);
  } finally {
    WebAssembly.instantiate = instantiate;
  }
});

test("numbers of 16 bits are those of IEEE 754", () => {
  const table = halves();
  const known = {
    0: 0,
    1: 2 ** -24,
    1023: 1023 * 2 ** -24,
    1024: 2 ** -14,
    15360: 1,
    15361: 1 + 2 ** -10,
    31743: 65504,
  };
  for (const [bits, value] of Object.entries(known)) {
    expect(table[Number(bits)]).toBe(value);
    expect(table[Number(bits) | 0x8000]).toBe(-value);
  }
});

test("erf, gelu and LayerNorm", () => {
  // Abramowitz & Stegun, table 7.1
  for (const [x, y] of [
    [0, 0],
    [0.5, 0.5204998778],
    [1, 0.8427007929],
    [2, 0.995322265],
  ] as const) {
    expect(Math.abs(erf(x) - y)).toBeLessThan(1.5e-7);
    expect(Math.abs(erf(-x) + y)).toBeLessThan(1.5e-7);
  }
  const values = Float32Array.of(-1, 0, 1);
  activate("gelu", values);
  for (const [n, y] of [-0.15865525, 0, 0.84134475].entries()) expect(values[n]).toBeCloseTo(y, 6);
  const x = Float32Array.of(1, 2, 3, 4);
  addAndNorm(x, Float32Array.of(1, 1, 1, 1), { scale: Float32Array.of(1, 2), shift: Float32Array.of(0, 1) }, 0);
  expect([...x]).toEqual([-1, 3, -1, 3]);
});

test("arrays come back as they were packed", () => {
  const { index, data } = pack({ a: [Uint8Array.of(1, 2, 3), null], b: [Float32Array.of(1, 2, 3, 4), [2, 2]] });
  const back = unpack(index, data);
  expect([...back.a!.data]).toEqual([1, 2, 3]);
  expect(back.b).toEqual({ dtype: "float32", shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) });
});

test("what is cut and hidden is not seen, and a query that sees nothing is refused", () => {
  const cut = { kind: "cut", layer: 1, head: 0, query: 0, key: 2 } as const;
  expect(maskOf([cut], 1, 0, 3)).toEqual(Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 1, 1));
  expect([maskOf([cut], 0, 0, 3), maskOf([cut], 1, 1, 3)]).toEqual([null, null]);
  expect(maskOf([{ kind: "hide", token: 1 }], 5, 3, 2)).toEqual(Uint8Array.of(1, 0, 1, 0));
  expect(() => maskOf([{ ...cut, key: null }], 1, 0, 3)).toThrow(
    "token 0 would have no key left in layer 1: cut fewer of its keys",
  );
  expect(factorOf([{ kind: "off", layer: 1, head: null }], 1, 5)).toBe(0);
  expect(factorOf([{ kind: "off", layer: 1, head: 4 }], 1, 5)).toBe(1);
  const louder = { kind: "scale", layer: 1, head: null, factor: 3 } as const;
  expect(factorOf([louder, { ...louder, head: 5, factor: 0.5 }, { ...louder, layer: 0 }], 1, 5)).toBe(1.5);
  expect(logarithmsOf([louder, { kind: "dim", token: 1, factor: 1 }], 3)).toBe(null);
  const dims = [0.5, 4, 0].map((factor) => ({ kind: "dim", token: 2, factor }) as const);
  expect(logarithmsOf(dims, 3)).toEqual(Float64Array.of(0, 0, Math.log(0.5) + Math.log(4)));
  expect(maskOf(dims.slice(2), 0, 0, 3)).toEqual(Uint8Array.of(1, 1, 0, 1, 1, 0, 1, 1, 0));
});

test("what one change leaves another nothing to do is as in Python", () => {
  const scale = (head: number | null, factor: number) => ({ kind: "scale", layer: 1, head, factor }) as const;
  const off = (head: number | null) => ({ kind: "off", layer: 1, head }) as const;
  const dim = (token: number, factor: number) => ({ kind: "dim", token, factor }) as const;
  const hide = (token: number) => ({ kind: "hide", token }) as const;
  const cut = { kind: "cut", layer: 1, head: 2, query: 0, key: 3 } as const;
  const covering = [
    [off(2), scale(2, 0.5)],
    [off(null), scale(2, 2)],
    [scale(2, 0), off(2)],
    [scale(null, 0), cut],
    [scale(2, 0.5), scale(2, 2)],
    [hide(3), dim(3, 0.5)],
    [dim(3, 0), hide(3)],
    [dim(3, 0), cut],
    [dim(3, 0.5), dim(3, 0.1)],
    [cut, cut],
  ] as const;
  const others = [
    [scale(2, 0.5), off(2)],
    [scale(null, 0.5), scale(2, 0.5)],
    [off(2), scale(null, 0.5)],
    [scale(2, 0.5), cut],
    [cut, off(2)],
    [dim(3, 0.5), hide(3)],
    [dim(3, 0.5), cut],
    [dim(3, 0), dim(4, 0)],
    [hide(3), scale(2, 0)],
  ] as const;
  expect(covering.filter(([one, other]) => !covers(one, other))).toEqual([]);
  expect(others.filter(([one, other]) => covers(one, other))).toEqual([]);
});

const SHAPE: Shape = {
  ...{ layers: 2, order: [0, 1], heads: 2, width: 8, entering: 8, inner: 16, positions: 8, typed: true, pad: null },
  ...{ activation: "gelu", epsilon: 1e-12, head: [] },
};

async function tinyModel() {
  const array = (...shape: number[]): Arrays[string] => ({
    dtype: "float32",
    shape,
    data: floats(shape.reduce((product, n) => product * n, 1)),
  });
  const linear = (name: string, outputs: number, inputs: number) => ({
    [`${name}.weight`]: array(outputs, inputs),
    [`${name}.bias`]: array(outputs),
  });
  const norm = (name: string) => ({ [`${name}.weight`]: array(8), [`${name}.bias`]: array(8) });
  const squares = ["query", "key", "value", "output"].map((name) => linear(name, 8, 8));
  const of = { ...norm("attention_norm"), ...norm("norm"), ...linear("grow", 16, 8), ...linear("shrink", 8, 16) };
  const layer = Object.assign(of, ...squares);
  const first = { words: array(10, 8), positions: array(8, 8), types: array(2, 8), ...norm("norm") };
  return loadWeights(SHAPE, async (n) => (n ? layer : first));
}

test("a run that is not wanted any more ends between two layers", async () => {
  const weights = await tinyModel();
  const input = { ids: [1, 2, 3], types: [0, 0, 0] };
  const { stream } = await run(weights, input, []);
  expect(stream.map(({ length }) => length)).toEqual([24, 24, 24]);
  const stop = new AbortController();
  const late = run(weights, input, [], stop.signal);
  stop.abort(new Error("another text"));
  await expect(late).rejects.toThrow("another text");
  expect((await run(weights, input, [])).stream[2]).toEqual(stream[2]); // nothing is left of it
});

test("more tokens than the model reads are refused", async () => {
  const many = Array<number>(9).fill(1);
  await expect(run(await tinyModel(), { ids: many, types: many }, [])).rejects.toThrow(
    "9 tokens, the model reads 8: shorten the text",
  );
});

test("the last layer of the token that is read alone is what it is in the whole", async () => {
  const weights = await tinyModel();
  const encoded = { ids: [1, 2, 3, 4, 5, 6], types: [0, 0, 0, 0, 0, 0] };
  const pass = await run(weights, encoded, []);
  const off: Change = { kind: "off", layer: 0, head: 1 };
  const whole = (await run(weights, encoded, [off])).stream.at(-1)!;
  const { width } = weights.shape;
  for (const at of encoded.ids.keys()) {
    const alone = await run(weights, encoded, [off], undefined, undefined, { pass, layer: 0, at });
    const rows = [alone.stream.at(-1)!, whole].map((states) => [...states.subarray(at * width, (at + 1) * width)]);
    for (const [n, number] of rows[1]!.entries()) expect(rows[0]![n]).toBeCloseTo(number, 6);
  }
});

test("the heads that matter to a pair take its first passes once, and of a head's run the layers from it on", async () => {
  const weights = await tinyModel();
  const multiply = vi.spyOn(weights.product, "multiply");
  const encode = (text: string) => ({ ids: [...text].map(Number), types: [...text].map(() => 0) }) as Encoded;
  const answer = { kind: "vectors", pooling: "mean", unit: "cosine", said: "", chance: "", one: false, names: [] };
  const engine = { carried: { shape: SHAPE, answer, header: {} }, weights, encode } as unknown as Engine;
  const texts: [string, string] = ["1234", "5678"];
  const encoded = encode(texts.join(""));
  const base = await run(weights, encoded, []);
  const pass = await run(weights, encoded, [{ kind: "off", layer: 1, head: 0 }]);
  multiply.mockClear();
  const vector = async (text: string, changes: Change[]) => pooled(await run(weights, encode(text), changes));
  const similarity = async (changes: Change[]) =>
    cosine(await vector(texts[0], changes), await vector(texts[1], changes));
  await similarity([]);
  const twoPasses = multiply.mock.calls.length;
  const shown = { texts, encoded, original: base, pass, id: "", subject: "" } as unknown as Shown;
  let clock = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => (clock += 40));
  multiply.mockClear();
  let fields: Fields = { again: true };
  let turns = 0;
  for (; fields.again; turns++) ({ fields } = await headsThatMatter(engine, shown, {}, new AbortController().signal));
  now.mockRestore();
  expect(turns).toBeGreaterThan(2);
  // both runs of the answer, the run shown, that without its change; two heads of layer 0, two of layer 1, each without
  // the three projections of its own layer, in two texts
  expect(multiply.mock.calls.length).toBe((2 + 1 + 1 + 2 + 2 / 2) * twoPasses - 4 * 3 * 2);
  expect(fields.tried).toBe(4);
  for (const [layer, head, change] of fields.heads as [number, number, number][]) {
    const changes = pass.changes.filter((one) => one.kind === "off" && (one.layer !== layer || one.head !== head));
    const expected = (await similarity([...changes, { kind: "off", layer, head }])) - (await similarity(changes));
    expect(change).toBeCloseTo(expected, 5);
  }
});
