// Passages of a page in the order of their vectors' cosines with that of a question: all in 8 bits, the first again in 16.
// bertlens/search/view/search_engine.py rounds passages, and measures how far this moves a score.
const ZERO = 32_768;
const STEPS = 127 * 256; // of a row's largest number

/** Passages by place, the best first; scores of the first ones, which are scored again. */
export interface Ranking {
  order: number[];
  scores: number[];
  ms: number; // that this took, the question's run too
}

const norm = (row: ArrayLike<number>): number => {
  let sum = 0;
  for (let n = 0; n < row.length; n++) sum += row[n]! * row[n]!;
  return Math.max(Math.sqrt(sum), 1e-12);
};

/** A row in 8 bits, of one in 16: its upper byte, rounded. */
function upper(row: ArrayLike<number>, into: Int8Array): Int8Array {
  for (let n = 0; n < row.length; n++) into[n] = Math.floor((row[n]! + 128) / 256);
  return into;
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0;
  for (let n = 0; n < a.length; n++) sum += a[n]! * b[n]!;
  return sum;
};

export class Passages {
  private rows: Int16Array; // (count, width)
  private bytes: Int8Array;
  private norms: Float64Array;
  private byteNorms: Float64Array;
  readonly count: number;

  /** vectors: (count, width), of which 32,768 is 0; first: how many are scored again. */
  constructor(
    vectors: Uint16Array,
    private width: number,
    private first: number,
  ) {
    this.count = vectors.length / width;
    this.rows = Int16Array.from(vectors, (step) => step - ZERO);
    this.bytes = upper(this.rows, new Int8Array(vectors.length));
    const norms = (rows: Int16Array | Int8Array) =>
      Float64Array.from({ length: this.count }, (_, at) => norm(this.row(rows, at)));
    [this.norms, this.byteNorms] = [norms(this.rows), norms(this.bytes)];
  }

  private row<T extends Int16Array | Int8Array>(rows: T, at: number): T {
    return rows.subarray(at * this.width, (at + 1) * this.width) as T;
  }

  ranking(question: Float64Array): Pick<Ranking, "order" | "scores"> {
    const largest = question.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
    const steps = Int16Array.from(question, (one) => Math.round((one / largest) * STEPS));
    const bytes = upper(steps, new Int8Array(this.width));
    const rough = Float64Array.from(
      { length: this.count },
      (_, at) => dot(bytes, this.row(this.bytes, at)) / this.byteNorms[at]!,
    );
    const order = [...Uint32Array.from(rough, (_, at) => at).sort((a, b) => rough[b]! - rough[a]! || a - b)];
    const length = norm(question);
    const scores = new Map(
      order.slice(0, this.first).map((at) => [at, dot(question, this.row(this.rows, at)) / (length * this.norms[at]!)]),
    );
    const again = [...scores.keys()].sort((a, b) => scores.get(b)! - scores.get(a)! || a - b);
    return { order: [...again, ...order.slice(this.first)], scores: again.map((at) => scores.get(at)!) };
  }
}
