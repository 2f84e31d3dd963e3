"""What one forward pass leaves behind: queries, keys, values, masks, contexts and the layers' inputs and outputs.

`transformers` hands the final query, key and value of every attention call to the function registered under the model's
`attn_implementation`. Ours ("bertlens") keeps references for the calling thread's recorder and calls the sdpa
implementation. Nothing of size heads x tokens x tokens is kept. The model is borrowed: everything that the run changes
on it is put back, whatever ends the run.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from ..base.interrupts import interruptible, is_of_handler
from ..base.one_thread import one_thread_if_small
from ..errors import BertLensError, CaptureError, ModelError
from ..model import transformers_private as private
from ..model.borrowed import Model
from ..model.families import text_models, what_works
from ..model.loan import Loan
from ..model.modules import modules_by_name, watched_attributes
from ..text.given_maps import not_weights
from . import attention_function, attention_modules
from .answer_row import at_every_token
from .attention_function import FunctionCall, NoWeights, name_of
from .changes import Change
from .interventions import Run, attend, changed
from .record import Entry, Layer, Pass
from .recorder import PassRecorder
from .score_bias import DistanceBias, ScoreBias

IMPLEMENTATION = "bertlens"
# What a model may pass to its attention function beside q, k, v and mask without changing what they say: anything else
# (soft caps, sinks, block indices) makes weights that q, k, scaling and an additive mask cannot express.
_HARMLESS = {
    "cache",  # "past_key_values" before transformers 5.24
    "cache_position",
    "deterministic",
    "dropout",
    "input_ids",
    "logits_to_keep",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "past_key_values",
    "position_bias",  # added to the scores: kept
    "position_ids",
    "return_dict",
    "second_value",  # of a second stream: mixed by the same weights
    "sliding_window",  # in the mask
    "token_type_ids",
    "use_cache",
}


class NotExpressible(ModelError):
    """The family's attention is more than softmax(q k scaling + mask); says why."""


_active = threading.local()


def _attention(
    module: nn.Module, *args: Any, function: Callable[..., Any] | None = None, **kwargs: Any
) -> tuple[Tensor, Any]:
    """The attention function registered as "bertlens"; function: the user's, which computes in its place."""
    if function is None:
        return _plain(module, *args, **kwargs)
    call = attend(module, *args, function=function, **kwargs)
    recorder: PassRecorder | None = getattr(_active, "recorder", None)
    if recorder is not None:
        assert isinstance(call, FunctionCall)
        recorder.attention.append(_by_function(call))
    return call.context, call.second_context


def _plain(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    recorder: PassRecorder | None = getattr(_active, "recorder", None)
    if recorder is not None:
        _refuse_what_changes_scores(kwargs)
    call = attend(module, query, key, value, attention_mask, scaling, is_causal, **kwargs)
    if recorder is not None:
        # sdpa masks causally on its own where the module says so and no mask comes
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        recorder.attention.append(
            Layer(
                query=call.query,
                key=call.key,
                value=call.value,
                scaling=float(query.shape[-1] ** -0.5 if scaling is None else scaling),
                mask="causal" if causal and call.mask is None and query.shape[2] > 1 else call.mask,
                bias=_bias(kwargs.get("position_bias")),
                context=call.context.flatten(2),
                weights=call.weights,
                patterned=call.patterned,
                contexts=call.contexts,
            )
        )
    return call.context, call.second_context


def _by_function(call: FunctionCall) -> Layer:
    """Raises NoWeights where a user's function gives none."""
    weights = call.attention
    if weights is None:
        raise NoWeights(call.function)
    if problem := not_weights(weights, sink=True):
        raise NoWeights(call.function, problem)
    if call.weights:
        weights = weights.clone()
        for head, pattern in call.weights.items():  # of a run with changes, which is of one text
            weights[-1, head] = pattern.to(weights)
    return Layer(
        attention=weights,
        value=call.value,
        context=call.context.flatten(2),
        weights=call.weights,
        patterned=call.patterned,
        contexts=call.contexts,
        function=name_of(call.function),
    )


def _bias(added: Tensor | ScoreBias | None) -> Tensor | ScoreBias | None:
    """Of a tensor that is of distances alone (T5, LayoutLMv3, MPNet), what makes it: it is heads x tokens x tokens."""
    return DistanceBias.of(added) or added if isinstance(added, Tensor) else added


def _refuse_what_changes_scores(arguments: dict[str, Any]) -> None:
    extras = [name for name, value in arguments.items() if name not in _HARMLESS and value is not None]
    if extras:
        raise NotExpressible(f"its attention is more than a softmax of q·k (it takes {', '.join(extras)})")


attention_function.register(IMPLEMENTATION, _attention)


def run(model: Model, inputs: dict[str, Tensor], eagerly: str = "", changes: Sequence[Change] = ()) -> Pass:
    """One forward pass over a right-padded batch, everything recorded, the model left as it was.

    inputs: keyword arguments of the model's forward, `input_ids` (B, S) among them. eagerly: why the model's own eager
    attention is to be used, which gives weights only; "" for the attention interface. changes: of one text's run.
    Raises ModelError where the model cannot be run on these inputs, and where neither way yields attention.
    """
    with model.locked():
        if not eagerly:
            try:
                return through_interface(model, inputs, Run([changes]))
            except NotExpressible as error:
                eagerly = str(error)
        recorder, output = _eager(model, inputs, changes)
        return _collect_eager(model, recorder, output, inputs, eagerly)


def through_interface(model: Model, inputs: dict[str, Tensor], run: Run | None = None) -> Pass:
    """The pass with queries, keys and values. Raises NotExpressible where they do not say all."""
    recorder, output = _forward(model, inputs, IMPLEMENTATION, run)
    batch, tokens = inputs["input_ids"].shape
    for layer in recorder.attention:
        queries_or_weights = layer.attention if layer.query is None else layer.query
        assert queries_or_weights is not None and layer.value is not None
        (texts, _, queries, _), keys = queries_or_weights.shape, layer.value.shape[2]
        if texts != batch or queries != tokens or keys != tokens:
            raise CaptureError(
                f"the model's attention ran over {queries} queries and {keys} keys for {tokens} tokens: prompts or "
                "prefixes added by a wrapper cannot be shown, give Lens the model without them"
            )
    hidden = _hidden_states(model, output, inputs)
    if len(recorder.attention) != _n_layers(model, hidden):
        raise NotExpressible("it does not hand its queries and keys to the attention interface of transformers")
    recorder.fill(recorder.attention, model.adapter)
    entry = recorder.stream.began(model.base, model.adapter) if model.adapter else Entry()
    function = next((layer.function for layer in recorder.attention if layer.function), "")
    why = f"Scores and what rests on them cannot be told: {function} need not be a softmax of q·k." if function else ""
    return Pass(recorder.attention, hidden, output, why, entry, _of_tokens(model, output, inputs))


def eager_output(model: Model, inputs: dict[str, Tensor]) -> Any:
    """What the model itself returns when it runs eagerly, attention weights included where it gives them."""
    return _eager(model, inputs)[1]


def _eager(model: Model, inputs: dict[str, Tensor], changes: Sequence[Change] = ()) -> tuple[PassRecorder, Any]:
    modules = set(model.runner.modules())
    recorder, output = _forward(model, inputs, "eager", Run([changes]))
    if set(model.runner.modules()) != modules:  # it exchanged its own modules, and nothing watched the new ones
        recorder, output = _forward(model, inputs, "eager", Run([changes]))
    return recorder, output


def _hidden_states(model: Model, output: Any, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
    states = getattr(output, "hidden_states", None) or ()
    if not states or any(state is None or state.shape[:2] != inputs["input_ids"].shape for state in states):
        raise ModelError(
            f"{type(model.runner).__name__} returns no hidden states of its own tokens. {what_works(model.base)}"
        )
    return tuple(states)


def _of_tokens(model: Model, output: Any, inputs: dict[str, Tensor]) -> frozenset[str]:
    """Names of the (B, S) entries of an output that have a number for each token.

    Those that are S wide; where a text has as many tokens as vectors have entries, or as there are classes, those that
    are known.
    """
    tokens, config = inputs["input_ids"].shape[1], model.base.config
    wide = {name for name, x in output.items() if isinstance(x, Tensor) and x.ndim == 2 and x.shape[1] == tokens}
    names = {"start_logits", "end_logits"}
    if type(model.runner).__name__.endswith("ForPreTraining"):
        names.add("logits")  # of a discriminator
    widths = {getattr(config, name, 0) for name in ("hidden_size", "d_model", "num_labels", "projection_dim")} | {2}
    return frozenset(wide & names if tokens in widths else wide)


def _n_layers(model: Model, hidden: tuple[Tensor, ...]) -> int:
    """How many layers ran: shared ones count each time."""
    return len(model.adapter.layers(model.base)) if model.adapter else len(hidden) - 1


def _collect_eager(model: Model, recorder: PassRecorder, output: Any, inputs: dict[str, Tensor], because: str) -> Pass:
    tokens, name = inputs["input_ids"].shape[1], type(model.base).__name__
    weights = [layer for layer in getattr(output, "attentions", None) or () if layer is not None]
    if not weights or any(layer.ndim != 4 or layer.shape[2:] != (tokens, tokens) for layer in weights):
        if private.chose_attention(model.base) and private.attention_of(model.base.config) != "eager":
            raise ModelError(f'{name} was built without attention weights: load it with attn_implementation="eager"')
        raise ModelError(f"{name} returns no attention over its own tokens. {what_works(model.base)}")
    hidden = _hidden_states(model, output, inputs)
    if len(weights) != (n_layers := _n_layers(model, hidden)):
        count = f"has {n_layers} layers and returns attention maps of {len(weights)}"
        if model.adapter is None and len(weights) == len(hidden):  # layers that attend twice, or no embeddings' state
            count = f"returns {len(weights)} attention maps and as many hidden states, so its layers cannot be counted"
        raise ModelError(f"{name} {count}: give those maps to Trace.from_attentions, which numbers them alone")
    for number, layer in enumerate(weights):
        if problem := not_weights(layer, sink=True):
            raise ModelError(
                f"{name} returns no attention weights: {problem} in layer {number}. {what_works(model.base)}"
            )
    layers = [Layer(attention=layer) for layer in weights]
    recorder.fill(layers, model.adapter)
    why = f"Only {name}'s attention weights can be shown: {because}."
    return Pass(layers, hidden, output, why, of_tokens=_of_tokens(model, output, inputs))


def output_of(model: Model, inputs: dict[str, Tensor], run: Run) -> Any:
    """The model's output for a batch with changes, nothing recorded. Raises ModelError like `run`."""
    with model.locked(), borrowed(model, IMPLEMENTATION) as loan, torch.no_grad(), changed(model, run):
        loan.set(_active, "recorder", None)
        output = _called(model, inputs, IMPLEMENTATION)
        return output if run.row is None else at_every_token(output, inputs["input_ids"].shape[1])


def own_output(model: Model, inputs: dict[str, Tensor]) -> Any:
    """The model's output as it is called by its user, but in eval mode. Raises ModelError like `run`."""
    with model.locked(), borrowed(model, ""), torch.no_grad():
        return _called(model, inputs, "")


def _forward(
    model: Model, inputs: dict[str, Tensor], implementation: str, run: Run | None = None
) -> tuple[PassRecorder, Any]:
    recorder = PassRecorder()
    # not inference_mode: tables that a module caches in it, as rotary ones, could not be used in training afterwards
    with borrowed(model, implementation) as loan, torch.no_grad(), changed(model, run or Run()):
        if model.adapter:
            recorder.hook(model.base, model.adapter, lambda: getattr(_active, "recorder", None) is recorder, loan)
        loan.set(_active, "recorder", recorder)
        return recorder, _called(model, inputs, implementation)


def _called(model: Model, inputs: dict[str, Tensor], implementation: str) -> Any:
    runner, base = model.runner, model.base
    arguments = accepted(runner, inputs)
    if any(type(module).__name__.endswith("ForMultipleChoice") for module in modules_by_name(runner).values()):
        arguments = {name: value[:, None] for name, value in arguments.items()}  # a text is a question's one choice
    # a cache would keep every key and value a second time, XLNet's memory every state
    caches = {"use_cache", "use_mems"} & inspect.signature(base.forward).parameters.keys()
    arguments |= accepted(runner, dict.fromkeys(caches, False))
    private.announce(runner)
    size = inputs["input_ids"].numel() * getattr(getattr(base, "config", None), "hidden_size", 768)
    with _said_in_words(model, inputs), one_thread_if_small(size), interruptible():
        return runner(
            **arguments, output_hidden_states=True, output_attentions=implementation == "eager", return_dict=True
        )


@contextmanager
def _said_in_words(model: Model, inputs: dict[str, Tensor]) -> Iterator[None]:
    """Around a forward pass: what the model raises is a ModelError that says which part of it can be run instead."""
    try:
        yield
    except (BertLensError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if is_of_handler(error):
            raise  # the user's own timeout
        reason = [*str(error).strip().splitlines(), ""][0][:200]
        names = (name for name, module in text_models(model.module) if _runs(module, inputs))
        advice = f"give Lens {name}" if (name := next(names, "")) else what_works(model.base)
        raise ModelError(
            f"{type(model.runner).__name__} does not run on a text alone ({type(error).__name__}: {reason}): {advice}"
        ) from error


def _runs(part: nn.Module, inputs: dict[str, Tensor]) -> bool:
    try:
        part(**accepted(part, inputs))
    except Exception:  # noqa: BLE001 - whatever it is, this part is no way out
        return False
    return True


def accepted(runner: nn.Module, arguments: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(runner.forward).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return dict(arguments)
    return {name: value for name, value in arguments.items() if name in parameters}


@contextmanager
def borrowed(model: Model, implementation: str) -> Iterator[Loan]:
    """The model in eval mode under an attention implementation, "" for its own; afterwards exactly as it was."""
    runner = model.runner
    modules = list(modules_by_name(runner).values())
    compiled = any(hasattr(m, "_orig_mod") or m.__dict__.get("_compiled_call_impl") for m in modules)
    # compiled code would run past hooks and recorder, and flex attention of its own takes a minute: run it eagerly
    eagerly = torch.compiler.set_stance("force_eager") if compiled or not implementation else nullcontext()
    with Loan() as loan, private.without_capturing_hooks(runner), watched_attributes(modules), eagerly:
        for config in private.configs(runner) if implementation else ():
            loan.set(config, private.IMPLEMENTATION, attention_function.implementation_of(implementation, config))
        if implementation not in ("", "eager"):
            attention_modules.lend(runner, implementation, loan)
        for module in modules:
            if module.training:
                loan.set(module, "training", False)
        yield loan
