// A part of the first picture that can wait: it comes with the extras, and something stands in its place until then.
import type { ComponentChildren } from "preact";
import { type Extras, useExtras } from "../state/extras";
import { useView } from "./context";

export function Later({
  draw,
  children,
}: {
  draw: (extras: Extras) => ComponentChildren;
  children?: ComponentChildren;
}) {
  const extras = useExtras(useView());
  return <>{extras.state === "answered" ? draw(extras.value) : children}</>;
}
