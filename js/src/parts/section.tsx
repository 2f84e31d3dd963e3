// What tabs are made of: sections with a heading, and what stands where an answer will be.
import type { ComponentChildren } from "preact";
import type { Answer } from "../kernel/answers";

export const Section = (props: {
  title: string;
  about?: ComponentChildren;
  aside?: ComponentChildren; // beside the heading
  class?: string;
  testid?: string;
  children?: ComponentChildren;
}) => (
  <section class={props.class} data-testid={props.testid}>
    <header class="bl-panel-head">
      <h3>{props.title}</h3>
      <span class="bl-muted">{props.about}</span>
      {props.aside}
    </header>
    {props.children}
  </section>
);

/** That an answer is asked for, or why it was refused. */
export const Waiting = ({ answer, doing }: { answer: Answer<unknown>; doing: string }) => (
  <p class="bl-empty">{answer.state === "refused" ? answer.reason : `${doing} …`}</p>
);
