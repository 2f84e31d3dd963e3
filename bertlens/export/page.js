// The model of a page without a kernel: traits live here, and questions are answered from what the page carries.
// bertlens/export/html.py puts this behind the bundle and calls it with the bundle's default export, and, where the page
// carries its model, with what makes js/src/engine.
async (widget, engine) => {
  const el = document.getElementById("bertlens");
  const page = JSON.parse(document.getElementById("bertlens-data").textContent);
  const unpacks = !!globalThis.DecompressionStream;
  if (!unpacks && page.state.overview.data.length !== undefined) {
    el.textContent = "This browser cannot unpack the page: open it in one that has DecompressionStream.";
    return;
  }
  const kept = (name) => JSON.parse(document.getElementById(name)?.textContent ?? "null");
  const whole = new Promise((done) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", done, { once: true });
    else done();
  });
  // Text of deflate.py: five letters are four bytes, the lowest digit first.
  const digits = new Uint8Array(128).map((_, letter) => ({ 120: 25, 121: 57 })[letter] ?? Math.max(0, letter - 35));
  const view = (text) => {
    const words = new Uint32Array(Math.ceil(text.length / 5));
    for (let n = words.length - 1; n >= 0; n--) {
      let word = 0;
      for (let at = 5 * n + 4; at >= 5 * n; at--) word = word * 85 + (digits[text.charCodeAt(at)] ?? 0);
      words[n] = word;
    }
    return new DataView(words.buffer, 0, Math.floor((text.length * 4) / 5));
  };
  // Bytes as deflate.py left them; `tell` hears the share that is there.
  const unpack = async ({ $bytes, bytes: packed = view($bytes), length, planes }, tell) => {
    if (length === undefined) return packed;
    const bytes = new Uint8Array(length);
    const pieces = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    let here = 0;
    for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
      bytes.set(piece.value, here);
      here += piece.value.length;
      tell?.(here / length);
    }
    for (const [from, to, size, step, least] of planes) {
      const apart = bytes.slice(from, to);
      const numbers = (to - from) / size;
      for (let part = 0; part < size; part++)
        for (let n = 0; n < numbers; n++) bytes[from + n * size + part] = apart[part * numbers + n];
      if (!step) continue;
      const [integers, floats] = [Uint32Array, Float32Array].map((Type) => new Type(bytes.buffer, from, numbers));
      for (let n = 0; n < numbers; n++) floats[n] = (integers[n] + least) * step;
    }
    return new DataView(bytes.buffer);
  };
  const { state } = page;
  const [bar, note] = ["progress", "label"].map((name) => document.createElement(name));
  note.append("unpacking the page ", bar);
  const late = setTimeout(() => el.append(note), 2000);
  try {
    const data = await unpack(state.overview.data, (share) => {
      bar.value = share;
    });
    state.overview = { ...state.overview, data };
    note.remove();
  } catch {
    el.textContent = "This page is damaged: its data cannot be unpacked.";
    return;
  } finally {
    clearTimeout(late);
  }
  const listeners = new Map();
  const emit = (name, ...values) => {
    for (const listener of [...(listeners.get(name) ?? [])]) listener(...values);
  };
  const name = (question) => JSON.stringify(Object.entries(JSON.parse(JSON.stringify(question))).sort());
  const answer = async ({ id, trace, ...question }) => {
    const { op, map, layer } = question;
    if (op === "hello") return [{ kernel: false }];
    if (op === "trace" && engine) return bring(question);
    const asked = name(question);
    const opens = [page, ...page.others].find(({ shown_by }) => shown_by === asked);
    if (opens) {
      show(opens === page ? first : await held(opens));
      return [{}];
    }
    const about = page.others.find((one) => one.trace === trace);
    const other = about ? `${trace} ` : "";
    const message = op === "overview" && !other ? page.overviews[map] : kept(other + asked);
    if (message) return [message.header, [await unpack(message.data)]];
    const word = state.overview.header.layer_maps?.find(({ name }) => name === question.kind);
    if (op === "layer_map" && word)
      return [{ error: `${word.label} of layer ${layer} is not in this page, which holds those that were shown when it was saved` }];
    // every layer that is in the page is there with all of its heads
    if (layer !== undefined && !kept(other + name({ op: "head", map, layer, head: 0 })))
      return [{ error: `layer ${layer} is not in this page, which holds ${(about ?? page).holds}` }];
    return [{ error: "This needs the model, which a saved page does not hold. Open the notebook." }];
  };
  // A text that the page carries is shown at once, with or without the model.
  const first = { ...state.overview, text: state.text, text_pair: state.text_pair };
  const held = async ({ trace, text, text_pair }) => {
    const { header, data } = kept(`${trace} overview`);
    return { header, data: await unpack(data), text, text_pair };
  };
  const bring = async ({ text, text_pair }) => {
    const is = (one) => one.text === text && one.text_pair === (text_pair ?? "");
    const other = page.others.find(is);
    if (!other && !is(first)) return [{ error: "The model is still being loaded into this page." }];
    show(other ? await held(other) : first);
    return [{}];
  };
  const texts = unpacks ? page.texts : [];
  let reply = engine ? async (message) => (message.op === "hello" ? [{ kernel: false, coming: "loading the model", texts }] : answer(message)) : answer;
  const damaged = () => [
    { error: unpacks ? "this part of the page is damaged: it cannot be unpacked" : "this browser cannot unpack this part of the page: open it in one that has DecompressionStream" },
  ];
  const model = {
    get: (name) => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      emit(`change:${name}`, model, value);
      emit("change", model);
    },
    on(name, listener) {
      listeners.set(name, [...(listeners.get(name) ?? []), listener]);
    },
    off(name, listener) {
      listeners.set(name, (listeners.get(name) ?? []).filter((other) => listener && other !== listener));
    },
    save_changes() {},
    async send(message) {
      // never before send returns; and answers may still be on their way, unlike what is in the page's data
      await (["hello", "overview"].includes(message.op) || whole);
      const [fields, buffers = []] = await reply(message).catch(damaged);
      emit("msg:custom", { ...fields, id: message.id }, buffers);
    },
  };
  // Of another run: what was pinned stays where the same token stands there.
  const show = ({ header, data, text, text_pair }) => {
    const before = state.overview.header.queries.pieces;
    const same = (n) => (n !== null && before[n] === header.queries.pieces[n] ? n : null);
    const kept = header.measures.includes(state.measure) ? {} : { measure: "weight" };
    const changes = { query: same(state.query), key: same(state.key), layer_map: "", ...kept, text, text_pair };
    for (const [name, value] of Object.entries({ ...changes, overview: { header, data } })) model.set(name, value);
  };
  // Parts of a file beside the page, one after the other as they come; `tell` hears the share of the file that is here.
  const fetched = ({ file, parts }) => {
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    let [reader, rest, here] = [null, new Uint8Array(0), 0];
    const more = async () => {
      reader ??= await fetch(file).then((answer) => {
        if (!answer.ok) throw new Error();
        return answer.body.getReader();
      });
      const { done, value } = await reader.read();
      if (done) throw new Error();
      return value;
    };
    return async (n, tell) => {
      const { index, size: bytes, data } = parts[n];
      const part = new Uint8Array(bytes);
      for (let at = 0; at < bytes; ) {
        if (rest.length === 0) {
          rest = await more().catch(() => {
            throw new Error("its weights did not come from the server. Load the page again.");
          });
          here += rest.length;
          tell(here / size);
        }
        const some = rest.subarray(0, bytes - at);
        part.set(some, at);
        at += some.length;
        rest = rest.subarray(some.length);
      }
      return { index, data: await unpack({ ...data, bytes: new DataView(part.buffer) }) };
    };
  };
  const says = (text) => {
    document.getElementById("bertlens-says").textContent = text;
  };
  const load = async () => {
    const take = (name) => {
      const value = kept(name);
      document.getElementById(name).remove(); // it is large
      return value;
    };
    const { tokenizer, file, parts, ...about } = take("bertlens-live");
    const refuse = (why) => {
      reply = answer;
      emit("comm_live_update");
      says(why);
    };
    if (!unpacks) return refuse("This browser has no DecompressionStream to unpack the model: the page shows the text that it carries.");
    if (file && document.location.protocol === "file:")
      return refuse("The model of this page needs a web server: here, opened from a file, the page shows the text that it carries.");
    const read = new TextDecoder().decode(await unpack(tokenizer));
    reply = engine().connect({
      code: `(${engine})().serve(self)`,
      carried: { ...about, tokenizer: JSON.parse(read), header: first.header, texts: [first.header, ...page.others] },
      size: parts?.reduce((sum, { size }) => sum + size, 0),
      part: file ? fetched({ file, parts }) : async (n) => {
        const { index, data } = take(`bertlens-weights-${n}`);
        return { index, data: await unpack(data) };
      },
      texts,
      answer,
      async show(run) {
        const other = page.others.find(({ trace }) => trace === run);
        show(other ? await held(other) : typeof run === "string" ? first : run);
      },
      changed: () => emit("comm_live_update"),
      say: says,
    });
  };
  if (engine) {
    state.layout = { on: model.on, off: model.off }; // by which the view hears that the model is there
    whole.then(load).catch(() => says("This page is damaged: its model cannot be read."));
  }
  const up = () => location.hash.startsWith("#bertlens=") && el.scrollIntoView();
  if (page.above) addEventListener("hashchange", up);
  widget.render({ model, el, signal: new AbortController().signal, address: document.location });
}
