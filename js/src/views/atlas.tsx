// Atlas: every head of every layer as a thumbnail, with one measure summed up per layer and per head.
import { useComputed } from "@preact/signals";
import { MEASURES } from "../compute/measure";
import { Check, Select, Slider } from "../parts/controls";
import { describe, type Statistic, statistics } from "../parts/sentence";
import { type Gates, gateSign, useGates } from "../state/gates";
import type { Picture } from "../state/picture";
import { headLabel } from "../state/store";
import type { HeadName } from "../state/synced";
import { useView } from "./context";
import { HeadButton, number, paperName, statMaximum } from "./headbutton";
import { layerMapLabel } from "./look";

/** The layers and heads to show: all, or those that the include arguments name. */
export function included(
  p: Picture,
  layers: number[] | null,
  heads: number[] | null,
): { layers: number[]; heads: number[] } {
  const all = (n: number) => Array.from({ length: n }, (_, i) => i);
  const keep = (wanted: number[] | null, n: number) => all(n).filter((i) => wanted === null || wanted.includes(i));
  return { layers: keep(layers, p.n_layers), heads: keep(heads, p.n_heads) };
}

/** Heads of one gate together, the clearest first. */
function byGate(heads: HeadName[], gates: Gates): HeadName[] {
  const { names, labels, full } = gates;
  const order = [...names, "mixed", "undefined"];
  const L = labels.full.length;
  const key = ([l, h]: HeadName) => {
    const label = labels.full[l]![h]!;
    const at = (l * (full.length / (L * names.length)) + h) * names.length;
    const score = full[at + names.indexOf(label)] ?? Math.max(...full.subarray(at, at + names.length));
    return { place: order.indexOf(label), score: score || 0 };
  };
  return [...heads].sort((a, b) => key(a).place - key(b).place || key(b).score - key(a).score);
}

/** How many heads have which gate; a click lets the others recede. */
function GateChips({ labels }: { labels: string[] }) {
  const { page } = useView();
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return (
    <div class="bl-chips" role="group" aria-label="Gates">
      {[...counts]
        .sort((a, b) => b[1] - a[1])
        .map(([label, count]) => (
          <button
            type="button"
            key={label}
            class="bl-chip"
            aria-pressed={page.gateFilter.value === label}
            title="Names after Bonino et al. 2025, scores are bertlens’ own; click: let the other heads recede"
            onClick={() => {
              page.gateFilter.value = page.gateFilter.value === label ? "" : label;
            }}
          >
            <b>{gateSign(label).join("")}</b> {label} <span class="bl-number bl-muted">{count}</span>
          </button>
        ))}
    </div>
  );
}

/** The layer's name; where there are maps of whole layers, a button that opens one. */
function RowHeader({ p, layer }: { p: Picture; layer: number }) {
  const { synced } = useView().store;
  const open = synced.layer.value === layer && synced.layer_map.value !== "";
  const kind = synced.layer_map.value || (p.layer_maps.includes("attnresln-n") ? "attnresln-n" : p.layer_maps[0]);
  return (
    <span role="rowheader" class="bl-axis">
      {kind && synced.panels.value.includes("head") ? (
        <button
          type="button"
          class="bl-layer"
          aria-pressed={open}
          title={`Layer ${layer} as a whole: ${layerMapLabel(kind)}`}
          onClick={() => synced.put(open ? { layer_map: "" } : { layer, layer_map: kind })}
        >
          L{layer}
        </button>
      ) : (
        `L${layer}`
      )}
    </span>
  );
}

/** The head that is shown, in words. */
function HeadSentence({ gateOf }: { gateOf: (name: HeadName) => string | undefined }) {
  const { picture, layer, head } = useView().store.shown.value;
  const gate = gateOf([layer, head]);
  return (
    <p class="bl-note bl-selected-head" data-testid="head-sentence">
      <b>{headLabel(layer, head)}</b> <span class="bl-muted">(paper: {paperName(layer, head)})</span>
      <br />
      {gate && <b>{gate} </b>}
      {describe(picture, layer, head)}.
    </p>
  );
}

/** Mean of a statistic over a list of heads, as a bar against the largest head. */
function Summary({ p, heads, stat, name }: { p: Picture; heads: HeadName[]; stat: Statistic; name: string }) {
  const values = heads.map(([l, h]) => p.statistic(l, h, stat.name)).filter((v) => !Number.isNaN(v));
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const text = `${name}, mean ${stat.label}: ${number(stat, mean)}`;
  return (
    <div class="bl-summary" role="img" aria-label={text} title={text}>
      <span style={{ "--part": `${(100 * mean) / (statMaximum(p, stat) || 1)}%` }} />
    </div>
  );
}

export function Atlas() {
  const view = useView();
  const { page, store } = view;
  const { synced } = store;
  const p = useComputed(() => store.shown.value.picture).value;
  const measure = useComputed(() => store.shown.value.thumbs.measure).value;
  const { layers, heads } = included(p, synced.include_layers.value, synced.include_heads.value);
  const stats = statistics(p);
  const gates = useGates(store, page);
  const order = page.atlasOrder.value;
  const stat = stats.find(({ name }) => name === (order === "position" ? page.atlasStat.value : order)) ?? stats[0];
  const all: HeadName[] = layers.flatMap((l) => heads.map((h): HeadName => [l, h]));
  const names =
    order === "position" || !stat
      ? all
      : order === "gate" && gates
        ? byGate(all, gates)
        : [...all].sort((a, b) => p.statistic(b[0], b[1], stat.name) - p.statistic(a[0], a[1], stat.name));
  const columns = order === "position" ? heads.length : Math.min(heads.length, 8);

  const move = (event: KeyboardEvent) => {
    const at = names.findIndex(([l, h]) => l === synced.layer.value && h === synced.head.value);
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -columns,
      ArrowDown: columns,
      Home: -(at % columns),
      End: columns - 1 - (at % columns),
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const to =
      event.ctrlKey && event.key === "Home" ? 0 : event.ctrlKey && event.key === "End" ? names.length - 1 : at + step;
    const target = names[to];
    if (!target) return;
    synced.put({ layer: target[0], head: target[1] });
    view.root.current?.querySelector<HTMLElement>(`[data-head="${target[0]}-${target[1]}"]`)?.focus();
  };

  const gateOf = ([l, h]: HeadName) => gates?.labels.full[l]?.[h];
  const cell = (name: HeadName) => (
    <HeadButton key={name.join("-")} p={p} name={name} stat={stat} gate={gateOf(name)} />
  );
  return (
    <section class="bl-panel bl-atlas" aria-label="Atlas of heads">
      <header class="bl-panel-head">
        <h3>Atlas</h3>
        <span class="bl-muted">
          {MEASURES[measure].symbol}, {order === "position" ? "layers down, heads across" : `sorted: ${stat?.label}`}
        </span>
      </header>
      {p.spans.length > 0 && (
        <div
          class="bl-span-strip"
          role="img"
          aria-label={`Tokens run through ${p.spans.map(([name]) => name).join(", ")}`}
        >
          {p.spans.map(([name, start, end], n) => {
            const S = p.queries.tokens.length;
            return (
              <span
                key={start}
                class={n % 2 ? "bl-span bl-odd" : "bl-span"}
                style={{ left: `${(100 * start) / S}%`, width: `${(100 * (end - start)) / S}%` }}
                title={`${name}: tokens ${start} to ${end - 1}, along each side of a thumbnail`}
              >
                {end - start > S / 24 ? name : ""}
              </span>
            );
          })}
        </div>
      )}
      <div class="bl-scroll">
        <div
          class={order === "position" ? "bl-grid" : "bl-grid bl-sorted"}
          role="grid"
          tabIndex={-1}
          aria-label={`${layers.length} layers by ${heads.length} heads`}
          aria-rowcount={layers.length}
          aria-colcount={heads.length}
          style={{ "--columns": columns }}
          onKeyDown={move}
        >
          {order === "position" ? (
            <>
              <div role="row" class="bl-row">
                <span role="columnheader" />
                {heads.map((h) => (
                  <span key={h} role="columnheader" class="bl-axis">
                    {h}
                  </span>
                ))}
                <span role="columnheader" />
              </div>
              {layers.map((l) => (
                <div key={l} role="row" class="bl-row">
                  <RowHeader p={p} layer={l} />
                  {heads.map((h) => cell([l, h]))}
                  <div role="gridcell">
                    {stat && (
                      <Summary p={p} heads={heads.map((h): HeadName => [l, h])} stat={stat} name={`Layer ${l}`} />
                    )}
                  </div>
                </div>
              ))}
              <div role="row" class="bl-row">
                <span role="rowheader" />
                {heads.map((h) => (
                  <div key={h} role="gridcell">
                    {stat && (
                      <Summary p={p} heads={layers.map((l): HeadName => [l, h])} stat={stat} name={`Head ${h}`} />
                    )}
                  </div>
                ))}
                <span />
              </div>
            </>
          ) : (
            <div role="row" class="bl-row bl-wrap">
              {names.map(cell)}
            </div>
          )}
        </div>
      </div>
      <div class="bl-controls">
        <Select
          label="order"
          value={order}
          choices={[
            { value: "position", label: "layer and head" },
            ...(gates ? [{ value: "gate", label: "gate" }] : []),
            ...stats.map(({ name, label }) => ({ value: name, label })),
          ]}
          onChange={(value) => {
            page.atlasOrder.value = value;
          }}
        />
        {order === "position" && stat && (
          <Select
            label="bars"
            value={stat.name}
            choices={stats.map(({ name, label }) => ({ value: name, label }))}
            onChange={(value) => {
              page.atlasStat.value = value;
            }}
          />
        )}
        {stat && (
          <Slider
            label="at least"
            min={0}
            max={1}
            step={0.01}
            value={page.atlasMinimum.value}
            text={number(stat, page.atlasMinimum.value * statMaximum(p, stat))}
            onChange={(value) => {
              page.atlasMinimum.value = value;
            }}
          />
        )}
        <Check
          label="one scale"
          title="Draw all thumbnails on one scale instead of each on its own largest value"
          checked={page.commonScale.value}
          onChange={(value) => {
            page.commonScale.value = value;
          }}
        />
      </div>
      <HeadSentence gateOf={gateOf} />
      {gates && <GateChips labels={all.map((name) => gateOf(name)!)} />}
    </section>
  );
}
