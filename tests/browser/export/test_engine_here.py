"""The engine of a live page in Chromium, which has instructions that node has not: its numbers beside torch's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.base.wire import unpack
from bertlens.export import bundle, live, page_tokenizer
from bertlens.widgets.overview import with_overview
from bertlens.widgets.view_record import ViewRecord
from unit.export import engine

TYPED = "She gave the dog a bone, and he [MASK] it: good dog!"
ADDRESS = "http://engine.test"
ASK = """async ([carried, questions]) => {
  const { port1, port2 } = new MessageChannel();
  made.serve(port2);
  const heard = [];
  let trace = "";
  return new Promise((done) => {
    const next = () =>
      heard.length < questions.length
        ? port1.postMessage({ kind: "ask", id: heard.length, question: { trace, ...questions[heard.length] } })
        : done(heard);
    port1.onmessage = async ({ data }) => {
      if (data.kind === "wanted") {
        const [index, bytes] = await Promise.all(["json", "bin"].map((kind) => fetch(`/${data.part}.${kind}`)));
        port1.postMessage({ kind: "part", index: await index.json(), data: new DataView(await bytes.arrayBuffer()) });
      } else if (data.kind === "answer") {
        const { fields, data: bytes, show } = data.answer;
        trace = show?.header.trace ?? trace;
        heard.push([fields, [...new Uint8Array(bytes?.buffer ?? 0)]]);
        next();
      } else if (data.kind === "loaded") next();
    };
    port1.postMessage({ kind: "start", carried });
  });
}"""


@pytest.mark.long
def test_a_pass_in_chromium_is_torchs(embedded_lens: Any, browser: Any, tmp_path: Path) -> None:
    engine.write(embedded_lens.borrowed, tmp_path)
    own = embedded_lens.trace("The cat sat.")
    carried = {**live.live(own).about, "header": with_overview(ViewRecord(own), "self", 1, 8).overview["header"]}
    carried["tokenizer"] = page_tokenizer.tokenizer_files(embedded_lens.tokenizer)
    asked = [{"op": "head", "layer": layer, "head": 7} for layer in range(6)]
    page = browser.new_page()
    page.route(f"{ADDRESS}/*.*", lambda route: route.fulfill(path=tmp_path / route.request.url.rsplit("/", 1)[1]))
    page.route(f"{ADDRESS}/", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(f"{ADDRESS}/")
    page.add_script_tag(content=bundle.text("engine.js"))
    [_, *found] = page.evaluate(ASK, [json.loads(json.dumps(carried)), [{"op": "trace", "text": TYPED}, *asked]])
    page.close()
    trace = bl.Lens(engine.rounded(embedded_lens.borrowed), embedded_lens.tokenizer).trace(TYPED)
    for layer, (fields, data) in enumerate(found):
        arrays = unpack(fields["arrays"], bytes(data))
        for name, other in (("q", trace.query(layer)), ("k", trace.key(layer))):
            assert np.abs(arrays[name] - other[7].numpy()).max() <= 4e-5
        weight = np.exp(arrays["q"].astype(float) @ arrays["k"].T * fields["scaling"] - arrays["lse"][:, None])
        assert np.abs(weight - trace.attention(layer)[7].numpy()).max() <= 1e-5
