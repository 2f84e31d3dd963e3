"""The token strip: every token and number of an attribution as text, colours by its sign, no markup of the text's."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertlens import Trace
from bertlens.base import colors
from bertlens.measures.attribution import Attribution, attention_gradient, gradient_input, occlusion
from bertlens.trace.provenance import visible
from bertlens.whatif import logit
from unit.export.test_export import HOSTILE, attention
from unit.measures.test_attribution import words_lens

TOKEN = re.compile(
    r"<span title='(.*?)' style='[^']*background:([^;]+);color:(#\w+)'>(.*?)<br><small[^>]*>(.*?)</small>"
)


@pytest.fixture(scope="module")
def found() -> Attribution:
    return occlusion(words_lens().trace("the cat [MASK] on the warm mat"), logit("cat"))


def luminance(color: str) -> float:
    channels = np.array(colors.rgb(color)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_every_token_with_its_number(found: Attribution) -> None:
    text = found._repr_html_()
    shown = TOKEN.findall(text)
    assert len(shown) == found.trace.n_tokens
    top = float(found.values.abs().nan_to_num(0).max())
    for (title, ground, ink, name, number), token, value in zip(
        shown, found.trace.display_tokens, found.values.tolist(), strict=True
    ):
        assert html.unescape(re.sub("<.*?>", "", name)) == token
        if value != value:
            assert "never removed" in title and "gradient" in ground
            continue
        assert float(number.replace("−", "-")) == pytest.approx(value, abs=5.1e-4)
        assert float(title.split(": ")[1].replace("−", "-")) == pytest.approx(value, abs=5.1e-5)
        red, _, blue = colors.rgb(ground)
        assert abs(value) < 0.02 * top or (value > 0) == (red > blue)
        light, dark = sorted([luminance(ground), luminance(ink)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
    rows = re.findall(r"<tr><td>(\d+)</td>.*?<td>(.*?)</td></tr>", text)
    assert [int(n) for n, _ in rows] == list(range(found.trace.n_tokens))
    assert [number for _, number in rows] == [title.split(": ")[1].replace("never removed", "–") for title, *_ in shown]


def test_the_sums_are_said(found: Attribution) -> None:
    assert html.unescape(found._repr_html_()).count(found.said) == 1 and found.notes[0] in html.unescape(
        found._repr_html_()
    )
    assert "never removed by this method" in found._repr_html_()
    whole = gradient_input(found.trace, logit("cat"))
    flows = attention_gradient(found.trace, logit("cat"))
    assert not flows.signed and float(flows.values.min()) >= 0
    assert "flows from the token" in flows._repr_html_() and "lowers" not in flows._repr_html_()
    assert not whole.values.isnan().any() and "hatched" not in whole._repr_html_()


def test_swapped_signs_swap_the_colours(found: Attribution) -> None:
    there, back = (TOKEN.findall(one._repr_html_()) for one in (found, replace(found, values=-found.values)))
    table = ["#" + bytes(rgb.tolist()).hex() for rgb in colors.table("signed", "light")]
    for (_, ground, *_), (_, other, *_) in zip(there, back, strict=True):
        if ground.startswith("#"):
            assert abs(table.index(ground) + table.index(other) - 255) <= 1


def test_nothing_counts(found: Attribution) -> None:
    zero = replace(found, values=torch.zeros_like(found.values))
    grounds = {ground for _, ground, *_ in TOKEN.findall(zero._repr_html_())}
    assert grounds == {"#ffffff"} and "nan" not in zero._repr_html_().lower()


def test_token_text_is_text(found: Attribution) -> None:
    n = len(HOSTILE)
    trace = Trace.from_attentions(attention(1, 1, n, n), HOSTILE)
    values = torch.linspace(-1, 1, n, dtype=torch.float64)
    named = replace(found, trace=trace, values=values, method="<b>'method'", notes=("<i>",))
    text = named._repr_html_()
    for markup in ("<b>", "<i>", "\u202e"):
        assert markup not in text
    assert {name for _, _, _, name, _ in TOKEN.findall(text)} == {
        f"<bdi>{html.escape(visible(token))}</bdi>" for token in trace.display_tokens
    }
    assert not re.search(r"<(?!/?(div|p|span|bdi|small|br|details|summary|table|thead|tbody|tr|th|td)\b)", text)


def test_small_numbers_keep_their_digits(found: Attribution) -> None:
    small = replace(found, values=found.values * 1e-4)
    for (*_, number), value in zip(TOKEN.findall(small._repr_html_()), small.values.tolist(), strict=True):
        if value == value:
            top = float(small.values.abs().nan_to_num(0).max())
            assert float(number.replace("−", "-")) == pytest.approx(value, abs=0.006 * top)


@pytest.mark.parametrize(("text", "direction"), [("הילד קרא [MASK]", "rtl"), ("the cat [MASK]", "ltr")])
def test_tokens_are_laid_as_the_text_is(text: str, direction: str) -> None:
    assert f"<div dir='{direction}'" in occlusion(words_lens().trace(text), logit("cat"))._repr_html_()
