// Native controls with the page's own style: a row of exclusive buttons, a drop-down, a labelled group.
import type { ComponentChildren } from "preact";

export interface Choice<T> {
  value: T;
  label: string;
  title?: string;
}

export function Segmented<T extends string>(props: {
  label: string;
  choices: Choice<T>[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <div class="bl-group" role="group" aria-label={props.label}>
      <span class="bl-caps">{props.label}</span>
      <div class="bl-segmented">
        {props.choices.map(({ value, label, title }) => (
          <button
            type="button"
            key={value}
            title={title}
            aria-pressed={value === props.value}
            onClick={() => props.onChange(value)}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  );
}

export function Select<T extends string>(props: {
  label: string;
  choices: Choice<T>[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <label class="bl-group">
      <span class="bl-caps">{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value as T)}>
        {props.choices.map(({ value, label }) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Check(props: { label: string; title?: string; checked: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="bl-check" title={props.title}>
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}

export function Slider(props: {
  label: string;
  min: number;
  max: number;
  step: number;
  value: number;
  text: string;
  onChange: (value: number) => void;
}) {
  return (
    <label class="bl-group">
      <span class="bl-caps">{props.label}</span>
      <input
        type="range"
        min={props.min}
        max={props.max}
        step={props.step}
        value={props.value}
        aria-valuetext={props.text}
        onInput={(event) => props.onChange(event.currentTarget.valueAsNumber)}
      />
      <output class="bl-number">{props.text}</output>
    </label>
  );
}

/** A button that opens a list of actions; closes on Escape, on choice and on a click elsewhere. */
export function Menu(props: { label: string; children: ComponentChildren }) {
  const close = (element: Element | null) => {
    const details = element?.closest("details");
    if (!details) return;
    details.open = false;
    details.querySelector("summary")?.focus();
  };
  return (
    <details
      class="bl-menu"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.preventDefault();
        close(event.currentTarget);
      }}
      onFocusOut={(event) => {
        const details = event.currentTarget;
        if (event.relatedTarget && !details.contains(event.relatedTarget as Node)) details.open = false;
      }}
    >
      <summary class="bl-button">{props.label}</summary>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only closes the list after one of its buttons acted */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keys arrive as clicks of the buttons inside */}
      <div class="bl-menu-list" onClick={(event) => close(event.currentTarget)}>
        {props.children}
      </div>
    </details>
  );
}
