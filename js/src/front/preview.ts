// Chips of heads: how many there are, and what shows a row of one in the sentence while it is pointed at.
import { useEffect } from "preact/hooks";
import { useView } from "../state/view";

export const CHIPS = 6;

/** For the chip of a head, its row being that of a token, -1 of the one that asks. */
export function usePreview(layer: number, head: number, row: number) {
  const { preview } = useView().page.front;
  const isMine = () => preview.peek()?.layer === layer && preview.peek()?.head === head;
  const leave = () => {
    if (isMine()) preview.value = null;
  };
  const enter = () => {
    preview.value = { layer, head, row };
  };
  useEffect(() => leave, []);
  return {
    onPointerEnter: ({ pointerType }: PointerEvent) => pointerType !== "touch" && enter(),
    onPointerLeave: leave,
    onFocus: ({ currentTarget }: FocusEvent) => (currentTarget as Element).matches(":focus-visible") && enter(),
    onBlur: leave,
  };
}
