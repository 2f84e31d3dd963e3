"""Parts of a score by another way: autograd through transformers' own modules, everything kept that a split keeps.

LayerNorms divide by a deviation that is detached, contexts of earlier heads, embeddings and (closed) MLP outputs are
leaves, gates of opened MLPs are detached. Then the gradient of the score by a leaf, dotted with it, is its part, and
the gradient by all bias vectors, dotted with them, is the bias.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertlens import Trace
from bertlens.model.families import adapter_of

# how q, k are projected and MLPs made, by path from a layer: activation, outer projection
ACTIVATIONS = ("intermediate.intermediate_act_fn", "ffn.activation", "activation", "mlp.act_fn", "mlp.act")
WORDS = ("word_embeddings", "tok_embeddings", "wte")
POSITIONS, TYPES = ("position_embeddings", "wpe"), ("token_type_embeddings",)
LAYOUTS = ("xpath_embeddings", *(f"{side}_position_embeddings" for side in "xyhw"))  # the same for every token


def exact_rotation(model: Any, patch: pytest.MonkeyPatch) -> None:
    """ESM and ModernBERT rotate in float32, whatever the model's dtype: here in its own."""
    module = sys.modules[type(model).__module__]
    own = getattr(module, "apply_rotary_pos_emb", None)
    if own is None or "q" not in inspect.signature(own).parameters:  # older releases rotate in the model's dtype
        return

    def half(x: Tensor) -> Tensor:
        n = x.shape[-1] // 2
        return torch.cat([-x[..., n:], x[..., :n]], -1)

    def apply(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> Any:
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
        return q * cos + half(q) * sin, k * cos + half(k) * sin

    patch.setattr(module, "apply_rotary_pos_emb", apply)


class Graph:
    """One pass with a graph, as described above. Raises nothing: what a model lacks is simply not there."""

    def __init__(self, model: Any, trace: Trace, patch: pytest.MonkeyPatch, *, opened: bool = False):
        self.leaves: dict[tuple[str, int], Tensor] = {}  # (kind, layer or -1)
        self.queries: list[Tensor] = []
        self.keys: list[Tensor] = []
        self.layouts: list[Tensor] = []
        self.model, self.opened = model, opened
        self.biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
        adapter = adapter_of(model)
        assert adapter is not None
        handles: list[Any] = []
        runs: dict[nn.Module, int] = {}

        def leaf(kind: str, layer: int, value: Tensor) -> Tensor:
            self.leaves[kind, layer] = value.detach().clone().requires_grad_()
            return self.leaves[kind, layer]

        def number(module: nn.Module) -> int:
            runs[module] = runs.get(module, -1) + 1
            places = [i for i, layer in enumerate(layers) if any(child is module for child in layer.modules())]
            return places[runs[module]]

        def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
            self.queries.append(query)
            self.keys.append(key)
            scores = query @ key.transpose(2, 3) * kwargs["scaling"]
            weights = sum((x for x in (mask, kwargs.get("position_bias")) if x is not None), scores).softmax(-1)
            context = (weights @ value).transpose(1, 2).contiguous()
            return leaf("head", len(self.queries) - 1, context), weights

        def norm(self: nn.LayerNorm, u: Tensor) -> Tensor:
            centred = u - u.mean(-1, keepdim=True)
            eps = self.variance_epsilon if hasattr(self, "variance_epsilon") else self.eps  # DeBERTa's
            deviation = (u.var(-1, correction=0, keepdim=True) + eps).sqrt().detach()
            return centred / deviation * self.weight + (0 if self.bias is None else self.bias)

        layers = list(adapter.layers(model))
        family = sys.modules[type(model).__module__]
        if hasattr(family, "eager_attention_forward"):
            patch.setattr(family, "eager_attention_forward", attend)
        else:
            for layer in layers:
                handles += self._watch(layer, adapter, leaf)
            if hasattr(model.encoder, "embed_positions"):  # RoFormer's table of angles
                handles.append(model.encoder.embed_positions.register_forward_hook(self._angles))
        for kind in {type(module) for module in model.modules() if type(module).__name__.endswith("LayerNorm")}:
            patch.setattr(kind, "forward", norm)
        model.config._attn_implementation = "eager"
        for name, module in model.named_modules():
            for kind, names in {"word": WORDS, "position": POSITIONS, "type": TYPES}.items():
                if name.split(".")[-1] in names:

                    def embedded(module: Any, args: Any, out: Tensor, kind: str = kind) -> Tensor:
                        return leaf(kind, -1, out)

                    handles.append(module.register_forward_hook(embedded))
            if name.split(".")[-1] in LAYOUTS:

                def layout(module: Any, args: Any, out: Tensor) -> Tensor:
                    self.layouts.append(out.detach().clone().requires_grad_())
                    return self.layouts[-1]

                handles.append(module.register_forward_hook(layout))
        for layer in dict.fromkeys(layers):
            outer = adapter.mlp(layer)[-1]
            gated = len(adapter.mlp(layer)) == 3 or hasattr(getattr(layer, "mlp", None), "Wi")
            if not opened:

                def closed(module: Any, args: Any, out: Tensor) -> Tensor:
                    bias = 0 if module.bias is None else module.bias
                    return leaf("mlp", number(module), out - bias) + bias

                handles.append(outer.register_forward_hook(closed))
                continue
            for path in ACTIVATIONS:
                try:
                    act = layer.get_submodule(path)
                except AttributeError:
                    continue

                def open_(module: Any, args: Any, out: Tensor, gated: bool = gated) -> Tensor:
                    return out.detach() if gated else args[0] * (out / args[0]).detach()

                handles.append(act.register_forward_hook(open_))
                break
        if opened and hasattr(family, "gelu") and "esm" in type(model).__module__:
            patch.setattr(family, "gelu", lambda s: s * (nn.functional.gelu(s) / s).detach())
        ids = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.int64)}
        takes = inspect.signature(model.forward).parameters
        if trace.token_type_ids is not None and "token_type_ids" in takes:
            ids["token_type_ids"] = trace.token_type_ids[None]
        try:
            model(**ids)
        finally:
            for handle in handles:
                handle.remove()

    def _angles(self, module: Any, args: Any, out: Tensor) -> None:
        self.angles = out[None, None]

    def _watch(self, layer: Any, adapter: Any, leaf: Any) -> list[Any]:
        """Hooks on a layer whose module computes attention itself: its queries and keys, and what W_O takes in."""
        projections: dict[str, Tensor] = {}
        attention = layer.attention.attn if hasattr(layer.attention, "attn") else layer.attention.self
        heads = attention.num_attention_heads

        def by_head(x: Tensor) -> Tensor:
            return x.unflatten(-1, (heads, -1)).transpose(1, 2)

        def keep(name: str) -> Any:
            def hook(module: Any, args: Any, out: Tensor) -> None:
                projections.setdefault(name, out)  # vectors of distances may come through it later

            return hook

        def joint(module: Any, args: Any, out: Tensor) -> None:
            query, key, _ = out.unflatten(-1, (heads, 3, -1)).unbind(-2)
            projections["query"], projections["key"] = query.flatten(-2) + attention.q_bias, key.flatten(-2)

        def context(module: Any, args: Any) -> Any:
            query, key = by_head(projections.pop("query")), by_head(projections.pop("key"))
            if hasattr(self, "angles"):
                query, key = attention.apply_rotary_position_embeddings(self.angles, query, key)
            self.queries.append(query)
            self.keys.append(key)
            mixed = leaf("head", len(self.queries) - 1, args[0].unflatten(-1, (heads, -1)))
            return (mixed.flatten(-2), *args[1:])

        hooks = [adapter.output_projection(layer).register_forward_pre_hook(context)]
        if hasattr(attention, "in_proj"):
            return [*hooks, attention.in_proj.register_forward_hook(joint)]
        names = {name: f"{name}_projection" for name in ("query", "key")}
        return hooks + [getattr(adapter, path)(layer).register_forward_hook(keep(n)) for n, path in names.items()]

    def parts(self, layer: int, number: Tensor) -> dict[tuple[str, int, int], float]:
        """(kind, layer, head) -> value, layer and head -1 where there is none."""
        keys = [key for key in self.leaves if key[1] < layer]
        biases = [*self.biases, *self.layouts]
        targets = [self.leaves[key] for key in keys] + biases
        gradients = torch.autograd.grad(number, targets, allow_unused=True, retain_graph=True)
        found: dict[tuple[str, int, int], float] = {}
        for (kind, at), target, g in zip(keys, targets, gradients, strict=False):
            product = torch.zeros_like(target) if g is None else g * target.detach()
            if kind == "head":  # (1, S, H, d)
                found |= {("head", at, h): float(value) for h, value in enumerate(product.sum((0, 1, 3)))}
            else:
                found[kind, at, -1] = float(product.sum())
        of_biases = zip(biases, gradients[len(keys) :], strict=True)
        found["bias", -1, -1] = sum(float((b.detach() * g).sum()) for b, g in of_biases if g is not None)
        return found

    def contrast(self, layer: int, head: int, query: int, key: int, share: Tensor, scaling: float, side: str) -> Tensor:
        q, k = self.queries[layer][0, head], self.keys[layer][0, head]
        q, k = (q, k.detach()) if side == "query" else (q.detach(), k)
        return scaling * (q[query] @ (share @ k))
