// What is asked for less often: the model's facts, the sentence pair, pieces or words, special tokens, tables, keys.

import { included } from "../atlas/atlas";
import { MEASURES, PAIR_FILTERS, type PairFilter, type Traits, UNITS, type UnitKind } from "../generated/vocabulary";
import { FIND_FROM, Find } from "../head/find";
import { counted } from "../paint/format";
import { visibleText } from "../paint/quotes";
import { Button, binding, Check, into, Segmented, Select, wordChoices } from "../parts/controls";
import { specialNames } from "../parts/nouns";
import { tokenWord } from "../parts/token";
import type { Overview } from "../state/overview";
import { useView, type View } from "../state/view";
import { tabsOf } from "../tabs/opentab";
import { ExportMenu } from "./exportmenu";
import { Notices } from "./notices";

/** What sets one trait. */
const setter =
  ({ synced }: View) =>
  <K extends keyof Traits>(name: K) =>
  (value: Traits[K]): void =>
    synced.put({ [name]: value });

const keysOf = <T extends string>(words: Record<T, unknown>) => Object.keys(words) as T[];

/** With a header, what is behind "⋯"; in a part that stands alone, what it cannot do without. */
export function Switches() {
  const view = useView();
  const { synced, overview, page } = view;
  const set = setter(view);
  const has = (...names: string[]) => names.some((name) => synced.parts.value.includes(name));
  const ofTexts = has("similarity") && !has("header"); // no head is chosen
  return (
    <div class="bl-controls bl-switches">
      {has("header") ? <Model /> : ofTexts && <ModelName />}
      {!has("atlas") && !ofTexts && <HeadSelects />}
      {has("neurons") && !has("head") && <QuerySelect />}
      {!has("head") && <Maps />}
      {overview.measures.length > 1 && !has("head") && has("atlas", "compare") && (
        <Segmented
          label="measure"
          value={synced.measure.value}
          choices={wordChoices(overview.measures, MEASURES)}
          onChange={set("measure")}
        />
      )}
      {overview.pair && overview.square && has("head", "neurons", "table") && (
        <Segmented
          label="pairs"
          value={synced.pair_filter.value}
          choices={wordChoices(keysOf<PairFilter>(PAIR_FILTERS), PAIR_FILTERS)}
          onChange={set("pair_filter")}
        />
      )}
      {has("head") && hasUnits(overview) && (
        <Segmented label="tokens" value={synced.units.value} choices={unitChoices(overview)} onChange={set("units")} />
      )}
      {has("head", "neurons") && <SpecialTokens />}
      {has("head") && view.grid.rows.length <= FIND_FROM && <Find />}
      {tabsOf(view).some(({ name }) => name !== "table") && (
        <span class="bl-group">
          <Check
            label="as tables"
            title="Every picture of the tabs as the table of its numbers"
            {...binding(page.tables)}
          />
          {has("compare", "similarity") && !has("header") && <ExportMenu />}
        </span>
      )}
      {has("header", "head") && (
        <Check label="say what is pinned" title="A sentence below the picture" {...binding(page.explain)} />
      )}
      {overview.apart && overview.lens && has("header") && (
        <Check
          label="read both as one input"
          title="A second sentence in the same input: this model is never used so, it reads each text alone"
          {...binding(page.together)}
        />
      )}
      {has("header") && (
        <Button class="bl-button" aria-expanded={page.help.value} onClick={() => into(page.help)(!page.help.value)}>
          ? keys
        </Button>
      )}
    </div>
  );
}

/** Which attention of an encoder-decoder is shown. */
export function Maps() {
  const { synced, overview } = useView();
  if (overview.maps.length < 2) return null;
  return (
    <Segmented
      label="map"
      value={overview.map}
      choices={overview.maps.map((value) => ({ value, label: value }))}
      onChange={(map) => synced.put({ map })}
    />
  );
}

export const ModelName = () => (
  <span class="bl-model">
    <bdi dir="auto">{visibleText(useView().overview.model)}</bdi>
  </span>
);

/** The model, its shape, the length of the text, and what is to be known of them. */
function Model() {
  const { queries, keyside, square, pair, dtype, n_layers, n_heads, head_dim, lens, offers } = useView().overview;
  const chips = [
    `${n_layers} layers × ${n_heads} heads${head_dim ? ` × ${head_dim}` : ""}`,
    `${counted(queries.tokens.length)}${square ? "" : ` × ${counted(keyside.tokens.length)}`} tokens${pair ? " · 2 segments" : ""}`,
    dtype,
    ...(offers.neurons ? ["weights as they were given"] : []),
  ];
  return (
    <span class="bl-group bl-about-model">
      {lens && <ModelName />}
      {chips.map((chip) => (
        <span key={chip} class="bl-badge">
          {chip}
        </span>
      ))}
      <Notices />
    </span>
  );
}

/** Words differ from pieces, or there are domains. */
const hasUnits = ({ queries: { words }, spans }: Overview) =>
  spans.length > 0 || words.some((w, n) => w >= 0 && words[n - 1] === w);

const unitChoices = ({ spans }: Overview) =>
  wordChoices(
    keysOf<UnitKind>(UNITS).filter((kind) => kind !== "spans" || spans.length > 0),
    UNITS,
  );

/** Layer and head, where no atlas chooses them. */
function HeadSelects() {
  const { synced, shownHead, overview } = useView();
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  const numbers = (list: number[]) => list.map((n) => ({ value: String(n), label: String(n) }));
  return (
    <>
      <Select
        label="layer"
        value={String(shownHead.layer)}
        choices={numbers(layers)}
        onChange={(value) => synced.put({ layer: Number(value) })}
      />
      <Select
        label="head"
        value={String(shownHead.head)}
        choices={numbers(heads)}
        onChange={(value) => synced.put({ head: Number(value) })}
      />
    </>
  );
}

function SpecialTokens() {
  const view = useView();
  const { synced } = view;
  const set = setter(view);
  const names = specialNames(view.overview);
  if (!names) return null;
  return (
    <>
      <Check
        label={`hide ${names}`}
        title="Leave these special tokens out of the picture. Rows then add up to less than 1."
        value={synced.hide_special.value}
        onChange={set("hide_special")}
      />
      {synced.hide_special.value && (
        <Check
          label="renormalise rows"
          title="Scale every row of what is left to sum 1"
          value={synced.renormalize.value}
          onChange={set("renormalize")}
        />
      )}
    </>
  );
}

/** The query, where no head view pins one. */
function QuerySelect() {
  const { synced, overview } = useView();
  const tokens = overview.queries.tokens.map((token, n) => ({ value: String(n), label: `${n} ${tokenWord(token)}` }));
  return (
    <Select
      label="query"
      value={String(synced.query.value ?? "")}
      choices={[{ value: "", label: "clearest word" }, ...tokens]}
      onChange={(value) => synced.put({ query: value === "" ? null : Number(value), key: null })}
    />
  );
}
