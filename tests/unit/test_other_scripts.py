"""Texts of other scripts in the documentation: which pieces get a language and a direction."""

from __future__ import annotations

import runpy
import unicodedata

import pytest

from unit.test_project import ROOT

PART = runpy.run_path(str(ROOT / "docs" / "other_scripts.py"))
marked, script_of = PART["marked"], PART["script_of"]


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<p>Σ α ‖ é ß 12</p>", "<p>Σ α ‖ é ß 12</p>"),
        ("<b>сон, мир</b> so", '<b><span lang="und-Cyrl" dir="ltr">сон, мир</span></b> so'),
        ("a שלום! b", 'a <span lang="und-Hebr" dir="rtl">שלום</span>! b'),
        ("قط و كلب", '<span lang="und-Arab" dir="rtl">قط و كلب</span>'),
        ("東京タワー", '<span lang="und-Jpan" dir="ltr">東京タワー</span>'),
        ("東京 tower", '<span lang="und-Hani" dir="ltr">東京</span> tower'),
        ('<i lang="fa" dir="rtl">سلام</i>', '<i lang="fa" dir="rtl">سلام</i>'),
        ("<a title='сон'>x</a><script>'сон'</script>", "<a title='сон'>x</a><script>'сон'</script>"),
        ("सेब, ไทย", '<span lang="und-Deva" dir="ltr">सेब</span>, <span lang="und-Thai" dir="ltr">ไทย</span>'),
    ],
)
def test_a_run_of_another_script_has_its_script_and_direction(html: str, wanted: str) -> None:
    assert marked(html) == wanted


def test_the_direction_is_that_of_the_letters() -> None:
    """By Unicode's own class of each letter."""
    for code in range(0x400, 0x10000):
        if script := script_of(letter := chr(code)):
            right = unicodedata.bidirectional(letter) in ("R", "AL")
            assert not right or script in PART["RIGHT_TO_LEFT"], (hex(code), script)
    assert all(unicodedata.bidirectional(letter) in ("R", "AL") for letter in "קطܐހ")
