"""BertViz 1.4.1's three views as stand-alone pages, on random weights of BERT-base's shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from benchmarks.models import base_model, inputs, text, tokenizer

LAYERS, HEADS = 12, 12


def write(view: str, tokens: int, path: Path) -> None:
    """Write BertViz's "head", "model" or "neuron" view of a text of so many tokens."""
    if view == "neuron":
        page = _neuron_view(tokens)
    else:
        from bertviz import head_view, model_view

        given = inputs(tokens)
        names = tokenizer().convert_ids_to_tokens(given["input_ids"][0])
        page = {"head": head_view, "model": model_view}[view](_attentions(given), names, html_action="return").data
    path.write_text(f'<!doctype html><meta charset="utf-8"><title>{view}</title>{page}', encoding="utf-8")


def _attentions(given: Any) -> Any:
    model = base_model()
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        attentions = model(**given, output_attentions=True).attentions
    model.set_attn_implementation("sdpa")
    return attentions


def _neuron_view(tokens: int) -> str:
    """The neuron view runs BertViz's own copy of BERT, here with random weights too."""
    from bertviz.neuron_view import show
    from bertviz.transformers_neuron_view import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig(30522, output_attentions=True)).eval()
    with torch.inference_mode():
        return str(show(model, "bert", tokenizer(), text(tokens), html_action="return").data)


def ready(view: str, tokens: int) -> str:
    """JavaScript: whether all its lines are there."""
    lines = {"head": HEADS * tokens**2, "model": LAYERS * HEADS * tokens**2, "neuron": 1}[view]
    return f"document.getElementsByTagName('line').length >= {lines}"


def changes(view: str, times: int) -> list[tuple[str, str]]:
    """JavaScript: going to another head, `times` times; (act, changed). All of it happens inside the event."""
    if view == "model":  # a thumbnail is clicked on its transparent rectangle
        region = "[...document.querySelectorAll('svg rect')].filter(r => r.style.opacity === '0')"
        act = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        return [(f"{region}[{n}].{act}", "document.querySelector('.detail') !== null") for n in range(1, times + 1)]
    select = "#layer" if view == "head" else "#att_head"
    act = "const s = document.querySelector('{s}'); s.value = '{n}'; s.dispatchEvent(new Event('change'))"
    return [(act.format(s=select, n=n), "true") for n in range(1, times + 1)]
