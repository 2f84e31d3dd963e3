"""Changes of a run in families that compute attention themselves, against their eager run changed by hand.

By hand means: in the softmax that the module calls (scores before, weights after), in what its projections give, and in
the context that it hands on. Nothing of that is bertlens.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from bertlens import Lens, Trace, whatif
from bertlens.run import forward
from bertlens.run.backward import context_gradients
from bertlens.run.masks import mask_slopes
from unit import tiny, tiny_attention

TEXT = "the cat sat on the mat, it was very warm"
HEADS = 4
DRAWS = 15  # of each family: 210 in all
Before = Callable[[int, Tensor], Tensor]  # (layer, (H, S, S)) -> the same, changed


class Hand:
    """What is done to an eager run: to scores, weights and contexts (H, S, d) of a layer, and to neurons."""

    def __init__(self) -> None:
        self.scores: list[Before] = []
        self.weights: list[Before] = []
        self.contexts: list[Before] = []
        self.patterns: list[Before] = []
        self.neurons: list[tuple[int, int, int]] = []  # layer, head, n
        self.mlps: list[tuple[int, int | None]] = []


def cell(index: int | None) -> Any:
    return slice(None) if index is None else index


KINDS = ("off", "scale", "mean", "pattern", "cut", "zero", "hide", "dim", "neuron", "mlp")


def drawn(kind: str, draw: random.Random, trace: Trace, hand: Hand) -> Any:
    """One change, and the same by hand."""
    n, layer, head = trace.n_tokens, draw.randrange(trace.n_layers), draw.randrange(HEADS)
    token, key, factor = draw.randrange(n), draw.randrange(n), draw.choice([0.0, 0.3, 2.5])
    some = draw.choice([head, None])

    def of_layer(change: Callable[[Tensor], Any]) -> Before:
        def changed(number: int, x: Tensor) -> Tensor:
            if number == layer:
                x = x.clone()
                change(x)
            return x

        return changed

    def multiplied(by: float) -> Before:
        return of_layer(lambda x: x[cell(some)].mul_(by))

    if kind == "off":
        hand.contexts.append(multiplied(0))
        return whatif.off(layer, some)
    if kind == "scale":
        hand.contexts.append(multiplied(factor))
        return whatif.scale(layer, some, factor)
    if kind == "mean":
        hand.contexts.append(of_layer(lambda x: x[head].copy_(x[head].mean(0).expand_as(x[head]))))
        return whatif.mean(layer, head)
    if kind == "pattern":
        alpha = torch.rand(n, n, generator=torch.Generator().manual_seed(key)).softmax(-1)
        even = draw.random() < 0.5
        hand.patterns.append(of_layer(lambda x: x[head].copy_(torch.full((n, n), 1 / n) if even else alpha)))
        return whatif.pattern(layer, head, "uniform" if even else alpha)
    if kind == "cut":
        hand.scores.append(of_layer(lambda x: x[cell(some), token, key].fill_(-torch.inf)))
        return whatif.cut(layer, some, token, key)
    if kind == "zero":
        hand.weights.append(of_layer(lambda x: x[cell(some), :, key].fill_(0)))
        return whatif.cut(layer, some, None, key, renormalize=False)
    if kind in ("hide", "dim"):
        added = math.log(factor) if kind == "dim" and factor else -math.inf
        hand.scores.append(lambda _, x: x.index_add(-1, torch.tensor([key]), torch.full_like(x[..., :1], added)))
        return whatif.hide(key) if kind == "hide" else whatif.dim(key, factor)
    if kind == "neuron":
        hand.neurons.append((layer, head, neuron := draw.randrange(trace.head_dim or 0)))
        return whatif.neuron(layer, head, neuron)
    hand.mlps.append((layer, neuron := draw.choice([None, 7])))
    return whatif.mlp(layer, neuron)


def attention_of(layer: Any) -> Any:
    return getattr(layer.attention, "self", None) or layer.attention.attn


@contextmanager
def by_hand(trace: Trace, hand: Hand) -> Iterator[list[Tensor]]:
    """The module's own eager code, changed. Gives the weights (H, S, S) of each layer as they come."""
    base, weights = trace.model.base, []
    softmax = torch.nn.functional.softmax
    streams = 2 if base.config.model_type == "lilt" else 1  # the layout's softmax is first

    def changed_softmax(x: Tensor, dim: int = -1, **settings: Any) -> Tensor:
        number = changed_softmax.calls // streams  # type: ignore[attr-defined]
        changed_softmax.calls += 1  # type: ignore[attr-defined]
        shape = x.shape
        x, factors = x.reshape(HEADS, *shape[-2:]), torch.zeros(HEADS, *shape[-2:])
        for change in hand.scores:
            x, factors = change(number, x), change(number, factors)
        x, given = softmax(x, dim, **settings), torch.full_like(x, torch.nan)
        for change in hand.patterns:  # which others share what is hidden of them
            given = change(number, given) * factors.exp()
            x = x.where(given.isnan(), given / given.sum(-1, keepdim=True))
        for change in hand.weights:
            x = change(number, x)
        if changed_softmax.calls % streams == 0:  # type: ignore[attr-defined]
            weights.append(x)
        return x.reshape(shape)

    changed_softmax.calls = 0  # type: ignore[attr-defined]
    with ExitStack() as stack:
        torch.nn.functional.softmax = changed_softmax  # type: ignore[assignment]
        stack.callback(setattr, torch.nn.functional, "softmax", softmax)
        for number, layer in enumerate(base.encoder.layer):
            hook_contexts(layer, number, hand, stack)
            for at, head, neuron in hand.neurons:
                if at == number:
                    hook_neuron(attention_of(layer), head, neuron, stack)
            for at, unit in hand.mlps:
                if at == number:
                    dense = layer.output.dense
                    hook = dense.register_forward_hook(lambda *a: a[-1] * 0)
                    if unit is not None:
                        hook.remove()
                        hook = dense.register_forward_pre_hook(lambda m, a, u=unit: (without(a[0], u),))
                    stack.callback(hook.remove)
        yield weights


def without(x: Tensor, *columns: int) -> Tensor:
    x = x.clone()
    x[..., list(columns)] = 0
    return x


def hook_contexts(layer: Any, number: int, hand: Hand, stack: ExitStack) -> None:
    """The context of the text's stream, in front of W_O."""

    def changed(x: Tensor) -> Tensor:
        heads = x[0].unflatten(-1, (HEADS, -1)).transpose(0, 1)
        for change in hand.contexts:
            heads = change(number, heads)
        return heads.transpose(0, 1).flatten(1)[None]

    if hasattr(layer.attention, "attn"):  # MPNet's attention has W_O in it
        hook = layer.attention.attn.o.register_forward_pre_hook(lambda module, args: (changed(args[0]),))
    else:
        hook = layer.attention.self.register_forward_hook(lambda m, a, output: (changed(output[0]), *output[1:]))
    stack.callback(hook.remove)


def hook_neuron(module: Any, head: int, neuron: int, stack: ExitStack) -> None:
    """0 in queries and keys of one head, as they are multiplied."""
    if hasattr(module, "apply_rotary_position_embeddings"):
        turn = module.apply_rotary_position_embeddings

        def turned(*args: Any) -> Any:
            q, k, *v = turn(*args)
            q[:, head, :, neuron] = 0
            k[:, head, :, neuron] = 0
            return (q, k, *v)

        module.apply_rotary_position_embeddings = turned
        stack.callback(delattr, module, "apply_rotary_position_embeddings")
        return
    size = module.attention_head_size

    def first_call(columns: Tensor, to: Tensor | float = 0) -> Callable[..., Any]:
        """Of a text's states; where keys are shared, distances are projected afterwards."""

        def hook(projection: Any, args: Any, output: Tensor) -> Tensor | None:
            if hook.over:  # type: ignore[attr-defined]
                return None
            hook.over = True  # type: ignore[attr-defined]
            output = output.clone()
            output[..., columns] = to
            return output

        hook.over = False  # type: ignore[attr-defined]
        return hook

    if hasattr(module, "in_proj"):  # of each head query, key and value, the query's bias apart
        at = torch.tensor([head * 3 * size + neuron, head * 3 * size + size + neuron])
        to = torch.stack([-module.q_bias[head * size + neuron], torch.zeros(())]).detach()
        stack.callback(module.in_proj.register_forward_hook(first_call(at, to)).remove)
        return
    for names in (("query", "q", "query_proj"), ("key", "k", "key_proj")):
        [projection] = [getattr(module, name) for name in names if hasattr(module, name)]
        stack.callback(projection.register_forward_hook(first_call(torch.tensor([head * size + neuron]))).remove)


QUICK = ("mpnet", "deberta-v2", "deberta", "roformer", "lilt")  # each reads in a way of its own


@torch.no_grad()
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in tiny_attention.FAMILIES]
)
def test_changed_runs_equal_the_eager_run_changed_by_hand(name: str) -> None:
    lens = tiny_attention.lens_of(name, torch.float32)
    trace, draw = lens.trace(TEXT), random.Random(name)
    inputs = forward.accepted(lens.model, trace.inputs())
    for _ in range(DRAWS):
        hand = Hand()
        kinds = draw.sample(KINDS, draw.choice([1, 1, 2]))
        changes = [drawn(kind, draw, trace, hand) for kind in kinds]
        run = trace.rerun(*changes)
        lens.model.config._attn_implementation = "eager"
        with by_hand(trace, hand) as weights:
            output = lens.model(**inputs, output_hidden_states=True)
        assert len(weights) == trace.n_layers
        for layer, expected in enumerate(weights):
            torch.testing.assert_close(run.attention(layer), expected, atol=1e-5, rtol=1e-5, msg=str(changes))
        for state, expected in zip(run.hidden_states, output.hidden_states, strict=True):
            largest = float(expected.abs().max().clamp_min(1))
            torch.testing.assert_close(state, expected[0], atol=1e-5 * largest, rtol=0, msg=str(changes))


@pytest.mark.parametrize("name", ["mpnet", "deberta-v2, a convolution", "lilt"])
def test_a_sweep_is_its_runs(name: str) -> None:
    """Runs that begin in the middle: behind DeBERTa's convolution; all of LiLT, whose layers hand on two states."""
    model, tokenizer = tiny_attention.FAMILIES[name.partition(",")[0]]
    if "convolution" in name:
        model = lambda: tiny_attention.deberta_v2(conv_kernel_size=3)  # noqa: E731
    lens = Lens(tiny.shaken(model()), tokenizer())
    trace = lens.trace("the cat sat on the mat")

    def number(output: Any) -> Tensor:
        return output.last_hidden_state[0, 1, 2]

    swept = whatif.sweep(trace, number, progress=False)
    for layer in range(trace.n_layers):
        for head in range(HEADS):
            run = number(trace.rerun(whatif.off(layer, head)).output) - number(trace.output)
            assert float(swept[layer, head]) == pytest.approx(float(run), abs=1e-5)


@pytest.mark.parametrize("name", ["mpnet", "deberta-v2", "deberta", "lilt"])
def test_gradients_are_those_of_the_eager_run(name: str) -> None:
    """Of every layer's context, through queries, keys, and a bias that depends on them."""
    lens = tiny_attention.lens_of(name)
    trace = lens.trace(TEXT)

    def loss(output: Any) -> Tensor:
        return output.last_hidden_state[0, :, :5].square().sum()

    _, gradients = context_gradients(lens.borrowed, trace.inputs(), trace.n_layers, loss)
    contexts: list[Tensor] = []

    def kept_input(module: Any, args: Any) -> None:
        contexts.append(args[0])

    for layer in lens.model.encoder.layer:
        attention = layer.attention
        dense = attention.attn.o if hasattr(attention, "attn") else attention.output.dense
        dense.register_forward_pre_hook(kept_input)
    lens.model.config._attn_implementation = "eager"
    value = loss(lens.model(**forward.accepted(lens.model, trace.inputs())))
    bound = 1e-5 if name == "deberta" else 1e-9  # whose LayerNorm rounds to float32
    for ours, expected in zip(gradients, torch.autograd.grad(value, contexts), strict=True):
        torch.testing.assert_close(ours[0].flatten(1), expected[0], atol=bound, rtol=bound)
    eager_contexts = contexts[: trace.n_layers]
    slopes = mask_slopes(lens.borrowed, trace.inputs(), trace.n_layers, lambda output: loss(output)[None])[1]
    for layer, (gradient, context) in enumerate(zip(gradients, eager_contexts, strict=True)):
        by_head = (gradient[0].flatten(1) * context[0]).unflatten(1, (HEADS, -1)).sum((0, 2))
        torch.testing.assert_close(slopes[0, layer], by_head.detach(), atol=bound, rtol=bound)
