"""A model's licence: as its config or its card says it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import bertlens as bl
from bertlens.model.licence import licence


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n# A model\n", "mit"),
        ('---\r\nlicense: "cc-by-4.0" # as its data\r\n---\r\n', "cc-by-4.0"),
        ("---\nlicense: other\nlicense_name: of-our-own\n---\n", "of-our-own"),
        ("# A model\n\nlicense: mit\n", ""),
        ("---\nlanguage: en\n---\n---\nlicense: mit\n---\n", ""),
        ("", ""),
    ],
)
def test_a_card_says_it_in_its_head_alone(card, expected, tmp_path):
    (tmp_path / "README.md").write_text(card, encoding="utf-8", newline="")
    assert licence(SimpleNamespace(name_or_path=str(tmp_path))) == expected


def test_what_says_nothing_has_none_and_a_config_goes_before_a_card(tmp_path):
    assert licence(SimpleNamespace()) == licence(SimpleNamespace(name_or_path="no/such-model")) == ""
    assert licence(SimpleNamespace(name_or_path="../elsewhere\0")) == ""
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n")
    assert licence(SimpleNamespace(name_or_path=str(tmp_path), license="gpl-3.0")) == "gpl-3.0"


def test_the_embedded_models_have_that_of_the_encoder(embedded_lens):
    lens = bl.Lens.embedded()
    assert licence(lens.borrowed.base.config, lens.made) == "apache-2.0"
    assert licence(SimpleNamespace(), "bl.Lens.embedded(mlm=True)") == "apache-2.0"
