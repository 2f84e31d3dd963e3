"""The page's copy of the vocabulary, js/src/generated/: vocabulary.ts, phrases.ts for sentences, answers.ts for types.

`python -m bertlens.widgets.typescript` writes it. Names become types, words and colours become tables, sentences with
something to fill in become functions. A test fails where a file is not what this writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ..base import colors
from ..base import vocabulary as v
from ..base.atomic import text_file
from ..base.limits import LIMITS, PAGE
from ..base.references import REFERENCES, SOFTWARE
from ..base.registered import room
from ..base.vocabulary import constants, phrases
from ..measures import gates
from ..measures.attribution.methods import METHODS
from ..measures.statistics import STATISTICS
from . import views  # noqa: F401  with whom every question of a view is there
from .answer_types import answers
from .messages.plain_question import PlainQuestion
from .questions import QUESTIONS
from .tabs import PARTS, TABS

search = room("bertlens.search.view.case_questions")

FOLDER = Path(__file__).parents[2] / "js" / "src" / "generated"
_TYPES = {
    "text": "string",
    "number": "number",
    "optional": "number | null",
    "flag": "boolean",
    "numbers": "number[] | null",
    "names": "string[]",
    "heads": "HeadName[]",
    "place": "Partial<Record<(typeof PLACE)[number], number | null>>",
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
    return "\n".join(
        [
            "// Names, words and colours that kernel and page share; `python -m bertlens.widgets.typescript` writes",
            "// this. Change base/vocabulary/, measures/statistics.py, widgets/questions.py and widgets/tabs.py",
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
            "/** What the program may choose for a reader who has not. */",
            f"export const PLACE = {_json(v.PLACE)} as const;",
            "/** How a page is set beside its selection. */",
            f"export const SETTINGS = {_json(v.SETTINGS)};",
            'export type Settings = Omit<typeof SETTINGS, "muted"> & { muted: string[] };',
            "",
            "/** The questions, with their arguments. */",
            *_questions("Questions", QUESTIONS),
            "/** Those of a search. */",
            *_questions("SearchQuestions", search.QUESTIONS),
            f"export const TRAIT_NAMES: readonly (keyof Traits)[] = {_json([trait.name for trait in v.TRAITS])};",
            "",
            *_table("MEASURES", "Measure", v.MEASURES, ("symbol", "label", "title", "does", "they", "about", "signed")),
            *_table("PAIR_FILTERS", "PairFilter", v.PAIR_FILTERS, ("label", "about")),
            *_table("UNITS", "UnitKind", v.UNITS, ("label", "about")),
            *_table("GATES", "string", v.GATES, ("letter", "mark", "about")),
            *_table("CATEGORIES", "string", v.CATEGORIES, ("label", "about")),
            *_table("SOURCES", "string", v.SOURCES, ("label",)),
            *_table("STATISTICS", "string", STATISTICS, ("label", "about", "unit", "finds")),
            *_table("ATTRIBUTIONS", "string", METHODS, ("label", "about")),
            *_table("TERMS", "string", v.TERMS, ("label", "about")),
            "/** The patterns that speak for each gate. */",
            f"export const GATE_PATTERNS: Record<string, readonly string[]> = {_json(gates.GATES)};",
            "",
            "/** Numbers and lists that kernel and page both compute with: bertlens/base/vocabulary/constants.py. */",
            *(f"export const {name} = {_constant(value)};" for name, value in _public(constants)),
            "",
            "/** The longest texts, in tokens, that something is made of: see bertlens/base/limits.py. */",
            f"export const LIMITS = {_json({name: LIMITS[name].tokens for name in PAGE})} as const;",
            "",
            "/** BibTeX of the papers, by the names that sentences give them, and of bertlens. */",
            f"export const REFERENCES: Record<string, string> = {_json(REFERENCES)};",
            f"export const SOFTWARE = {_json(SOFTWARE)};",
            "",
            "/** Text, lines and areas. */",
            f"export const INKS = {_json(colors.INKS)} as const;",
            "/** The letters of the text's words. */",
            f"export const SERIF = {_json(colors.SERIF)};",
            "/** Curves and points; kinds of token first. */",
            f"export const SERIES: Record<Theme, readonly string[]> = {_json(colors.SERIES)};",
            "/** Which of SERIES stands for what a head makes of its input. */",
            f"export const VECTORS: Record<string, number> = {_json(colors.VECTORS)};",
            "/** Heads that are drawn over one another. */",
            f"export const HEADS: Record<Theme, readonly string[]> = {_json(colors.HEADS)};",
            "/** What sentences call the colours of the scales. */",
            *(f"export const {name} = {_json(getattr(colors, name))};" for name in ("POSITIVE", "NEGATIVE", "MISSING")),
            "/** Not a number, in both themes. */",
            f"export const NAN = {_json(colors.NAN)};",
            "/** RGB triples in base64, nodes of a colour table from zero upwards: colormap.ts draws lines between. */",
            f"export const WEIGHT: Record<Theme, readonly string[]> = {_json(_nodes('weight'))};",
            "/** The same for the two arms of a signed table: from zero to the negative end, and to the positive. */",
            f"export const SIGNED: Record<Theme, readonly string[]> = {_json(_nodes('signed'))};",
            "",
        ]
    )


def sentences() -> str:
    """The text of js/src/generated/phrases.ts."""
    return "\n".join(
        [
            "// Sentences that kernel and page both say; `python -m bertlens.widgets.typescript` writes this.",
            "// Do not edit: change bertlens/base/vocabulary/phrases.py",
            "",
            "type Filled<Name extends string> = Record<Name, string | number>;",
            "",
            *(f"export const {name} = {_phrase(value)};" for name, value in _public(phrases)),
            "",
        ]
    )


FILES = {"vocabulary.ts": typescript, "phrases.ts": sentences, "answers.ts": answers}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _union(name: str, members: Iterable[str]) -> list[str]:
    return [f"export type {name} = {' | '.join(map(_json, members))};"]


def _type(trait: v.Trait) -> str:
    if trait.kind != "choice":
        return _TYPES[trait.kind]
    return _CHOICES.get(trait.name) or " | ".join(map(_json, trait.choices))


_TEXTS = ("text", "text_pair", "truncation", "opened", "settings", "lesson_done")  # of the run, or kept apart


def _defaults() -> dict[str, Any]:
    """Of traits that are chosen on a page; a list is empty."""
    empty: dict[str, Any] = {"heads": []}
    return {
        trait.name: empty.get(trait.name, trait.default)
        for trait in v.TRAITS
        if trait.selectable and trait.name not in _TEXTS
    }


def _questions(name: str, questions: Mapping[str, PlainQuestion] | None) -> list[str]:
    """questions: None where their room was taken out."""
    of_questions = [f"  {question.name}: {_arguments(question)};" for question in (questions or {}).values()]
    return [f"export interface {name} {{", *of_questions, "}"]


def _arguments(question: PlainQuestion) -> str:
    typed = "; ".join(f"{name}: {question.TABLE[name.removesuffix('?')].ts}" for name in question.arguments)
    return f"{{ {typed} }}" if typed else "Record<never, never>"


def _public(module: ModuleType) -> list[tuple[str, Any]]:
    """What a module of the vocabulary defines."""
    return [(name, value) for name, value in vars(module).items() if name.isupper()]


def _constant(value: Any) -> str:
    return _json(value) + (" as const" if isinstance(value, tuple) else "")


def _phrase(text: Any) -> str:
    """A sentence; where something is to be filled in, a function that takes it by the names that it has in Python."""
    fields = list(dict.fromkeys(re.findall(r"{(\w+)}", text))) if isinstance(text, str) else []
    if not fields:
        return _constant(text)
    filled = text.replace("{", "${")
    return f"({{ {', '.join(fields)} }}: Filled<{' | '.join(map(_json, fields))}>): string => `{filled}`"


def _table(name: str, key: str, words: Mapping[str, Any], fields: tuple[str, ...]) -> list[str]:
    rows = {word.name: {field: getattr(word, field) for field in fields} for word in words.values()}
    types = {"signed": "boolean"}
    shape = "; ".join(f"{field}: {types.get(field, 'string')}" for field in fields)
    return [f"export const {name}: Record<{key}, {{ {shape} }}> = {_json(rows)};"]


def _nodes(scale: str) -> dict[str, list[str]]:
    return {theme: colors.nodes_base64(scale, theme) for theme in colors.THEMES}


if __name__ == "__main__":
    for name, text in FILES.items():
        text_file(text(), FOLDER / name)
