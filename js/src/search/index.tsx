// The widget of a retrieval, a bundle of its own; `start` draws a saved page of it.
import type { AnyModel, RenderProps } from "@anywidget/types";
import { computed, effect, type Signal, signal } from "@preact/signals";
import { render as draw } from "preact";
import { watchTheme } from "../host/theme";
import { Answers } from "../kernel/answers";
import { ask } from "../kernel/kernel";
import { Link, NO_ANSWER } from "../kernel/link";
import { caseIn } from "../parts/cases/link";
import { type Engine, pageModel } from "./page";
import { answering, type Experiment, OWN, type Search, type Spot } from "./state";
import { SearchView } from "./view";
import "./index.css";

interface Traits {
  query: string;
  theme: string;
}

/** A trait as a signal that is written both ways. */
function binding(model: AnyModel, name: keyof Traits, life: AbortSignal): Signal<string> {
  const trait = signal(String(model.get(name)));
  const follow = () => {
    trait.value = String(model.get(name));
  };
  model.on(`change:${name}`, follow);
  life.addEventListener("abort", () => model.off(`change:${name}`, follow));
  trait.subscribe((value) => {
    if (value === model.get(name)) return;
    model.set(name, value);
    model.save_changes();
  });
  return trait;
}

function render(
  { model, el }: Pick<RenderProps<Traits>, "model" | "el">,
  isLive = true,
  address: Location | null = null,
) {
  const life = new AbortController();
  const plain = model as unknown as AnyModel;
  const link = new Link(life.signal);
  const put = (op: string, fields: Record<string, unknown>) => ask(plain, op, fields, life.signal);
  const dark = watchTheme(binding(plain, "theme", life.signal), life.signal, el);
  const get = answering(new Answers(put, link));
  // the line below a page says how far its model is
  const late = computed(() => (link.now.value.state === "slow" && !address ? NO_ANSWER : ""));
  const shared = {
    kernel: link.kernel,
    needs: link.needs,
    late,
    isLive,
    address,
    get,
    ask: put,
    query: binding(plain, "query", life.signal),
    typed: signal<string | null>(null),
    passages: signal({ wrong: null, right: null }) as Search["passages"],
    texts: signal(OWN),
    experiment: signal<Experiment | null>(null),
    spot: signal<Spot | null>(null),
    announcement: signal(""),
    tab: signal<Search["tab"]["value"]>("questions"),
    starts: signal({}),
  };
  const id = caseIn(address);
  const first = computed(() => get("search", {}));
  const stop = effect(() => {
    const answer = first.value;
    if (id && answer.state === "answered" && answer.value.questions.query.includes(id)) shared.query.value = id;
  });
  life.signal.addEventListener("abort", stop);
  link.greet(put("hello", {}));
  const Root = () => {
    const answer = first.value;
    if (answer.state === "answered")
      return <SearchView search={{ ...shared, overview: answer.value, dark: dark.value }} />;
    const reason = answer.state === "refused" ? answer.reason : late.value || "counting the failures …";
    return <p role="status">{reason}</p>;
  };
  draw(<Root />, el);
  return () => {
    life.abort();
    draw(null, el);
  };
}

export default {
  render: ({ model, el }: Parameters<typeof render>[0]) => render({ model, el }),
  /** engine: of a live page. */
  start: (engine?: Engine) =>
    render(
      { model: pageModel(engine) as never, el: document.getElementById("bertlens")! },
      engine !== undefined,
      location,
    ),
};
