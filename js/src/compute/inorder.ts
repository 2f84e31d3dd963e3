// Sizes in their order, the largest first: as `in_order` of bertlens/whatif/strongest_heads.py.
const ALIKE = 1e-6; // sizes that are no further apart are the same

/** Positions of the `most` largest; of those within ALIKE of the largest that is left, the first in its place. */
export function inOrder(sizes: readonly number[], most: number): number[] {
  const left = sizes.map((_, n) => n).filter((n) => !Number.isNaN(sizes[n]!));
  const order: number[] = [];
  while (left.length > 0 && order.length < most) {
    const peak = Math.max(...left.map((n) => sizes[n]!));
    order.push(
      ...left.splice(
        left.findIndex((n) => sizes[n]! >= peak - ALIKE),
        1,
      ),
    );
  }
  return order;
}
