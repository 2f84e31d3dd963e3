// The list of cases beside the one that is open: text, what came of it, one number. Ten thousand scroll as ten do, for only
// the rows in sight are drawn. Where there is little room it is a drawer.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { counted, px } from "../../paint/format";
import { textProps } from "../../paint/textprops";
import { Button, useElementId } from "../controls";

const ROW = 46; // px of a case with one line of its text
const MORE = 19; // px of the second line, which the open one has
const LINE = 24; // characters that surely fit into one line
const SPARE = 6; // rows drawn above and below what is in sight
const HELD = 120; // ms between two cases while a key is held

export interface CaseRow {
  id: string | number;
  text: string;
  is: "wrong" | "right" | ""; // "": there is no such thing
  note: string; // what came of it
  number: string;
  about?: string; // of the number
}

interface Props {
  label: string;
  heading: ComponentChildren; // how many are wrong
  hint: string; // which come first
  count: number;
  at: (n: number) => CaseRow;
  current: number; // the place of the open one, −1 where it is not listed
  open: (n: number) => void;
  nothing: string; // that none is listed
  drawn?: boolean; // it begins open, and has the keys
  children?: ComponentChildren; // filters, and what sorts
}

/** The places that are drawn, where rows are of one height: those in sight, and a few before and behind. */
export function inSight(count: number, top: number, height: number, row: number): [from: number, to: number] {
  const from = Math.max(0, Math.min(Math.floor(top / row), count - 1) - SPARE);
  return [from, Math.min(count, Math.ceil((top + height) / row) + SPARE)];
}

export function CaseList({ label, heading, hint, count, at, current, open, nothing, drawn = false, children }: Props) {
  const id = useElementId();
  const box = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const [next, setNext] = useState<number | null>(null); // a case that the keys are on and that comes
  const [isOpen, setOpen] = useState(drawn); // the drawer
  const active = Math.min(next ?? current, count - 1);
  const isLarge = active >= 0 && at(active).text.length > LINE;
  const topOf = (n: number) => n * ROW + (isLarge && n > active ? MORE : 0);
  const measure = () => {
    const { scrollTop: top, clientHeight: height } = box.current!;
    if (top !== sight.top || height !== sight.height) setSight({ top, height });
  };
  useEffect(() => setNext(null), [current, count]);
  useEffect(() => {
    if (drawn) box.current!.focus({ preventScroll: true });
    return () => clearTimeout(timer.current);
  }, []);
  useLayoutEffect(() => {
    const { scrollTop, clientHeight } = box.current!;
    const [from, to] = [active * ROW, (active + 1) * ROW + (isLarge ? MORE : 0)];
    if (active >= 0 && from < scrollTop) box.current!.scrollTop = from;
    else if (active >= 0 && to > scrollTop + clientHeight) box.current!.scrollTop = to - clientHeight;
    measure();
  }, [active, count, isOpen]);
  const go = (n: number, wait = 0) => {
    if (count === 0) return;
    const to = Math.max(0, Math.min(count - 1, n));
    setNext(to);
    clearTimeout(timer.current);
    if (wait) timer.current = setTimeout(() => open(to), wait);
    else open(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(sight.height / ROW) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    const to = { Home: 0, End: count - 1, Enter: active }[event.key] ?? (step && active + step);
    if (to === undefined) return;
    event.preventDefault();
    go(to, event.repeat ? HELD : 0);
  };
  const [from, to] = inSight(count, sight.top, sight.height, ROW);
  return (
    <section class={isOpen ? "bl-cases bl-drawn" : "bl-cases"} aria-label={label} data-testid="cases">
      <h3>{heading}</h3>
      <Button class="bl-button bl-cases-drawer" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
        {active >= 0 && `: ${counted(active + 1)} of ${counted(count)}`} {isOpen ? "▴" : "▾"}
      </Button>
      <div class="bl-cases-body">
        <p class="bl-muted">{hint} · ↑ ↓ to go through</p>
        {children}
        <div
          ref={box}
          class="bl-case-rows bl-scroll"
          role="listbox"
          aria-label={`${label}, arrow keys open`}
          tabIndex={0}
          aria-activedescendant={active >= from && active < to ? `${id}-${active}` : undefined}
          onScroll={measure}
          onKeyDown={onKeyDown}
        >
          <div style={{ height: px(topOf(count)), position: "relative" }}>
            {Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n).map((n) => {
              const row = at(n);
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
                <div
                  key={row.id}
                  id={`${id}-${n}`}
                  data-case={row.id}
                  role="option"
                  tabIndex={-1}
                  aria-selected={n === active}
                  aria-setsize={count}
                  aria-posinset={n + 1}
                  class={`bl-case-row${row.is === "wrong" ? " bl-is-wrong" : ""}`}
                  style={{ top: px(topOf(n)), height: px(isLarge && n === active ? ROW + MORE : ROW) }}
                  title={row.text}
                  onClick={() => {
                    go(n);
                    setOpen(false);
                  }}
                >
                  <bdi {...textProps(row.text)}>{row.text}</bdi>
                  <span class="bl-number" title={row.about}>
                    {row.number}
                  </span>
                  <small>
                    {row.is && <span class="bl-dot" aria-hidden="true" />} {row.note}
                  </small>
                </div>
              );
            })}
          </div>
          {count === 0 && <p class="bl-empty">{nothing}</p>}
        </div>
      </div>
    </section>
  );
}
