// What a pass spends its time on as WebAssembly with SIMD, four numbers at once: the matrix product of product.ts, the
// exponentials of a row of scores, the GELU, the entropy of a row.
import {
  type Code,
  F32,
  F64,
  four,
  get,
  I32,
  integer,
  load,
  loop,
  type Made,
  moduleOf,
  plus,
  product,
  set,
  simd,
  store,
  times,
  upTo,
  V128,
} from "./assembly";

const [ADD, SUB, MUL, DIV, MAX, ABS] = [0xe4, 0xe5, 0xe6, 0xe7, 0xe9, 0xe0];
const LANE = 0x1f; // of four numbers one
const [SHIFT, FLOAT_LOAD, FLOAT_STORE, FLOAT_ADD, FLOAT_MAX, DOUBLE_ADD] = [0x74, 0x2a, 0x38, 0x92, 0x97, 0xa0];

const add = (a: Code, b: Code) => simd(ADD, a, b);
const subtract = (a: Code, b: Code) => simd(SUB, a, b);
const multiply = (a: Code, b: Code) => simd(MUL, a, b);
const lanes = (value: Code, join: number) =>
  upTo(4).flatMap((lane) => [...simd(LANE, value), lane, ...(lane ? [join] : [])]);
/** Σ c x^n, the coefficient of the highest power first. */
const series = (x: Code, [first, ...rest]: number[]) =>
  rest.reduce((sum, c) => add(multiply(sum, x), four(c)), four(first!));

const [ROWS, COLUMNS] = [4, 2]; // of a tile
const TILE = ROWS * COLUMNS;

/** Addresses of x, w, b, y; how many rows, numbers of a row, outputs: four rows of x and two of w at a time. */
function matrixProduct(fused: boolean): Made {
  const [X, W, B, Y, S, N, O] = [0, 1, 2, 3, 4, 5, 6];
  const [ROW, COLUMN, AT, X_BYTES, Y_BYTES, X_AT, W_AT, Y_AT] = [7, 8, 9, 10, 11, 12, 13, 14];
  const SUM = 15; // the first of the tile's sums
  const [W_VALUE, X_VALUE] = [SUM + TILE, SUM + TILE + COLUMNS];
  const sum = (row: number, column: number) => SUM + row * COLUMNS + column;
  const more = (total: Code, x: Code, w: Code) => (fused ? simd(0x105, x, w, total) : add(total, multiply(x, w)));
  const inner = [
    ...upTo(COLUMNS).flatMap((column) =>
      set(W_VALUE + column, load(plus(get(W_AT), times(column, get(X_BYTES)), get(AT)))),
    ),
    ...upTo(ROWS).flatMap((row) => [
      ...set(X_VALUE, load(plus(get(X_AT), times(row, get(X_BYTES)), get(AT)))),
      ...upTo(COLUMNS).flatMap((column) =>
        set(sum(row, column), more(get(sum(row, column)), get(X_VALUE), get(W_VALUE + column))),
      ),
    ]),
  ];
  const put = (row: number, column: number) => [
    ...plus(get(Y_AT), times(row, get(Y_BYTES))),
    ...lanes(get(sum(row, column)), FLOAT_ADD),
    ...[...plus(get(B), times(4, get(COLUMN))), FLOAT_LOAD, 2, 4 * column, FLOAT_ADD, FLOAT_STORE, 2, 4 * column],
  ];
  const tile = [
    ...upTo(TILE).flatMap((one) => set(SUM + one, four(0))),
    ...set(X_AT, plus(get(X), product(get(ROW), get(X_BYTES)))),
    ...set(Y_AT, plus(get(Y), product(get(ROW), get(Y_BYTES)), times(4, get(COLUMN)))),
    ...loop(AT, 16, X_BYTES, inner),
    ...upTo(ROWS).flatMap((row) => upTo(COLUMNS).flatMap((column) => put(row, column))),
  ];
  const columns = [...set(W_AT, plus(get(W), product(get(COLUMN), get(X_BYTES)))), ...loop(ROW, ROWS, S, tile)];
  const code = [
    ...set(X_BYTES, [...get(N), ...integer(2), SHIFT]),
    ...set(Y_BYTES, [...get(O), ...integer(2), SHIFT]),
    ...loop(COLUMN, COLUMNS, O, columns),
  ];
  const takes = new Array<number>(7).fill(I32);
  return {
    takes,
    gives: [],
    locals: [
      [8, I32],
      [TILE + COLUMNS + 1, V128],
    ],
    code,
  };
}

const LEAST = -87; // whose exponential is 0

/** e^x of a local, by a polynomial on [−½ ln 2, ½ ln 2] and a power of 2 (as Cephes' expf); needs two locals more. */
const exponential = (x: number, n: number, r: number): Code => {
  const P = [1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1];
  const power = simd(
    0xab,
    simd(0xae, simd(0xf8, get(n)), [0xfd, 0x0c, ...upTo(4).flatMap(() => [127, 0, 0, 0])]),
    integer(23),
  );
  return [
    ...set(n, simd(0x6a, multiply(get(x), four(Math.LOG2E)))),
    ...set(r, subtract(get(x), multiply(get(n), four(0.693359375)))),
    ...set(r, add(get(r), multiply(get(n), four(2.1219444e-4)))),
    ...multiply(add(add(multiply(series(get(r), P), multiply(get(r), get(r))), get(r)), four(1)), power),
    ...simd(0x4e, simd(0x44, get(x), four(LEAST))),
  ];
};

/** ln x of a local, x > 0 (as Cephes' logf): needs two locals more. */
const logarithm = (x: number, e: number, m: number): Code => {
  const P = [
    ...[7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1],
    ...[2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1],
  ];
  const bits = (n: number): Code => [
    0xfd,
    0x0c,
    ...upTo(4).flatMap(() => upTo(4).map((byte) => (n >>> (8 * byte)) & 255)),
  ];
  const square = multiply(get(m), get(m));
  return [
    // x = m 2^e, m in [√½, √2)
    ...set(e, simd(0xac, simd(0xb1, get(x), bits(0x3f3504f3)), integer(23))),
    ...set(m, simd(0xb1, get(x), simd(0xab, get(e), integer(23)))),
    ...set(m, subtract(get(m), four(1))),
    ...set(e, simd(0xfa, get(e))),
    ...add(
      add(
        subtract(
          add(multiply(multiply(series(get(m), P), square), get(m)), multiply(get(e), four(-2.1219444e-4))),
          multiply(square, four(0.5)),
        ),
        get(m),
      ),
      multiply(get(e), four(0.693359375)),
    ),
  ];
};

const [AT, COUNT] = [0, 1]; // of a row: its address, its numbers, a multiple of 4

/** What is done to all of a row; `at` is a local for the place. */
const each = (at: number, bytes: number, body: Code): Code => [
  ...set(bytes, [...get(COUNT), ...integer(2), SHIFT]),
  ...loop(at, 16, bytes, body),
];
const here = (at: number) => plus(get(AT), get(at));

/** The largest number of a row. */
function largest(): Made {
  const [PLACE, BYTES, MOST] = [2, 3, 4];
  const code = [
    ...set(MOST, load(get(AT))),
    ...each(PLACE, BYTES, set(MOST, simd(MAX, get(MOST), load(here(PLACE))))),
    ...lanes(get(MOST), FLOAT_MAX),
  ];
  return {
    takes: [I32, I32],
    gives: [F32],
    locals: [
      [2, I32],
      [1, V128],
    ],
    code,
  };
}

/** Numbers added in 64 bits. */
const wide = (sum: number, value: number): Code => {
  const high = [...simd(0x0d, get(value), get(value)), ...upTo(16).map((n) => (n + 8) % 16)];
  return set(sum, simd(0xf0, simd(0xf0, get(sum), simd(0x5f, get(value))), simd(0x5f, high)));
};
const both = (sum: number): Code => [...simd(0x21, get(sum)), 0, ...simd(0x21, get(sum)), 1, DOUBLE_ADD];

/** x becomes e^((x − most) scale); gives their sum. */
function exponentials(): Made {
  const [SCALE, MOST, PLACE, BYTES, X, N, R, SUM] = [2, 3, 4, 5, 6, 7, 8, 9];
  const splat = (local: number) => simd(0x13, get(local));
  const body = [
    ...set(X, multiply(subtract(load(here(PLACE)), splat(MOST)), splat(SCALE))),
    ...set(X, exponential(X, N, R)),
    ...store(here(PLACE), get(X)),
    ...wide(SUM, X),
  ];
  const code = [...set(SUM, four(0)), ...each(PLACE, BYTES, body), ...both(SUM)];
  return {
    takes: [I32, I32, F32, F32],
    gives: [F64],
    locals: [
      [2, I32],
      [4, V128],
    ],
    code,
  };
}

/** Each number of a row divided by one. */
function divided(): Made {
  const [BY, PLACE, BYTES] = [2, 3, 4];
  const code = each(PLACE, BYTES, store(here(PLACE), simd(DIV, load(here(PLACE)), simd(0x13, get(BY)))));
  return { takes: [I32, I32, F32], gives: [], locals: [[2, I32]], code };
}

/** −Σ p ln p of a row. */
function entropy(): Made {
  const [PLACE, BYTES, X, P, E, M, SUM] = [2, 3, 4, 5, 6, 7, 8];
  const body = [
    ...set(X, load(here(PLACE))),
    ...set(P, simd(MAX, get(X), four(1e-30))),
    ...set(X, multiply(get(X), logarithm(P, E, M))),
    ...wide(SUM, X),
  ];
  const code = [...set(SUM, four(0)), ...each(PLACE, BYTES, body), ...both(SUM), 0x9a];
  return {
    takes: [I32, I32],
    gives: [F64],
    locals: [
      [2, I32],
      [5, V128],
    ],
    code,
  };
}

/** ½ x (1 + erf(x / √2)) of each number; erfc as in numbers.ts. */
function gelu(coefficients: readonly number[]): Made {
  const [PLACE, BYTES, X, Z, T, N, R] = [2, 3, 4, 5, 6, 7, 8];
  const body = [
    ...set(X, load(here(PLACE))),
    ...set(Z, multiply(simd(ABS, get(X)), four(Math.SQRT1_2))),
    ...set(T, simd(DIV, four(1), add(four(1), multiply(get(Z), four(0.5))))),
    ...set(Z, subtract(series(get(T), [...coefficients]), multiply(get(Z), get(Z)))),
    ...set(T, multiply(get(T), exponential(Z, N, R))), // erfc |x / √2|
    // ½ x erfc where x < 0, else x − ½ x erfc
    ...set(T, multiply(multiply(get(T), get(X)), four(0.5))),
    ...store(here(PLACE), [...simd(0x52, subtract(get(X), get(T)), get(T), simd(0x44, get(X), four(0)))]),
  ];
  return {
    takes: [I32, I32],
    gives: [],
    locals: [
      [2, I32],
      [5, V128],
    ],
    code: each(PLACE, BYTES, body),
  };
}

/** `fused`: products are added in one instruction, which is newer (relaxed SIMD). It exports multiply, largest, exponentials, divided, entropy, gelu. */
export const moduleBytes = (erfc: readonly number[], fused: boolean): Uint8Array<ArrayBuffer> =>
  moduleOf({
    ...{ multiply: matrixProduct(fused), largest: largest(), exponentials: exponentials(), divided: divided() },
    ...{ entropy: entropy(), gelu: gelu(erfc) },
  });
