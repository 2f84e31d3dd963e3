// The switches that head view, lists and tables follow: form, map, sentence pair, pieces or words, special tokens.

import { included } from "../atlas/atlas";
import { MEASURES, PAIR_FILTERS, type PairFilter, type Traits, UNITS, type UnitKind } from "../generated/vocabulary";
import { Check, Segmented, Select, wordChoices } from "../parts/controls";
import { Deferred } from "../parts/deferred";
import { specialNames } from "../parts/nouns";
import { tokenText } from "../parts/token";
import type { Overview } from "../state/overview";
import { useView, type View } from "../state/view";
import { Find } from "./find";
import { GoBack } from "./goback";

/** What sets one trait. */
const setter =
  ({ synced }: View) =>
  <K extends keyof Traits>(name: K) =>
  (value: Traits[K]): void =>
    synced.put({ [name]: value });

const keysOf = <T extends string>(words: Record<T, unknown>) => Object.keys(words) as T[];

export function Switches() {
  const view = useView();
  const { synced, overview } = view;
  const set = setter(view);
  const has = (...names: string[]) => names.some((name) => synced.parts.value.includes(name));
  return (
    <div class="bl-controls bl-switches">
      {!has("atlas") && <HeadSelects />}
      {overview.maps.length > 1 && (
        <Segmented
          label="map"
          value={overview.map}
          choices={overview.maps.map((value) => ({ value, label: value }))}
          onChange={set("map")}
        />
      )}
      {has("neurons") && !has("head") && <QuerySelect />}
      {overview.measures.length > 1 && has("head", "atlas", "compare") && (
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
      {has("head") && (
        <Segmented label="tokens" value={synced.units.value} choices={unitChoices(overview)} onChange={set("units")} />
      )}
      {has("head", "neurons") && <SpecialTokens />}
      <Deferred>
        <span class="bl-group bl-hand">
          {has("head") && <Find />}
          <GoBack />
        </span>
      </Deferred>
    </div>
  );
}

function unitChoices({ queries: { words }, spans }: Overview) {
  const kinds = keysOf<UnitKind>(UNITS).filter((kind) => kind !== "spans" || spans.length > 0);
  const split = words.some((w, n) => w >= 0 && words[n - 1] === w);
  return wordChoices(kinds, UNITS).map((choice) =>
    choice.value === "words" && !split
      ? { ...choice, title: "No word of this text was split: the same as pieces" }
      : choice,
  );
}

/** Layer and head, where no atlas chooses them. */
function HeadSelects() {
  const { synced, shown, overview } = useView();
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  const numbers = (list: number[]) => list.map((n) => ({ value: String(n), label: String(n) }));
  return (
    <>
      <Select
        label="layer"
        value={String(shown.layer)}
        choices={numbers(layers)}
        onChange={(value) => synced.put({ layer: Number(value) })}
      />
      <Select
        label="head"
        value={String(shown.head)}
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
        checked={synced.hide_special.value}
        onChange={set("hide_special")}
      />
      {synced.hide_special.value && (
        <Check
          label="renormalise rows"
          title="Scale every row of what is left to sum 1"
          checked={synced.renormalize.value}
          onChange={set("renormalize")}
        />
      )}
    </>
  );
}

/** The query, where no head view pins one. */
function QuerySelect() {
  const { synced, overview } = useView();
  const tokens = overview.queries.tokens.map((token, n) => ({ value: String(n), label: `${n} ${tokenText(token)}` }));
  return (
    <Select
      label="query"
      value={String(synced.query.value ?? "")}
      choices={[{ value: "", label: "clearest word" }, ...tokens]}
      onChange={(value) => synced.put({ query: value === "" ? null : Number(value), key: null })}
    />
  );
}
