// The model of a page without a kernel: traits live here, and questions are answered from what the page carries.
// bertlens/export/html.py puts this behind the bundle and calls it with the bundle's default export.
(widget) => {
  const page = JSON.parse(document.getElementById("bertlens-data").textContent);
  const kept = (name) => JSON.parse(document.getElementById(name)?.textContent ?? "null");
  const whole = new Promise((done) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", done, { once: true });
    else done();
  });
  const view = (base64) => {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n); // from() takes ten times as long
    return new DataView(bytes.buffer);
  };
  const revive = (value) => {
    if (Array.isArray(value)) return value.map(revive);
    if (value === null || typeof value !== "object") return value;
    if ("$bytes" in value) return view(value.$bytes);
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, revive(item)]));
  };
  const state = revive(page.state);
  const listeners = new Map();
  const emit = (name, ...values) => {
    for (const listener of [...(listeners.get(name) ?? [])]) listener(...values);
  };
  const answer = ({ id, op, trace, map = "self", layer, head, ...more }) => {
    if (op === "hello") return [{ kernel: false }];
    if (op === "extras") return [{}, [view(page.extras)]];
    const question = Object.entries(JSON.parse(JSON.stringify({ op, layer, head, ...more }))).sort();
    const found =
      op === "head"
        ? kept(`${map}/${layer}/${head}`)
        : op === "picture"
          ? page.pictures[map]
          : map === state.picture.header.map && kept(JSON.stringify(question));
    if (found) return [found.fields, [view(found.data)]];
    if (layer !== undefined) return [{ error: `layer ${layer} is not in this page, which holds ${page.holds}` }];
    return [{ error: "this page has no kernel: open the notebook to run another text or to export" }];
  };
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
      await whole; // what answers may still be on its way; and never before send returns
      const [fields, buffers = []] = answer(message);
      emit("msg:custom", { ...fields, id: message.id }, buffers);
    },
  };
  widget.render({ model, el: document.getElementById("bertlens"), signal: new AbortController().signal });
}
