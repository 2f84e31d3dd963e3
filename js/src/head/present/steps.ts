// One slide of Present.
import type { ComponentChildren } from "preact";

export interface Step {
  title: string;
  says: string;
  body: ComponentChildren;
  computes?: boolean; // of one query and one key
}
