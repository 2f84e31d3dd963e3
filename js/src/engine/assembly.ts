// WebAssembly put together byte by byte: no compiler, no binary file. A value is the instructions that leave it on the stack.

export type Code = number[];

export const [I32, F32, F64, V128] = [0x7f, 0x7d, 0x7c, 0x7b];
const [LOOP, BRANCH_IF, END, NOTHING] = [0x03, 0x0d, 0x0b, 0x40];
const [ADD, MUL, LESS] = [0x6a, 0x6c, 0x49];

/** Unsigned, seven bits to a byte. */
export const leb = (n: number): Code => (n < 128 ? [n] : [(n & 127) | 128, ...leb(n >>> 7)]);
export const get = (local: number): Code => [0x20, local];
export const set = (local: number, value: Code): Code => [...value, 0x21, local];
export const integer = (n: number): Code => [0x41, ...leb(n)]; // below 64
export const times = (n: number, one: Code): Code => [...one, ...integer(n), MUL];
export const product = (one: Code, other: Code): Code => [...one, ...other, MUL];
export const plus = (first: Code, ...terms: Code[]): Code => [...first, ...terms.flatMap((term) => [...term, ADD])];
export const upTo = (n: number): number[] => Array.from({ length: n }, (_, at) => at);

/** Runs once at least: nothing here is of no rows. */
export const loop = (local: number, step: number, end: number, body: Code): Code => [
  ...[...set(local, integer(0)), LOOP, NOTHING, ...body],
  ...[...set(local, plus(get(local), integer(step))), ...get(local), ...get(end), LESS, BRANCH_IF, 0, END],
];

/** An instruction on four numbers at once. */
export const simd = (op: number, ...values: Code[]): Code => [...values.flat(), 0xfd, ...leb(op)];
export const load = (address: Code): Code => [...simd(0x00, address), 4, 0];
export const store = (address: Code, value: Code): Code => [...simd(0x0b, address, value), 4, 0];

/** The same four times. */
export const four = (value: number): Code => {
  const bytes = [...new Uint8Array(Float32Array.of(value).buffer)];
  return [0xfd, 0x0c, ...bytes, ...bytes, ...bytes, ...bytes];
};

/** What it takes, gives, its locals beside what it takes as [how many, type], its instructions. */
export interface Made {
  takes: number[];
  gives: number[];
  locals: [count: number, type: number][];
  code: Code;
}

const section = (id: number, bytes: Code) => [id, ...leb(bytes.length), ...bytes];
const name = (text: string) => [text.length, ...[...text].map((letter) => letter.charCodeAt(0))];
const list = (parts: Code[]) => [...leb(parts.length), ...parts.flat()];

/** A module that imports a memory "m" "m" and exports functions by their names. */
export function moduleOf(functions: Record<string, Made>): Uint8Array<ArrayBuffer> {
  const all = Object.values(functions);
  const bodies = all.map(({ locals, code }) => {
    const body = [...list(locals.map(([count, type]) => [...leb(count), type])), ...code, END];
    return [...leb(body.length), ...body];
  });
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      list(all.map(({ takes, gives }) => [0x60, ...list(takes.map((t) => [t])), ...list(gives.map((t) => [t]))])),
    ),
    ...section(2, [1, ...name("m"), ...name("m"), 2, 0, 1]),
    ...section(3, list(all.map((_, n) => leb(n)))),
    ...section(7, list(Object.keys(functions).map((one, n) => [...name(one), 0, ...leb(n)]))),
    ...section(10, list(bodies)),
  ]);
}
