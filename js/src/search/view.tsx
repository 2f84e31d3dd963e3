// The frame of a retrieval's view: its header, the questions beside the case that is open, the tables.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Mark } from "../frame/mark";
import { amount, counted } from "../paint/format";
import { themeOf, themeVariables } from "../paint/palette";
import { directionOf } from "../paint/quotes";
import { Button } from "../parts/controls";
import { OpenCase } from "./case";
import { Files } from "./files";
import { List } from "./list";
import { type Filter, isJudged } from "./listfilter";
import { type Search, SearchContext, type TabName } from "./state";
import { Kinds, TableOf } from "./tables";
import { TypedPassages } from "./typed";
import { Sizes, sizesIn } from "./works/smallerparts";
import { AllFailures } from "./works/turns";

const LABELS: Record<TabName, string> = {
  questions: "Questions",
  kinds: "All failures",
  quality: "How good?",
  slices: "For which?",
  hubs: "Hubs",
  sizes: "Layers and dimensions",
  before: "Before and now",
};

export function SearchView({ search }: { search: Search }) {
  const { overview, dark, tab } = search;
  const { questions } = overview;
  const isRanked = isJudged(questions);
  const failures = questions.failed.filter(Boolean).length;
  const filter = useSignal<Filter>({ kind: "all", words: "", rank: "any" });
  const tables = search.get("search_tables", {});
  const hasBefore = tables.state === "answered" && tables.value.before !== null;
  const names = (Object.keys(LABELS) as TabName[]).filter(
    (name) =>
      (isRanked || name === "questions" || name === "hubs") &&
      (name !== "before" || hasBefore) &&
      (name !== "sizes" || sizesIn(search).length > 0),
  );
  const documents = overview.documents ? ` of ${counted(overview.documents)} documents` : "";
  const wasTyped = useRef(false);
  wasTyped.current ||= search.typed.value !== null;
  return (
    <SearchContext.Provider value={search}>
      <div
        class="bertlens bl-search"
        role="group"
        aria-label="bertlens: search"
        tabIndex={-1}
        style={{ outline: "none", ...themeVariables(dark) }}
        data-theme={themeOf(dark)}
        data-lm-suppress-shortcuts="true" // in JupyterLab
        data-jp-suppress-context-menu="true"
        onKeyDown={(event) => event.stopPropagation()} // the host's shortcuts
      >
        <header class="bl-search-head">
          <span class="bl-brand">
            <Mark /> bertlens
          </span>
          <span class="bl-model">{overview.model}</span>
          <span class="bl-muted">
            {amount(questions.query.length, "question")} · {amount(overview.passages, "passage")}
            {documents}
          </span>
          <span class="bl-spacer" />
          <Files />
        </header>
        <Tabs {...{ names, tab: tab.value, failures }} choose={(name) => (tab.value = name)} />
        <div role="tabpanel" aria-label={LABELS[tab.value]} class="bl-search-body">
          {tab.value === "questions" ? (
            <div class="bl-with-cases" dir={directionOf(questions.text[0] ?? "")}>
              {search.typed.value === null ? (
                <List
                  isBack={wasTyped.current}
                  filter={filter.value}
                  put={(change) => {
                    filter.value = { ...filter.value, ...change };
                  }}
                />
              ) : (
                <TypedPassages />
              )}
              <div class="bl-the-case">
                <OpenCase />
              </div>
            </div>
          ) : tab.value === "kinds" ? (
            <>
              <Kinds />
              {failures > 0 && <AllFailures failures={failures} />}
            </>
          ) : tab.value === "sizes" ? (
            <Sizes />
          ) : (
            <TableOf name={tab.value} />
          )}
        </div>
        <div class="bl-hidden" aria-live="polite">
          {search.announcement.value}
        </div>
      </div>
    </SearchContext.Provider>
  );
}

interface TabsProps {
  names: TabName[];
  tab: TabName;
  failures: number;
  choose: (name: TabName) => void;
}

function Tabs({ names, tab, failures, choose }: TabsProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (names.indexOf(tab) + step + names.length) % names.length;
    choose(names[next]!);
    (event.currentTarget as Element).querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div role="tablist" aria-label="Search" class="bl-search-tabs" onKeyDown={onKeyDown}>
      {names.map((name) => (
        <Button
          role="tab"
          key={name}
          data-tab={name}
          aria-selected={name === tab}
          tabIndex={name === tab ? 0 : -1}
          onClick={() => choose(name)}
        >
          {LABELS[name]}
          {name === "kinds" && <span class="bl-count">{counted(failures)}</span>}
        </Button>
      ))}
    </div>
  );
}
