"""Exports from Python: the page, the still picture, arrays and tables, each with where it comes from."""

import base64
import csv
import datetime
import hashlib
import html.parser
import io
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import bertlens as bl
from bertlens.base import colors, wire
from bertlens.export import bundle, pages, provenance, save_csv, save_npz, to_png
from bertlens.export import html as page_module
from bertlens.export.deflate import as_text, carried, from_text
from bertlens.export.html import question_name
from bertlens.trace import provenance as provenance_module
from bertlens.trace.provenance import visible
from bertlens.widgets import saving
from bertlens.widgets.answers import head_answers
from unit.asking import replies

HOSTILE = [
    "<img src=x onerror=window.__pwn=1>",
    "</script><script>window.__pwn=1</script>",
    '" onmouseover="window.__pwn=1',
    "</title><b>",
    "<!-- <script>",
    "&lt;",
    "\u202eabc",
    "\x00\x08",
    "\ud800",
    "=1+1",
    "##x, y",
    'say "z"',
    "line\nbreak",
    "${x}",
]


def still(widget: bl.Explorer) -> bytes:
    return to_png(widget.overview, widget.trace, widget.layer, widget.head)


def attention(layers: int, heads: int, queries: int, keys: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(heads, queries, keys, generator=generator).softmax(-1) for _ in range(layers)]


def hostile_widget() -> bl.Explorer:
    n = len(HOSTILE)
    trace = bl.Trace.from_attentions(attention(3, 2, n, n), HOSTILE, model_name=HOSTILE[1])
    return trace.explore(layer=1, head=1)


def unpacked(held: dict) -> bytes:
    """Bytes as a page holds them: number by number."""
    data = from_text(held["$bytes"])
    if "length" not in held:
        return data
    data = bytearray(zlib.decompress(data))
    assert len(data) == held["length"]
    for start, stop, size, *steps in held["planes"]:
        apart, count = data[start:stop], (stop - start) // size
        data[start:stop] = bytes(apart[part * count + n] for n in range(count) for part in range(size))
        if steps:
            integers = np.frombuffer(bytes(data[start:stop]), "<u4").astype(np.float64)
            data[start:stop] = ((integers + steps[1]) * steps[0]).astype("<f4").tobytes()
    return bytes(data)


OUR_TAGS = sorted(
    [*["meta"] * 6, *"html head title style body header h1 h2 main noscript p img footer details summary p".split()]
)  # of a saved page


class Page(html.parser.HTMLParser):
    """Elements, and the text of scripts and of the title."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: dict[int, str] = {}
        self.open = -1
        self.feed(text)
        self.close()

    @property
    def tags(self) -> list[str]:
        """Of all elements but scripts, by name."""
        return sorted(tag for tag, _ in self.elements if tag != "script")

    def handle_starttag(self, tag, attrs):
        self.open = len(self.elements)
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        self.open = -1

    def handle_data(self, data):
        self.texts[self.open] = self.texts.get(self.open, "") + data

    def data(self) -> dict[str, dict]:
        """What the page's data elements hold, by their id."""
        kept = [(attrs, text) for attrs, text in self.of("script") if attrs["type"] == "application/json"]
        assert len({attrs["id"] for attrs, _ in kept}) == len(kept)
        return {attrs["id"]: json.loads(text) for attrs, text in kept}

    def heads(self) -> set[str]:
        """The heads that the page holds, as "map/layer/head"."""
        kept = [dict(json.loads(name)) for name in self.data() if name.startswith("[")]
        return {"{map}/{layer}/{head}".format(**question) for question in kept if question["op"] == "head"}

    def of(self, tag: str) -> list[tuple[dict, str]]:
        return [(attrs, self.texts.get(n, "")) for n, (name, attrs) in enumerate(self.elements) if name == tag]


# The page


def test_hostile_text_leaves_only_our_elements_in_the_page():
    page = Page(hostile_widget().to_html())
    assert page.tags == OUR_TAGS
    scripts = page.of("script")
    assert [attrs["type"] for attrs, _ in scripts].count("module") == 1
    assert not [key for _, attrs in page.elements for key in attrs if key.startswith("on")]
    (_, title), (_, heading), (_, footer) = page.of("title")[0], page.of("h1")[0], page.of("p")[-1]
    assert title == heading == HOSTILE[1]
    assert footer.startswith(HOSTILE[1])
    assert not any("<" in text for attrs, text in scripts if attrs["type"] == "application/json")
    header = page.data()["bertlens-data"]["state"]["overview"]["header"]
    assert header["queries"]["pieces"] == HOSTILE
    assert header["model"] == HOSTILE[1]


def test_the_policy_allows_our_script_by_its_hash_and_no_request():
    page = Page(hostile_widget().to_html())
    policy = next(attrs["content"] for attrs, _ in page.of("meta") if attrs.get("http-equiv"))
    (script,) = (text for attrs, text in page.of("script") if attrs["type"] == "module")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; ")
    assert "http" not in policy
    assert "\r" not in script  # the parser would change it, and with it the hash
    assert not re.search(r"</script|<!--", script, re.IGNORECASE)


def test_the_page_is_ascii_so_that_no_guessed_encoding_changes_it():
    text = hostile_widget().to_html()
    assert text.isascii()
    css = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert css and "\\25be " in css[1]


def test_page_carries_every_head_as_the_kernel_answers_it():
    widget = hostile_widget()
    page = Page(widget.to_html())
    kept, data = page.data(), page.data()["bertlens-data"]
    assert page.heads() == {f"self/{layer}/{head}" for layer in range(3) for head in range(2)}
    for layer in range(3):
        for head in range(2):
            found = kept[question_name({"op": "head", "map": "self", "layer": layer, "head": head})]
            message = {"id": 1, "op": "head", "trace": widget.overview["header"]["trace"], "map": "self"}
            [(fields, buffers)] = replies(widget, {**message, "layer": layer, "head": head})
            assert found["header"] == {name: value for name, value in fields.items() if name != "id"}
            assert unpacked(found["data"]) == buffers[0]
    assert unpacked(data["state"]["overview"]["data"]) == widget.overview["data"]
    assert (data["state"]["layer"], data["state"]["head"]) == (1, 1)


def test_view_does_not_wait_for_the_heads():
    scripts = Page(hostile_widget().to_html()).of("script")
    assert scripts[0][0]["id"] == "bertlens-data"
    assert scripts[1][0] == {"type": "module", "async": None}
    assert all(attrs["type"] == "application/json" for attrs, _ in scripts[2:])


def test_chosen_layers_only():
    page = Page(hostile_widget().to_html(layers=[2, 0]))
    assert {key.split("/")[1] for key in page.heads()} == {"0", "2"}
    assert page.data()["bertlens-data"]["holds"] == "layers 0, 2"
    with pytest.raises(bl.SelectionError, match="layer 3 does not exist"):
        hostile_widget().to_html(layers=[3])


def test_other_maps_of_an_encoder_decoder_are_in_the_page():
    trace = bl.Trace.from_encoder_decoder(
        encoder=attention(2, 2, 3, 3),
        cross=attention(1, 2, 2, 3),
        encoder_tokens=["a", "b", "c"],
        decoder_tokens=["x", "y"],
    )
    page = Page(trace.explore(layer=1).to_html())
    data = page.data()["bertlens-data"]
    assert set(data["overviews"]) == {"cross"}
    assert data["overviews"]["cross"]["header"]["map"] == "cross"
    assert "cross/0/1" in page.heads()


def test_too_large_a_page_is_refused_with_the_layers_that_fit(monkeypatch):
    widget = hostile_widget()
    whole = len(widget.to_html().encode())
    small = len(widget.to_html(layers=[0]).encode())
    layer = (whole - small) / 2
    monkeypatch.setattr(page_module, "LIMIT", int(whole - layer / 2))
    with pytest.raises(bl.ExportError, match=r"2 of its layers fit: choose them, for example layers=\[0, 1\]"):
        widget.to_html()
    widget.to_html(layers=[0, 1])
    monkeypatch.setattr(page_module, "LIMIT", int(small - layer / 2))
    with pytest.raises(bl.ExportError, match="shorten the text"):
        widget.to_html()


def test_refused_page_leaves_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(page_module, "LIMIT", 1000)
    with pytest.raises(bl.ExportError):
        hostile_widget().to_html(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


class OneDay(datetime.date):
    """A clock that stands: the page names the day, and a test may run over midnight."""

    @classmethod
    def today(cls):
        return cls(2026, 1, 31)


def test_the_same_view_gives_the_same_page(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance_module, "date", OneDay)
    path = tmp_path / "page.html"
    hostile_widget().to_html(path)
    text = path.read_text(encoding="utf-8")
    assert hostile_widget().to_html() == text
    assert "2026-01-31" in text


def test_a_bundle_that_ends_scripts_is_defused(monkeypatch, tmp_path):
    view = hostile_widget()
    (tmp_path / "widget.css").write_text("")
    (tmp_path / "widget.js").write_text('const widget="</SCRIPT><!--"\nexport{widget as default};\n')
    (tmp_path / "savedpage.js").write_text("var made={};")
    (tmp_path / "frameheight.js").write_text("var made={};")
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    [script] = [text for attrs, text in Page(view.to_html()).of("script") if attrs["type"] == "module"]
    assert script.startswith('const widget="<\\/SCRIPT><\\!--"\n;(')
    (tmp_path / "savedpage.js").write_text("const a=1;")
    with pytest.raises(bl.ExportError, match=r"no savedpage\.js: run `make build`"):
        view.to_html()
    (tmp_path / "savedpage.js").write_text("var made={};")
    (tmp_path / "widget.js").write_text("const a=1;")
    with pytest.raises(bl.ExportError, match=r"no default export: run `make build`"):
        view.to_html()


# The still picture


def test_still_picture_shows_the_open_head():
    widget = hostile_widget()
    image = np.array(Image.open(io.BytesIO(still(widget))).convert("RGB"))
    shown = widget.trace.attention(1)[1].numpy()
    table = colors.table("weight", "light")
    wanted = table[np.round(34 * shown / shown.max()).astype(int) * 15 // 2].repeat(16, 0).repeat(16, 1)
    size = wanted.shape[0]
    found = [
        (y, x)
        for y, x in zip(*np.nonzero((image == wanted[8, 8]).all(-1)), strict=True)
        if np.array_equal(image[y : y + size, x : x + size], wanted)
    ]
    assert len(found) == 1


def test_still_picture_marks_not_a_number():
    maps = attention(1, 1, 3, 3)
    maps[0][0, 1] = torch.nan
    widget = bl.Trace.from_attentions(maps, ["a", "b", "c"]).explore()
    image = np.array(Image.open(io.BytesIO(still(widget))).convert("RGB"))
    assert (image == colors.rgb(colors.NAN)).all(-1).sum() >= 3 * 16 * 16


def test_still_picture_of_many_tokens_stays_small():
    n = 700
    maps = [torch.full((1, n, n), 1 / n)]
    data = still(bl.Trace.from_attentions(maps, ["word"] * n).explore())
    assert Image.open(io.BytesIO(data)).width < 1200
    assert len(data) < 100_000


def test_still_picture_pools_what_is_too_fine_to_see():
    maps = attention(12, 12, 300, 300)
    data = still(bl.Trace.from_attentions(maps, ["word"] * 300).explore(layer=1, head=2))
    assert len(data) < 120_000  # noise: nothing compresses worse
    image = np.array(Image.open(io.BytesIO(data)).convert("RGB"))
    blocks = [slice(300 * n // 256, -(-300 * (n + 1) // 256)) for n in range(256)]
    wanted = np.array([[maps[1][2, rows, columns].max() for columns in blocks] for rows in blocks])
    table = colors.table("weight", "light")
    first = table[np.round(34 * wanted[0] / wanted.max()).astype(int) * 15 // 2]
    assert any(np.array_equal(row[x : x + 256], first) for row in image for x in range(row.shape[0] - 255))


# Arrays and tables


def test_csv_gives_back_every_number_and_token(tmp_path):
    tokens = [token for token in HOSTILE if token not in ("\ud800", "\x00\x08")]  # no UTF-8; no C string
    trace = bl.Trace.from_attentions(attention(2, 3, len(tokens), len(tokens)), tokens)
    save_csv(trace, 1, 2, tmp_path / "head.csv")
    table = pd.read_csv(tmp_path / "head.csv", comment="#", dtype={"attention": np.float32}, keep_default_na=False)
    n = len(tokens)
    np.testing.assert_array_equal(table.attention.to_numpy().reshape(n, n), trace.attention(1)[2].numpy())
    assert table["query"].str.removeprefix("'").to_list() == [token for token in trace.display_tokens for _ in range(n)]
    assert table["key"].str.removeprefix("'").to_list() == trace.display_tokens * n
    assert table["query_index"].to_list() == [i for i in range(n) for _ in range(n)]
    with pytest.raises(bl.SelectionError, match="head 3 does not exist"):
        save_csv(trace, 1, 3, tmp_path / "head.csv")


def test_numbers_are_written_as_the_page_writes_them(tmp_path):
    """js/tests/csv.test.ts has the same numbers."""
    scale = torch.tensor([1e-7, 1.5e-5, 0.1, 1 / 3, 1.0, 0.0])
    weights = (scale / scale.sum()).repeat(6, 1)[None, None]
    trace = bl.Trace.from_attentions(weights, list("abcdef"))
    save_csv(trace, 0, 0, tmp_path / "head.csv")
    text = (tmp_path / "head.csv").read_text()
    written = [line.rsplit(",", 1)[1] for line in text.splitlines() if line[0].isdigit()]
    assert np.array_equal(np.array(written, np.float32), trace.attention(0)[0].numpy().ravel())
    assert (written[0], written[1], written[5]) == ("6.9766706e-8", "0.000010465005", "0")


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1+1",
    "'=1",
    "'",
    "-",
    "",
    "a=1",
    "x,=1",
    "x;=1",
    'x;"=1',
    "'='",
    ",'x",
    "\t\t=1",
    ";;-",
]
UNDONE = (r"""(^|[,;\t\r\n])("*)'""", r"\1\2")  # as the docstring says


def test_no_cell_of_a_csv_is_a_formula(tmp_path):
    """Read as a spreadsheet reads it, by any of its separators; what was written comes back."""
    name = 'm,=cmd;+1\t@x,"=1'
    trace = bl.Trace.from_attentions(attention(1, 1, len(FORMULAS), len(FORMULAS)), FORMULAS, model_name=name)
    save_csv(trace, 0, 0, tmp_path / "head.csv")
    text = (tmp_path / "head.csv").read_bytes().decode()
    numbers = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
    for separator in ",;\t":
        cells = [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in row]
        assert len(cells) > 100
        for cell in cells:
            assert cell.lstrip('"')[:1] not in tuple("=+-@＝＋－＠") or numbers.fullmatch(cell), (separator, cell)
    table = pd.read_csv(tmp_path / "head.csv", comment="#", keep_default_na=False, dtype=str)
    assert [re.sub(*UNDONE, token) for token in table["key"]] == trace.display_tokens * len(FORMULAS)


def test_csv_and_npz_of_a_model_hold_its_numbers_and_where_they_come_from(embedded_lens, tmp_path):
    trace = embedded_lens.trace("two\nlines", "pair")
    save_csv(trace, 2, 5, tmp_path / "head.csv")
    lines = (tmp_path / "head.csv").read_bytes().decode().split("\r\n")
    assert lines[0] == "# model: all-MiniLM-L6-v2"
    assert "# text: two\\nlines" in lines
    table = pd.read_csv(tmp_path / "head.csv", comment="#", dtype={"score": np.float32})
    np.testing.assert_array_equal(table.score.to_numpy(), trace.scores(2)[5].numpy().ravel())

    save_npz(trace, tmp_path / "trace.npz", layers=[4, 1])
    with np.load(tmp_path / "trace.npz") as saved:
        about = json.loads(str(saved["about"]))
        assert saved["layers"].tolist() == [4, 1]
        for n, layer in enumerate([4, 1]):
            np.testing.assert_array_equal(saved["attention"][n], trace.attention(layer).numpy())
            np.testing.assert_array_equal(saved["query"][n], trace.query(layer).numpy())
            np.testing.assert_array_equal(saved["key"][n], trace.key(layer).numpy())
            assert saved["scaling"][n] == trace.scaling(layer)
    assert about["tokens"] == trace.tokens
    assert about["model"] == "all-MiniLM-L6-v2"


def test_npz_of_an_encoder_decoder_names_its_maps(tmp_path):
    cross = attention(1, 2, 2, 3)
    trace = bl.Trace.from_encoder_decoder(
        decoder=attention(1, 2, 2, 2), cross=cross, encoder_tokens=["a", "b", "c"], decoder_tokens=["x", "y"]
    )
    save_npz(trace, tmp_path / "maps.npz")
    with np.load(tmp_path / "maps.npz") as saved:
        assert {"about", "decoder.attention", "cross.attention"} <= set(saved)
        np.testing.assert_array_equal(saved["cross.attention"][0], cross[0].numpy())
        assert json.loads(str(saved["about"]))["cross.key_tokens"] == ["a", "b", "c"]


def test_provenance_says_what_is_known(embedded_lens):
    about = provenance(embedded_lens.trace("a", "b"))
    assert (about["model"], about["text"], about["text_pair"], about["dtype"]) == (
        "all-MiniLM-L6-v2",
        "a",
        "b",
        "float32",
    )
    assert about["tokenizer"] == type(embedded_lens.tokenizer).__name__
    assert set(about["versions"]) == {"bertlens", "transformers", "torch", "python"}
    assert about["versions"]["torch"] == torch.__version__
    json.dumps(about, allow_nan=False)
    given = provenance(bl.Trace.from_attentions(attention(1, 1, 1, 1), ["a"]))
    assert (given["model"], given["tokenizer"], given["revision"]) == ("attention weights", None, None)


def test_visible_writes_what_cannot_be_seen():
    assert visible("a\u202eb\x00\ud800\n日本") == "a⟨U+202E⟩b⟨U+0000⟩\ufffd⟨U+000A⟩日本"


def test_json_in_the_page_has_no_number_that_json_has_not():
    page = hostile_widget().page()
    given = {"x": [{"y": float("nan")}, "<"], "z": np.float32(1)}
    text = page_module.to_html(replace(page, about={**page.about, **given}))
    about = Page(text).data()["bertlens-data"]["about"]
    assert {name: about[name] for name in given} == {"x": [{"y": None}, "<"], "z": 1}


# Bytes in a page


def numbers() -> dict[str, np.ndarray]:
    """Arrays of all dtypes and odd lengths, as wide apart in what deflates as those of a page."""
    generator = np.random.default_rng(0)
    return {
        "float32": generator.standard_normal((51, 33)).astype(np.float32),
        "none": np.zeros((0, 7), np.float32),
        "uint8": generator.integers(0, 9, 1001).astype(np.uint8),
        "float64": generator.standard_normal(77),
        "int32": np.arange(-500, 500, dtype=np.int32),
        "uint16": generator.integers(0, 1 << 16, 99).astype(np.uint16),
        "one": np.float32(3).reshape(()),
        "special": np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32),
    }


def test_deflated_bytes_come_back():
    index, blob = wire.pack(numbers())
    held = carried(blob, index)
    assert len(held["$bytes"]) < len(as_text(blob)) * 0.9 and held["length"] == len(blob)
    assert unpacked(held) == blob
    assert unpacked(carried(blob, ())) == blob
    assert unpacked(carried(b"", ())) == b""


def test_what_does_not_deflate_is_carried_as_it_is():
    noise = np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8)
    index, blob = wire.pack({"noise": noise})
    assert carried(blob, index) == {"$bytes": as_text(blob)}


def test_a_head_takes_less_than_its_bytes(embedded_lens):
    """Queries and keys of a real model: a seventh less, by their signs and exponents alone."""
    trace = embedded_lens.trace("The quick brown fox jumps over the lazy dog. " * 12)
    _, arrays = head_answers.head(trace, 2, 3)
    index, blob = wire.pack(arrays)
    assert len(from_text(carried(blob, index)["$bytes"])) < 0.87 * len(blob)
    assert len(zlib.compress(blob, 9)) > 0.9 * len(blob)  # without the planes hardly any


# Its size, before any work


@pytest.mark.parametrize(
    ("layers", "share"), [pytest.param([0, 1, 2, 3, 4, 5], 2 / 3, marks=pytest.mark.long), ([3], 1 / 3)]
)
def test_what_fits_is_written_and_what_does_not_is_refused_before_any_work(embedded_lens, monkeypatch, layers, share):
    """Shapes and three heads say how large the layers get at least: never too much, and not far too little."""
    view = embedded_lens.trace("The quick brown fox jumps over the lazy dog. " * 45).explore()
    assert view.trace.n_tokens > 400
    size = len(view.to_html(layers=layers))
    monkeypatch.setattr(page_module, "LIMIT", size + 1)
    assert len(view.to_html(layers=layers)) == size
    monkeypatch.setattr(saving, "with_pictures", lambda *_: pytest.fail("worked"))
    monkeypatch.setattr(page_module, "LIMIT", int(size * share))
    with pytest.raises(bl.ExportError, match=r"layers fit: choose them|not even one layer fits"):
        view.to_html(layers=layers)


def test_a_refused_page_names_the_layers_that_fit(embedded_lens, monkeypatch):
    view = embedded_lens.trace("The quick brown fox jumps over the lazy dog. " * 45).explore()
    one, two = (len(view.to_html(layers=layers)) for layers in ([0], [0, 1]))
    monkeypatch.setattr(page_module, "LIMIT", one + int(1.5 * (two - one)))
    with pytest.raises(bl.ExportError, match=r"2 of its layers fit: choose them, for example layers=\[0, 1\]"):
        view.to_html()


def test_a_page_of_maps_that_deflate_is_not_refused_for_their_shapes(monkeypatch):
    """One weight a row: by shapes 9 MB, deflated nothing."""
    maps = [torch.eye(300).repeat(4, 1, 1) for _ in range(5)]
    view = bl.Trace.from_attentions(maps, ["word"] * 300).explore()
    assert sum(4 * one.numel() for one in maps) * 4 / 3 > 9e6
    monkeypatch.setattr(page_module, "LIMIT", 3_000_000)
    assert len(view.to_html()) < 1.5e6


def test_a_page_that_takes_long_shows_how_far_it_is(embedded_lens, monkeypatch):
    """A bar of the layers whose pictures are made, and of the answers; none where it was asked not to."""
    bars = []

    class Bar:
        def __init__(self, **options):
            self.total, self.done, self.options = None, 0, options
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, n=1):
            self.done += n

    monkeypatch.setattr("bertlens.base.progress.Progress", Bar)
    view = embedded_lens.trace("The quick brown fox jumps over the lazy dog. " * 15).explore()
    assert len(view.overview["header"]["pending"]) == 6
    page = Page(view.to_html())
    held = [name for name in page.data() if name.startswith("[")]
    assert bars[0].done == bars[0].total == 6 + len(held)
    assert bars[0].options["delay"] == 2 and not bars[0].options["disable"]
    view.to_html(progress=False)
    assert bars[1].options["disable"]


def test_a_page_without_scripts_shows_the_view_as_a_picture(embedded_lens):
    view = embedded_lens.trace("The cat sat on the mat because it was tired.").explore(layer=1, head=8)
    text = view.to_html(progress=False)
    inside = text.split("<noscript>")[1].split("</noscript>")[0]
    address = re.search(r'<img src="data:image/png;base64,([^"]+)"', inside)[1]
    png = base64.b64decode(address)
    assert png == view._repr_mimebundle_()[0]["image/png"]  # what a saved notebook shows in the view's place
    assert Image.open(io.BytesIO(png)).width > 400
    assert len(inside) < 0.05 * len(text)


@pytest.mark.parametrize("name", ["widget.css", "palette.css", "strip.jinja"])
def test_grounds_are_printed(name):
    """Browsers leave out the colours of grounds, which bars and shades are, unless they are asked."""
    text = bundle.text(name) if name == "widget.css" else (pages.TEMPLATES / name).read_text(encoding="utf-8")
    assert re.search(r"(?<!-)print-color-adjust: ?exact", text)
