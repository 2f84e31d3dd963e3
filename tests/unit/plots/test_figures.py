"""The page's exported figures, read by a strict XML parser (needs node, as the build does)."""

import base64
import io
import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bertlens.base import colors

JS = Path(__file__).parents[3] / "js"
SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {SVG + name for name in ("svg", "title", "desc", "metadata", "g", "text", "rect", "path", "image")}
NAMES = ("matrix", "large", "lines", "neurons", "atlas", "column")

if shutil.which("node") is None or not (JS / "node_modules").exists():
    pytest.skip("node and the packages of js/ are needed to draw the figures", allow_module_level=True)


@pytest.fixture(scope="module")
def figures() -> dict[str, dict[str, str]]:
    done = subprocess.run(["node", "tests/print_samples.mjs"], cwd=JS, capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_hostile_tokens_leave_well_formed_svg(figures, name):
    root = ET.fromstring(figures["hostile"][name].encode())
    for element in root.iter():
        assert element.tag in ALLOWED
        assert not [key for key in element.attrib if key.lower().startswith("on")]
    assert root.find(f"{SVG}title").text == "L1·H8 <img src=x onerror=window.__pwn=1>"
    assert "</script><script>window.__pwn=1</script>" in root.find(f"{SVG}desc").text


def test_tokens_arrive_as_text_and_hidden_characters_as_codes(figures):
    labels = [element.text for element in ET.fromstring(figures["hostile"]["matrix"].encode()).iter(f"{SVG}text")]
    for token in ("</script><script>window.__pwn=1</script>", '" onload="alert(1)', "&lt;", "]]>", "日本語", "שלום"):
        assert labels.count(token) == 3  # row, column, caption
    for shown in ("⟨U+202E⟩abc", "a⟨U+200D⟩b", "\ufffd", "⟨U+0009⟩⟨U+000A⟩⟨U+000D⟩"):
        assert shown in labels
    assert not [text for text in labels if "\u202e" in text]


@pytest.mark.parametrize("name", NAMES)
def test_embedded_pictures_are_pngs(figures, name):
    for image in ET.fromstring(figures["everyday"][name].encode()).iter(f"{SVG}image"):
        kind, data = image.get("href").split(",")
        assert kind == "data:image/png;base64"
        picture = Image.open(io.BytesIO(base64.b64decode(data)))
        picture.load()  # checks every checksum
        assert picture.format == "PNG"


def test_large_matrix_holds_its_values(figures):
    image = next(ET.fromstring(figures["everyday"]["large"].encode()).iter(f"{SVG}image"))
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(image.get("href").split(",")[1]))).convert("RGB"), int)
    assert pixels.shape == (60, 60, 3)
    values = np.abs(np.sin(1 + 12.9898 * np.arange(3600)) ** 8)
    values[61] = 0  # not a number there
    assert pixels[1, 1].tolist() == [*bytes.fromhex(colors.NAN[1:])]
    darkness = 765 - pixels.sum(2).ravel()
    darkness[61] = 0
    assert np.corrcoef(values, darkness)[0, 1] > 0.98
    assert (darkness[values < 1e-3] == 0).all()
