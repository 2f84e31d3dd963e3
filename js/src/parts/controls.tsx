// Native controls with the page's own style: a row of exclusive buttons, a drop-down, a check, a slider, a menu.
import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useStanding } from "../paint/standing";

export interface Choice<T> {
  value: T;
  label: string;
  title?: string;
  group?: string; // in a list: the heading that it stands under
}

interface ChoiceProps<T> {
  label: string;
  choices: Choice<T>[];
  value: T;
  onChange: (value: T) => void;
}

/** A button that submits nothing. */
export const Button = (props: JSX.IntrinsicElements["button"]) => <button type="button" {...props} />;

/** An id that no other part of the document has: useId begins anew in every view. */
export const useElementId = () => useState(() => `bl-${Math.random().toString(36).slice(2)}`)[0];

/** What puts a chosen value into a signal. */
export const into =
  <T,>(signal: Signal<T>) =>
  (value: T): void => {
    signal.value = value;
  };

/** A control's value and where its change goes: a signal. */
export const binding = <T,>(signal: Signal<T>) => ({ value: signal.value, onChange: into(signal) });

/** Opens and closes what few ask for. */
export const Unfold = ({ open, title }: { open: Signal<boolean>; title?: string }) => (
  <Button class="bl-link" aria-expanded={open.value} title={title} onClick={() => into(open)(!open.value)}>
    {open.value ? "less" : "more …"}
  </Button>
);

/** Choices by their labels. */
export const choicesOf = <T extends string>(labels: Record<T, string>) =>
  Object.entries<string>(labels).map(([value, label]): Choice<T> => ({ value: value as T, label }));

/** Choices among names of the vocabulary. */
export const wordChoices = <T extends string>(names: T[], words: Record<T, { label: string; about: string }>) =>
  names.map((value): Choice<T> => ({ value, label: words[value].label, title: words[value].about }));

export const Segmented = <T extends string>(props: ChoiceProps<T>) => (
  <div class="bl-group" role="group" aria-label={props.label}>
    <span class="bl-caps">{props.label}</span>
    <div class="bl-segmented">
      {props.choices.map(({ value, label, title }) => (
        <Button key={value} title={title} aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {label}
        </Button>
      ))}
    </div>
  </div>
);

interface SubmitProps {
  submit: () => void;
  disabled?: boolean;
  title?: string;
  children: ComponentChildren;
}

/** What sends a form. A frame without allow-forms submits nothing, but Enter clicks the button there too. */
export const Submit = ({ submit, disabled, title, children }: SubmitProps) => (
  <button
    type="submit"
    class="bl-button bl-primary"
    disabled={disabled}
    title={title}
    onClick={(event) => {
      event.preventDefault();
      if (event.currentTarget.form!.reportValidity()) submit();
    }}
  >
    {children}
  </button>
);

export const Select = <T extends string>(props: ChoiceProps<T>) => (
  <label class="bl-group" title={props.choices.find(({ value }) => value === props.value)?.title}>
    <span class="bl-caps">{props.label}</span>
    <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value as T)}>
      {[...new Set(props.choices.map(({ group = "" }) => group))].map((name) => {
        const options = props.choices
          .filter(({ group = "" }) => group === name)
          .map(({ value, label, title }) => (
            <option key={value} value={value} title={title} selected={value === props.value}>
              {label}
            </option>
          ));
        return name ? (
          <optgroup key={name} label={name}>
            {options}
          </optgroup>
        ) : (
          options
        );
      })}
    </select>
  </label>
);

export const Check = (props: { label: string; title?: string; value: boolean; onChange: (value: boolean) => void }) => (
  <label class="bl-check" title={props.title}>
    <input type="checkbox" checked={props.value} onChange={(event) => props.onChange(event.currentTarget.checked)} />
    {props.label}
  </label>
);

export const Slider = ({
  label,
  title,
  text,
  onChange,
  ...range
}: {
  label: string;
  title?: string;
  min: number;
  max: number;
  step: number;
  value: number;
  text: string;
  onChange: (value: number) => void;
}) => (
  <label class="bl-group" title={title}>
    <span class="bl-caps">{label}</span>
    <input
      type="range"
      {...range}
      aria-valuetext={text}
      onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
    />
    <output class="bl-number">{text}</output>
  </label>
);

/** The × that takes something away. */
export const Close = ({
  label,
  onClick,
  ...rest
}: {
  label: string;
  onClick: () => void;
  disabled?: boolean;
  title?: string;
}) => <Button class="bl-close" aria-label={label} onClick={onClick} {...rest} />;

/** A button that opens a list of actions; closes on Escape, on a choice but of what is `data-stays`, and on a click or
    focus elsewhere. */
export function Menu({
  label,
  title,
  name = "",
  stays = false,
  children,
}: {
  label: string;
  title?: string;
  name?: string; // of a style
  stays?: boolean; // open after a choice
  children: ComponentChildren;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  useStanding(isOpen, list, () => details.current!.querySelector("summary")!.getBoundingClientRect());
  const close = () => {
    details.current!.open = false;
    details.current!.querySelector("summary")!.focus();
  };
  const leave = (to: EventTarget | null | undefined) => {
    if (to && details.current?.contains(to as Node) === false) details.current.open = false;
  };
  const isAround = (to: EventTarget | null) => to !== null && (to as Node).contains(details.current); // a click beside a control
  useEffect(() => {
    const elsewhere = (event: Event) => leave(event.composedPath()[0]);
    document.addEventListener("pointerdown", elsewhere);
    return () => document.removeEventListener("pointerdown", elsewhere);
  }, []);
  return (
    <details
      ref={details}
      class={`bl-menu ${name}`}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.preventDefault();
        close();
      }}
      onFocusOut={({ relatedTarget }) => isAround(relatedTarget) || leave(relatedTarget)}
    >
      <summary class="bl-button" title={title} aria-label={title}>
        {label}
      </summary>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only closes the list after one of its buttons acted */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keys arrive as clicks of the buttons inside */}
      <div
        ref={list}
        class="bl-menu-list"
        popover="manual"
        onClick={({ target }) => stays || (target as Element).closest("[data-stays]") || close()}
      >
        {children}
      </div>
    </details>
  );
}
