"""Attention blocks written out vector by vector in float64, from the weights: the reference for norms and flow.

Nothing here comes from bertlens but what a trace captured (tests of its own compare that with eager runs).
"""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

BERT = {
    "layers": "encoder.layer",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
}
PARTS: dict[str, dict[str, str]] = {
    "bert": BERT,
    "roberta": BERT,
    "xlm-roberta": BERT,
    "camembert": BERT,
    "electra": BERT,
    "mobilebert": BERT,
    "distilbert": {
        "layers": "transformer.layer",
        "value": "attention.v_lin",
        "out": "attention.out_lin",
        "norm": "sa_layer_norm",
    },
    "albert": {"value": "attention.value", "out": "attention.dense", "norm": "attention.LayerNorm"},
    "nomic_bert": {
        "layers": "layers",
        "value": "self_attn.v_proj",
        "out": "self_attn.o_proj",
        "norm": "post_attention_layernorm",
    },
    # pre-LN: `before` normalises what the values are made of, `norm` is the MLP's
    "esm": BERT | {"before": "attention.LayerNorm", "norm": "LayerNorm"},
    "modernbert": {
        "layers": "layers",
        "value": "attn.Wqkv",
        "out": "attn.Wo",
        "before": "attn_norm",
        "norm": "mlp_norm",
    },
    **dict.fromkeys(("roformer", "rembert", "luke", "lilt", "visual_bert", "splinter", "markuplm", "layoutlmv3"), BERT),
    "deberta": BERT | {"value": "attention.self.in_proj"},
    "deberta-v2": BERT | {"value": "attention.self.value_proj"},
    "mpnet": BERT | {"value": "attention.attn.v", "out": "attention.attn.o", "norm": "attention.LayerNorm"},
    "megatron-bert": BERT | {"before": "attention.ln", "norm": "ln"},
    "gpt2": {"layers": "h", "value": "attn.c_attn", "out": "attn.c_proj", "before": "ln_1", "norm": "ln_2"},
}
ADAPTED = [  # the names in tiny.FAMILIES
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "distilbert",
    "electra",
    "albert",
    "albert, two groups of two",
    "mobilebert",
    "nomic_bert",
    "esm",
    "esm, absolute positions",
    "modernbert",
    "gpt2",
]


class NaiveBlock:
    """One layer's attention block from α (H, S, S) and the layer's input x (S, D), both given."""

    def __init__(self, model: Any, layer: int, alpha: Tensor, x: Tensor):
        family = model.config.model_type
        part = PARTS[family]
        if family == "albert":
            per_group = model.config.num_hidden_layers // model.config.num_hidden_groups
            module = model.encoder.albert_layer_groups[layer // per_group].albert_layers[0]
        else:
            module = attrgetter(part["layers"])(model)[layer]
        self.module = module = copy.deepcopy(module).double()
        self.alpha, self.x = alpha.double(), x.double()
        self.pre_ln = "before" in part
        heads = len(alpha)
        with torch.no_grad():
            source = attrgetter(part["before"])(module)(self.x) if self.pre_ln else self.x
            self.residual = module.bottleneck.input(self.x) if family == "mobilebert" else self.x
            values = attrgetter(part["value"])(module)(source)
        if family in ("modernbert", "gpt2"):
            values = values[:, values.shape[1] // 3 * 2 :]
        if family == "deberta":  # head by head: its queries, its keys, its values
            values = values.unflatten(-1, (heads, 3, -1))[:, :, 2].flatten(1) + module.attention.self.v_bias.detach()
        width = values.shape[1] // heads
        out = attrgetter(part["out"])(module)
        weight = out.weight.detach().T if family == "gpt2" else out.weight.detach()
        self.b_O = 0 if out.bias is None else out.bias.detach()
        size = len(self.x)
        self.f = torch.zeros(heads, size, len(weight), dtype=torch.float64)
        self.c = torch.zeros(size, size, len(weight), dtype=torch.float64)
        for h in range(heads):
            columns = slice(h * width, (h + 1) * width)
            for j in range(size):
                self.f[h, j] = weight[:, columns] @ values[j, columns]
                self.c[:, j] += torch.outer(self.alpha[h, :, j], self.f[h, j])
        self.norm = attrgetter(part["norm"])(module)
        self.u = self.c.sum(1) + self.b_O + self.residual
        if type(self.norm).__name__ == "NoNorm":
            self.s = torch.ones(size, dtype=torch.float64)
        else:
            eps = self.norm.variance_epsilon if family == "deberta" else self.norm.eps
            self.s = torch.stack([(((v - v.mean()) ** 2).sum() / len(v) + eps).sqrt() for v in self.u])
        with torch.no_grad():
            self.output = self.u if self.pre_ln else self.norm(self.u)  # the block's own output

    def project(self, vectors: Tensor) -> Tensor:
        """P v."""
        centred = vectors if type(self.norm).__name__ == "NoNorm" else vectors - vectors.mean(-1, keepdim=True)
        return self.norm.weight.detach() * centred

    def parts(self, i: int, kind: str) -> Tensor:
        """(S, D) the vectors that the tokens send to token i."""
        vectors = self.c[i].clone()
        if kind != "attn-n":
            vectors[i] += self.residual[i]
        return self.project(vectors) / self.s[i] if kind == "attnresln-n" else vectors

    def pairs(self, kind: str) -> Tensor:
        return torch.stack([self.parts(i, kind).norm(dim=-1) for i in range(len(self.x))])

    def mixing(self, method: str) -> Tensor:
        ratios = []
        for i in range(len(self.x)):
            others = [j for j in range(len(self.x)) if j != i]
            if method in ("attn-w", "attnres-w"):
                ratio = self.alpha[:, i, others].mean(0).sum()
                ratios.append(ratio / 2 if method == "attnres-w" else ratio)
                continue
            parts = self.parts(i, method)
            mixed, preserved = parts[others].sum(0).norm(), parts[i].norm()
            ratios.append(mixed / (mixed + preserved))
        return torch.stack(ratios)
