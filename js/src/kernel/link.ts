// How the kernel is doing: whether there is one, what waits for it, what went wrong. One line of text says it.
import { computed, type Signal, signal } from "@preact/signals";
import { ConnectionError, GONE, KernelError, NEEDS_MODEL, type Reply, StaleError } from "./kernel";
import { NEEDS_KERNEL } from "./needs";

const ASKING_AFTER = 300; // ms until the page says that it waits
const SLOW_AFTER = 6000; // ms until it says that the kernel is busy or gone
const CONNECTION = "connection"; // the problem that any answer disproves

const COMING = "The model is being loaded into this page.";
const AT_WORK = "The model in this page is still at work"; // or engine/connect.ts says that it is gone
export const NO_ANSWER = "Python has not answered yet: wait until its cells have run, or run this one again.";

interface Says {
  state: "saved" | "asking" | "live" | "slow" | "error";
  text: string;
  behind?: boolean; // what is drawn may not be what is selected: the view says what it is of
}

type Shelf<T> = Signal<ReadonlyMap<unknown, T>>;

/** Put a value last, or take it out. */
function put<T>(shelf: Shelf<T>, name: unknown, ...value: [T] | []): void {
  if (value.length === 0 && !shelf.peek().has(name)) return;
  const entries = [...shelf.peek()].filter(([other]) => other !== name);
  shelf.value = new Map([...entries, ...value.map((one) => [name, one] as [unknown, T])]);
}

export class Link {
  readonly kernel = signal(false); // a kernel has answered: text can be traced, pages exported
  readonly texts = signal<[text: string, pair: string][]>([]); // that a page was made to offer
  readonly saved = signal(false); // the page never had a kernel: what it holds is all there is
  private told = signal(false); // that there is no kernel
  readonly alone = computed(() => this.saved.value || this.told.value); // whatever takes a model cannot be had here
  private waits: Shelf<"asking" | "slow"> = signal(new Map());
  private loading = signal(""); // how much of an answer in pieces is here
  private problems: Shelf<Omit<Says, "state">> = signal(new Map());
  readonly now = computed((): Says => {
    const problem = [...this.problems.value.values()].at(-1);
    if (problem) return { state: "error", ...problem };
    if (this.loading.value) return { state: "asking", text: this.loading.value };
    const waits = [...this.waits.value.values()];
    const [busy, who] = this.page.value
      ? [this.coming.value ? COMING : AT_WORK, "model"]
      : ["Python is busy or gone", "kernel"];
    if (waits.includes("slow")) return { state: "slow", text: busy, behind: true };
    if (waits.length > 0) return { state: "asking", text: `waiting for the ${who} …` };
    if (this.kernel.value) return { state: "live", text: "kernel live" };
    return { state: "saved", text: this.coming.value ? COMING : "saved page" };
  });

  private lost = signal(false); // there was a kernel
  readonly page = signal(false); // what answers is in the page: of runs that are asked for the last one counts
  /** Whether the page carries what was asked when it was saved, beside a model too. */
  readonly carries = computed(() => this.page.value || this.now.value.state === "saved");
  readonly coming = signal(""); // how far the model is that the page carries, while it is being loaded
  private why = signal(""); // that model cannot be had
  private greeted = signal(false); // asked whether there is a kernel, and nothing has answered yet
  /** Why nothing can be changed while there is no kernel. */
  readonly needs = computed(() => {
    if (this.coming.value) return COMING;
    if (this.why.value) return this.why.value;
    if (this.lost.value) return NEEDS_KERNEL;
    return this.greeted.value && !this.saved.value ? NO_ANSWER : NEEDS_MODEL;
  });

  met: Promise<boolean> = Promise.resolve(false); // whether there is a kernel; open until something answered

  constructor(private until: AbortSignal) {}

  /** Whether there is a kernel; a saved page has none, which is no reason to worry anybody. */
  greet(hello: Promise<Reply>): void {
    this.greeted.value = true;
    this.met = hello.then(
      ({ fields }) => {
        this.greeted.value = false;
        this.kernel.value = fields.kernel === true;
        this.told.value = !this.kernel.value;
        this.page.value = fields.page === true;
        this.texts.value = (fields.texts as [string, string][] | undefined) ?? [];
        this.coming.value = String(fields.coming ?? "");
        this.why.value = String(fields.why ?? "");
        this.lost.value &&= !this.kernel.value;
        put(this.problems, CONNECTION);
        return this.kernel.value;
      },
      () => {
        this.greeted.value = false;
        return false;
      },
    );
  }

  /** `here` bytes of an answer have come, of `of`. */
  readonly load = (here: number, of: number): void => {
    const [loaded, total] = [here, of].map((bytes) => Math.round(bytes / 1e6));
    this.loading.value = here < of ? `loading ${loaded} of ${total} MB` : "";
  };

  /** The kernel is gone, and the host says so. */
  lose(): void {
    this.lost.value ||= this.kernel.value;
    this.kernel.value = false;
    this.loading.value = "";
    put(this.problems, CONNECTION, { text: GONE, behind: true });
  }

  /** Say what waits, what fails and what nobody counts on any more; `quietly` leaves that to `tired` and the caller. */
  follow(question: string, reply: Promise<unknown>, patience: number, tired: (why: string) => void, quietly = false) {
    const say = (text: string, of = question, behind = true) => {
      if (!quietly && !this.until.aborted) put(this.problems, of, { text, behind });
    };
    const wait = (state: "asking" | "slow") => () => put(this.waits, reply, state);
    const timers = [
      setTimeout(() => {
        const text = `no answer in ${patience / 1000} s`;
        put(this.waits, reply);
        this.loading.value = "";
        say(text);
        tired(text);
      }, patience),
      ...(quietly ? [] : [setTimeout(wait("asking"), ASKING_AFTER), setTimeout(wait("slow"), SLOW_AFTER)]),
    ];
    const end = () => {
      timers.forEach(clearTimeout);
      put(this.waits, reply);
    };
    const succeeded = () => {
      end();
      put(this.problems, question);
      put(this.problems, CONNECTION);
    };
    reply.then(succeeded, (error: Error) => {
      end();
      // a saved page says so itself; another text is on its way, or here
      if ((this.saved.peek() && error instanceof ConnectionError) || error instanceof StaleError) return;
      say(error.message, error instanceof ConnectionError ? CONNECTION : question, !(error instanceof KernelError));
    });
  }

  say(question: string, text: string): void {
    put(this.problems, question, { text });
  }

  /** Take away the problem that is said: the reader has seen it. */
  close(): void {
    put(this.problems, [...this.problems.value.keys()].at(-1));
  }
}
