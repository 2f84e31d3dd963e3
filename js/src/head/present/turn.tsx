// What is shown, between a button for the one before and one for the next.
import type { ComponentChildren } from "preact";
import { Button } from "../../parts/controls";

interface TurnProps {
  what: string;
  go: (by: 1 | -1) => void;
  keys?: [before: string, after: string]; // that do the same
  children: ComponentChildren;
}

export const Turn = ({ what, go, keys, children }: TurnProps) => (
  <div class="bl-turn" role="group" aria-label={what}>
    <Button class="bl-button" aria-label={`previous ${what}`} title={keys?.[0]} onClick={() => go(-1)}>
      ‹
    </Button>
    <b>{children}</b>
    <Button class="bl-button" aria-label={`next ${what}`} title={keys?.[1]} onClick={() => go(1)}>
      ›
    </Button>
  </div>
);
