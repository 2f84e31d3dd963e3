// Which words of two sentences are the same, in order, and which are not.

export interface WordPairs {
  below: Map<number, number>; // of a word above the one below
  onlyAbove: number[];
  onlyBelow: number[];
}

/** The longest common run of labels, in order; of several the earliest words. */
export function wordPairs(above: string[], below: string[]): WordPairs {
  const [n, m] = [above.length, below.length];
  const lengths = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1)); // of what is common from i and j on
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      lengths[i]![j] =
        above[i] === below[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  const pairs: WordPairs = { below: new Map(), onlyAbove: [], onlyBelow: [] };
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && above[i] === below[j]) pairs.below.set(i++, j++);
    else if (i < n && (j === m || lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) pairs.onlyAbove.push(i++);
    else pairs.onlyBelow.push(j++);
  }
  return pairs;
}
