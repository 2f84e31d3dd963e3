"""The page's copy of the vocabulary, js/src/generated/vocabulary.ts.

`python -m bertlens.widgets.typescript` writes it.
Names become types, words and colours become tables. A test fails where the file is not what this writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..base import colors, vocabulary
from ..base.limits import LIMITS, PAGE
from ..base.references import REFERENCES, SOFTWARE
from ..measures.attribution.methods import METHODS
from ..measures.statistics import STATISTICS
from .arguments import ARGUMENTS
from .questions import QUESTIONS
from .tabs import PARTS, TABS

TARGET = Path(__file__).parents[2] / "js" / "src" / "generated" / "vocabulary.ts"
_TYPES = {
    "text": "string",
    "number": "number",
    "optional": "number | null",
    "flag": "boolean",
    "numbers": "number[] | null",
    "names": "string[]",
    "heads": "HeadName[]",
    "settings": "Partial<Settings>",
    "lesson": "Record<string, unknown>",
    "done": "Record<string, string | number | boolean | null>[]",
    "record": "{ header: Record<string, unknown>; data: DataView | string }",
}
_CHOICES = {
    "measure": "Measure",
    "layer_map": "string",
    "view": "string",
    "pair_filter": "PairFilter",
    "units": "UnitKind",
}


def typescript() -> str:
    """The text of js/src/generated/vocabulary.ts."""
    v = vocabulary
    return "\n".join(
        [
            "// Names, words and colours that kernel and page share; `python -m bertlens.widgets.typescript` writes",
            "// this. Do not edit: change base/vocabulary.py, measures/statistics.py, widgets/{questions,tabs}.py",
            "",
            *_union("Measure", v.MEASURES),
            *_union("TabName", TABS),
            *_union("PartName", [*PARTS, *TABS]),
            *_union("PairFilter", v.PAIR_FILTERS),
            *_union("UnitKind", v.UNITS),
            "export type Theme = keyof typeof INKS;",
            "export type HeadName = [layer: number, head: number];",
            "",
            "/** The traits of every widget. */",
            "export interface Traits {",
            *(f"  {trait.name}: {_type(trait)};" for trait in v.TRAITS),
            "}",
            "",
            "/** What the traits of a selection are where nobody chose. */",
            f"export const DEFAULTS: Partial<Traits> = {_json(_defaults())};",
            "",
            "/** How a page is set beside its selection. */",
            f"export const SETTINGS = {_json(v.SETTINGS)};",
            'export type Settings = Omit<typeof SETTINGS, "muted"> & { muted: string[] };',
            "",
            "/** The questions, with their arguments. */",
            "export interface Questions {",
            *(f"  {question.name}: {_arguments(question.arguments)};" for question in QUESTIONS.values()),
            "}",
            f"export const TRAIT_NAMES: readonly (keyof Traits)[] = {_json([trait.name for trait in v.TRAITS])};",
            "",
            *_table("MEASURES", "Measure", v.MEASURES, ("symbol", "label", "title", "does", "they", "about", "signed")),
            *_table("PAIR_FILTERS", "PairFilter", v.PAIR_FILTERS, ("label", "about")),
            *_table("UNITS", "UnitKind", v.UNITS, ("label", "about")),
            *_table("GATES", "string", v.GATES, ("letter", "mark", "about")),
            *_table("CATEGORIES", "string", v.CATEGORIES, ("label", "about")),
            *_table("SOURCES", "string", v.SOURCES, ("label", "about")),
            *_table("STATISTICS", "string", STATISTICS, ("label", "about", "unit", "finds")),
            *_table("ATTRIBUTIONS", "string", METHODS, ("label", "about")),
            *_table("TERMS", "string", v.TERMS, ("label", "about")),
            f"export const GATE_THRESHOLD = {v.GATE_THRESHOLD};",
            f"export const GATE_MARGIN = {v.GATE_MARGIN};",
            f"export const GATE_LEAST_CONTENT = {v.GATE_LEAST_CONTENT};",
            "/** The longest texts, in tokens, that something is made of: see bertlens/base/limits.py. */",
            f"export const LIMITS = {_json({name: LIMITS[name].tokens for name in PAGE})} as const;",
            "",
            "/** BibTeX of the papers, by the names that sentences give them, and of bertlens. */",
            f"export const REFERENCES: Record<string, string> = {_json(REFERENCES)};",
            f"export const SOFTWARE = {_json(SOFTWARE)};",
            "",
            "/** Text, lines and areas. */",
            f"export const INKS = {_json(colors.INKS)} as const;",
            "/** Curves and points; kinds of token first. */",
            f"export const SERIES: Record<Theme, readonly string[]> = {_json(colors.SERIES)};",
            "/** Which of SERIES stands for what a head makes of its input. */",
            f"export const VECTORS: Record<string, number> = {_json(colors.VECTORS)};",
            "/** Heads that are drawn over one another. */",
            f"export const HEADS: Record<Theme, readonly string[]> = {_json(colors.HEADS)};",
            "/** Not a number, in both themes. */",
            f"export const NAN = {_json(colors.NAN)};",
            "/** RGB triples in base64, nodes of a colour table from zero upwards: colormap.ts draws lines between. */",
            f"export const WEIGHT: Record<Theme, readonly string[]> = {_json(_nodes('weight'))};",
            "/** The same for the two arms of a signed table: from zero to the negative end, and to the positive. */",
            f"export const SIGNED: Record<Theme, readonly string[]> = {_json(_nodes('signed'))};",
            "",
        ]
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _union(name: str, members: Iterable[str]) -> list[str]:
    return [f"export type {name} = {' | '.join(map(_json, members))};"]


def _type(trait: vocabulary.Trait) -> str:
    if trait.kind != "choice":
        return _TYPES[trait.kind]
    return _CHOICES.get(trait.name) or " | ".join(map(_json, trait.choices))


_TEXTS = ("text", "text_pair", "truncation", "settings", "lesson_done")  # of the run, or kept apart


def _defaults() -> dict[str, Any]:
    """Of traits that are chosen on a page; a list is empty."""
    empty: dict[str, Any] = {"heads": []}
    return {
        trait.name: empty.get(trait.name, trait.default)
        for trait in vocabulary.TRAITS
        if trait.selectable and trait.name not in _TEXTS
    }


def _arguments(names: tuple[str, ...]) -> str:
    typed = "; ".join(f"{name}: {ARGUMENTS[name.removesuffix('?')].ts}" for name in names)
    return f"{{ {typed} }}" if typed else "Record<never, never>"


def _table(name: str, key: str, words: Mapping[str, Any], fields: tuple[str, ...]) -> list[str]:
    rows = {word.name: {field: getattr(word, field) for field in fields} for word in words.values()}
    types = {"signed": "boolean"}
    shape = "; ".join(f"{field}: {types.get(field, 'string')}" for field in fields)
    return [f"export const {name}: Record<{key}, {{ {shape} }}> = {_json(rows)};"]


def _nodes(scale: str) -> dict[str, list[str]]:
    return {theme: colors.nodes_base64(scale, theme) for theme in colors.THEMES}


if __name__ == "__main__":
    TARGET.write_text(typescript(), encoding="utf-8")
