"""Every text model class of the installed transformers: a right answer, or one ModelError where there is none.

What is right is said by a second model of the same class and weights, built to run eagerly, that bertlens never sees.
The table of the answers is docs/models.md; `python tests/unit/model/test_every_class.py` writes it.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import transformers as tf

from bertlens import Lens, ModelError, Trace

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from unit import tiny, zoo

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "docs" / "models.md"
TEXT, SHORT = "the cat sat on the mat", "it was very warm"
TOLERANCE = 1e-4  # of weights, and of hidden states beside their largest value
TOKENIZER = tiny.wordpiece()


class Answer(NamedTuple):
    """exact, weights, declined, other (which fails) or left out (not built here); and why."""

    kind: str
    why: str = ""


class Reference(NamedTuple):
    """What the eager model computes on the text; None where it computes no such thing."""

    attentions: list[torch.Tensor] | None  # (H, S, S) of each layer
    hidden: list[torch.Tensor] | None  # (S, D)
    why: str = ""  # where the model does not run

    @property
    def complete(self) -> bool:
        """Whether every layer shows attention weights of every token."""
        if not self.attentions or not self.hidden or len(self.attentions) != len(self.hidden) - 1:
            return False
        tokens = len(TOKENIZER(TEXT)["input_ids"])
        return all(x.ndim == 2 and len(x) == tokens for x in self.hidden) and all(
            w.shape[1:] == (tokens, tokens) and (w >= -1e-6).all() and (w.sum(-1) < 1.02).all() for w in self.attentions
        )


def reference(model: Any) -> Reference:
    inputs = dict(TOKENIZER(TEXT, return_tensors="pt"))
    taken = inspect.signature(model.forward).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        inputs = {name: value for name, value in inputs.items() if name in taken}
    if type(model).__name__.endswith("MultipleChoice"):
        inputs = {name: value[:, None] for name, value in inputs.items()}
    if "use_cache" in taken:
        inputs["use_cache"] = False
    try:
        with torch.no_grad():
            output = model(**inputs, output_attentions=True, output_hidden_states=True, return_dict=True)
    except Exception as error:  # noqa: BLE001
        return Reference(None, None, f"{type(error).__name__}: {error}")
    return Reference(*(_per_layer(output, name) for name in ("attentions", "hidden_states")))


def _per_layer(output: Any, name: str) -> list[torch.Tensor] | None:
    found = getattr(output, name, None)
    if not found or any(x is None for x in found):
        return None
    return [x[0].float() for x in found]


def answer(kind: type[tf.PreTrainedModel]) -> Answer:
    """What bertlens does with a small model of a class: one text alone, and two texts of other lengths in a batch."""
    try:
        if not zoo.fits(kind):
            return Answer("left out", "too large")
        torch.manual_seed(0)
        model = zoo.built(kind)
    except Exception as error:  # noqa: BLE001 - not for small numbers, or not for this machine
        return Answer("left out", f"{type(error).__name__}: {error}")
    try:
        lens = Lens(model, TOKENIZER)
        trace, short = lens.trace(TEXT), lens.trace(SHORT)
        batch = lens.trace_batch([TEXT, SHORT])
    except ModelError as error:
        if "attn_implementation" in str(error):  # the advice helps
            eager = zoo.built(kind, model)
            wrong = off(Lens(eager, TOKENIZER).trace(TEXT), reference(eager))
            return Answer("other", wrong) if wrong else Answer("declined", str(error))
        tried = re.search("does not run|returns", str(error))
        if tried and reference(zoo.built(kind, model)).complete:
            return Answer("other", f"declined, though its eager run shows all: {error}")
        return Answer("declined", str(error))
    except Exception as error:  # noqa: BLE001
        return Answer("other", f"{type(error).__name__}: {error}")
    wrong = off(trace, reference(zoo.built(kind, model)))
    if wrong and trace.has_neurons and not off(trace, reference(model)):
        return Answer("exact")  # as it is called, where its eager run is another, and a batch may be another too
    wrong = wrong or other(batch[0], trace) or other(batch[1], short)
    if wrong:
        return Answer("other", wrong)
    return Answer("exact") if trace.has_neurons else Answer("weights", trace.why_no_neurons)


def far(found: torch.Tensor, expected: torch.Tensor) -> bool:
    if found.shape != expected.shape:
        return True
    return not float((found - expected).abs().max()) <= TOLERANCE * max(1.0, float(expected.abs().max()))


def off(trace: Trace, expected: Reference) -> str:
    """Where a trace says something else than the eager run, in words; "" where it does not."""
    if expected.hidden is None:
        return f"a trace of what the model itself does not run ({expected.why})"
    if len(expected.hidden) != len(trace.hidden_states):
        return f"{len(trace.hidden_states)} hidden states, not {len(expected.hidden)}"
    for number, (found, right) in enumerate(zip(trace.hidden_states, expected.hidden, strict=True)):
        if far(found, right):
            return f"hidden state {number} is off"
    if expected.attentions is None:
        return "" if trace.has_neurons else "no attention to compare with"
    if len(expected.attentions) != trace.n_layers:
        return f"{trace.n_layers} layers, not {len(expected.attentions)}"
    for layer, right in enumerate(expected.attentions):
        if far(trace.attention(layer), right):
            return f"attention of layer {layer} is off"
    return ""


def other(batched: Trace, alone: Trace) -> str:
    """Where a trace out of a batch says something else than one of the text alone."""
    for layer in range(alone.n_layers):
        if far(batched.attention(layer), alone.attention(layer)):
            return f"attention of layer {layer} is other in a batch"
    for number, (found, right) in enumerate(zip(batched.hidden_states, alone.hidden_states, strict=True)):
        if far(found, right):
            return f"hidden state {number} is other in a batch"
    return ""


def answers() -> dict[type[tf.PreTrainedModel], Answer]:
    level = tf.logging.get_verbosity()
    tf.logging.set_verbosity(60)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {kind: answer(kind) for kind in zoo.classes()}
    finally:
        tf.logging.set_verbosity(level)


SECTIONS = {
    "exact": (
        "Exact",
        "Queries, keys, values, scores, attention weights and hidden states: everything that needs no adapter.",
    ),
    "weights": (
        "Weights only",
        "Attention weights and hidden states, of the model's own eager run; the view says why.",
    ),
    "declined": ("Declined", "One `ModelError`, which names the way out where there is one."),
}


def rendered(found: dict[type[tf.PreTrainedModel], Answer]) -> str:
    """docs/models.md."""
    counts = Counter(a.kind for a in found.values())
    lines = [
        "# Which models bertlens reads",
        "",
        f"Every text model class of transformers {tf.__version__} that can be built from a small config, with random",
        "weights, on one text alone and on two in a batch, compared with a second model of the same weights that runs",
        "eagerly (attention weights and hidden states, 1e-4). "
        "Written by `python tests/unit/model/test_every_class.py`;",
        "`make test-long` checks it.",
        "",
        "| answer | classes |",
        "| --- | --- |",
        *(f"| {title} | {counts[kind]} |" for kind, (title, _) in SECTIONS.items()),
        "",
        "Norms, geometry and spectra need to know where a family keeps its parts: an adapter, as",
        "`bertlens/model/families.py` has them and `bl.register_family` adds one.",
        "",
        by_hand(),
    ]
    for kind, (title, sentence) in SECTIONS.items():
        rows: dict[tuple[str, str], list[str]] = {}
        for model, given in found.items():
            if given.kind == kind:
                rows.setdefault((model.config_class.model_type, _short(given.why)), []).append(model.__name__)
        why = kind != "exact"
        lines += ["", f"## {title}", "", sentence, "", f"| family | classes |{' why |' if why else ''}"]
        lines += [f"| --- | --- |{' --- |' if why else ''}"]
        for (family, reason), names in sorted(rows.items()):
            lines.append(f"| {family} | {', '.join(names)} |{f' {reason} |' if why else ''}")
    return "\n".join(lines) + "\n"


def by_hand() -> str:
    """What the page says beside its tables of classes: it stands in the page alone, and each writing keeps it."""
    start, end = "<!-- by hand -->", "<!-- end -->"
    return start + TABLE.read_text().partition(start)[2].partition(end)[0] + end


def _short(why: str) -> str:
    """A reason without the name of the class that it is about, and without what bertlens reads else."""
    why = re.sub(r"^Only .* can be shown: |^\w+ (?=is|has|does|returns|was)", "", " ".join(why.split()))
    why = re.sub(r"\b[A-Z]\w*\.forward\(\)", "forward()", why)
    return re.sub(r"[.:] bertlens reads .*|\.$", "", why).replace("|", "\\|")


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_every_class_of_the_installed_transformers() -> None:
    found = answers()
    counts = Counter(a.kind for a in found.values())
    print(tf.__version__, dict(counts))
    assert [f"{kind.__name__}: {a.why}" for kind, a in found.items() if a.kind == "other"] == []
    assert counts["exact"] > 400 and counts["left out"] < len(found) / 5  # the loop itself has not lost its models
    if tf.__version__ == pinned():
        assert TABLE.read_text() == rendered(found), f"stale: python {Path(__file__).relative_to(ROOT)} writes it"


def pinned() -> str:
    return re.findall(r"^transformers==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[0]


def test_table_is_of_the_pinned_version() -> None:
    text = TABLE.read_text()
    assert f"transformers {pinned()} " in text
    assert re.search(r"\| bert \| BertForMaskedLM, .*BertModel", text)


# One of each way, in every run of the tests
EXPECTED = {
    "BertModel": "exact",
    "XmodModel": "exact",
    "BartForCausalLM": "exact",  # a decoder inside a wrapper
    "MBartForCausalLM": "exact",
    "BertForMultipleChoice": "exact",
    "RobertaForMultipleChoice": "exact",
    "LlavaOnevisionModel": "exact",  # its text config alone knows the padding token
    "SplinterModel": "exact",  # no sdpa declared, though it uses the interface
    "ClapTextModel": "weights",
    "AlignTextModel": "weights",
    "MptModel": "weights",
    "GptOssModel": "weights",  # sinks
    "CpmAntModel": "weights",  # padding cannot be told to it
    "NystromformerModel": "weights",  # a convolution over neighbours
    "ConvBertModel": "weights",
    "BigBirdModel": "weights",  # exchanges its modules in its first run
    "FalconModel": "weights",
    "Aimv2TextModel": "exact",  # as it is called: its eager run is another
    "SqueezeBertModel": "declined",  # what it returns is no weights
    "CanineModel": "declined",
    "BrosModel": "declined",
    "JambaModel": "declined",
    "Qwen3NextModel": "declined",
    "CLIPModel": "declined",
    "Tipsv2Model": "declined",
}
ADVICE = {"CLIPModel": r"model\.text_model", "Qwen3NextModel": "from_attentions", "BrosModel": "bbox.*bertlens reads"}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", EXPECTED)
def test_one_of_each_way(name: str) -> None:
    kind = getattr(tf, name, None)
    if kind is None:
        pytest.skip(f"transformers {tf.__version__} has no {name}")
    found = answer(kind)
    if found.kind == "left out" and tf.__version__ != pinned():
        pytest.skip(f"transformers {tf.__version__} builds no small {name}: {found.why}")
    assert found.kind == EXPECTED[name], found.why
    if name in ADVICE and tf.__version__ == pinned():  # CLIP's text part is no model of its own in the oldest
        assert re.search(ADVICE[name], found.why)


if __name__ == "__main__":
    found = answers()
    TABLE.write_text(rendered(found))
    print(*(f"{kind.__name__}: {a.why}" for kind, a in found.items() if a.kind == "other"), sep="\n")
    print(tf.__version__, dict(Counter(a.kind for a in found.values())))
