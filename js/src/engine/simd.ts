// The matrix product of product.ts as WebAssembly with SIMD, put together byte by byte: no compiler, no binary file.
// Four rows of x and two of w at a time, four numbers at once.

const [GET, SET, CONST, ADD, MUL, SHIFT, LESS] = [0x20, 0x21, 0x41, 0x6a, 0x6c, 0x74, 0x49];
const [LOOP, BRANCH_IF, END, NOTHING] = [0x03, 0x0d, 0x0b, 0x40];
const [FLOAT_LOAD, FLOAT_STORE, FLOAT_ADD] = [0x2a, 0x38, 0x92];
const VECTOR = 0xfd;
const [VECTOR_LOAD, VECTOR_ADD, VECTOR_MUL] = [
  [VECTOR, 0x00, 4, 0],
  [VECTOR, 0xe4, 0x01],
  [VECTOR, 0xe6, 0x01],
];
const ZERO = [VECTOR, 0x0c, ...new Array<number>(16).fill(0)];
const [I32, V128] = [0x7f, 0x7b];

const [ROWS, COLUMNS] = [4, 2]; // of a tile
const TILE = ROWS * COLUMNS;
// parameters: addresses of x, w, b, y; then how many rows, numbers of a row, outputs
const [X, W, B, Y, S, N, O] = [0, 1, 2, 3, 4, 5, 6];
const [ROW, COLUMN, AT, X_BYTES, Y_BYTES, X_AT, W_AT, Y_AT] = [7, 8, 9, 10, 11, 12, 13, 14];
const NUMBERS = 8; // of these
const SUM = 15; // the first of the tile's sums
const [W_VALUE, X_VALUE] = [SUM + TILE, SUM + TILE + COLUMNS];

/** Unsigned, seven bits to a byte. */
const leb = (n: number): number[] => (n < 128 ? [n] : [(n & 127) | 128, ...leb(n >>> 7)]);
const get = (local: number) => [GET, local];
const set = (local: number, value: number[]) => [...value, SET, local];
const times = (n: number, one: number[]) => [...one, CONST, ...leb(n), MUL];
const plus = (first: number[], ...terms: number[][]) => [...first, ...terms.flatMap((term) => [...term, ADD])];
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at);
/** Runs once at least: nothing here is of no rows. */
const loop = (local: number, step: number, end: number, body: number[]) => [
  ...[...set(local, [CONST, 0]), LOOP, NOTHING, ...body],
  ...[...set(local, plus(get(local), [CONST, step])), ...get(local), ...get(end), LESS, BRANCH_IF, 0, END],
];

function code(): number[] {
  const sum = (row: number, column: number) => SUM + row * COLUMNS + column;
  const inner = [
    ...upTo(COLUMNS).flatMap((column) =>
      set(W_VALUE + column, [...plus(get(W_AT), times(column, get(X_BYTES)), get(AT)), ...VECTOR_LOAD]),
    ),
    ...upTo(ROWS).flatMap((row) => [
      ...set(X_VALUE, [...plus(get(X_AT), times(row, get(X_BYTES)), get(AT)), ...VECTOR_LOAD]),
      ...upTo(COLUMNS).flatMap((column) =>
        set(sum(row, column), [
          ...[...get(sum(row, column)), ...get(X_VALUE), ...get(W_VALUE + column), ...VECTOR_MUL, ...VECTOR_ADD],
        ]),
      ),
    ]),
  ];
  const store = (row: number, column: number) => [
    ...plus(get(Y_AT), times(row, get(Y_BYTES))),
    ...upTo(4).flatMap((lane) => [...get(sum(row, column)), VECTOR, 0x1f, lane, ...(lane ? [FLOAT_ADD] : [])]),
    ...[...plus(get(B), times(4, get(COLUMN))), FLOAT_LOAD, 2, 4 * column, FLOAT_ADD, FLOAT_STORE, 2, 4 * column],
  ];
  const tile = [
    ...upTo(TILE).flatMap((one) => set(SUM + one, ZERO)),
    ...set(X_AT, plus(get(X), [...get(ROW), ...get(X_BYTES), MUL])),
    ...set(Y_AT, plus(get(Y), [...get(ROW), ...get(Y_BYTES), MUL], times(4, get(COLUMN)))),
    ...loop(AT, 16, X_BYTES, inner),
    ...upTo(ROWS).flatMap((row) => upTo(COLUMNS).flatMap((column) => store(row, column))),
  ];
  const columns = [...set(W_AT, plus(get(W), [...get(COLUMN), ...get(X_BYTES), MUL])), ...loop(ROW, ROWS, S, tile)];
  const body = [
    ...set(X_BYTES, [...get(N), CONST, 2, SHIFT]),
    ...set(Y_BYTES, [...get(O), CONST, 2, SHIFT]),
    ...loop(COLUMN, COLUMNS, O, columns),
  ];
  const locals = [2, NUMBERS, I32, TILE + COLUMNS + 1, V128];
  return [...locals, ...body, END];
}

const section = (id: number, bytes: number[]) => [id, ...leb(bytes.length), ...bytes];
const name = (text: string) => [text.length, ...[...text].map((letter) => letter.charCodeAt(0))];

/** The module: it imports a memory "m" "m" and exports "f". */
export function moduleBytes(): Uint8Array<ArrayBuffer> {
  const body = code();
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, O + 1, ...new Array<number>(O + 1).fill(I32), 0]),
    ...section(2, [1, ...name("m"), ...name("m"), 2, 0, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name("f"), 0, 0]),
    ...section(10, [1, ...leb(body.length), ...body]),
  ]);
}
