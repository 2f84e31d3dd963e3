"""A text through the `encode` or `predict` of an object of sentence-transformers, which a pass is compared with."""

from __future__ import annotations

import threading
from typing import Any

from torch import Tensor

from ..base.interrupts import interruptible
from ..model.borrowed import Model
from ..run import forward
from ..run.own_run import MOST, Numbers, Own, numbers
from ..text.encoding import Encoding
from .encoders import Encoder, PlainEncoder
from .late_interaction import LateEncoder


def own_of(model: Model, encoder: Encoder, encoding: Encoding) -> Own | None:
    """How the object has the numbers of a text, or a pair; None where it reads other tokens, and where there is none.

    Without a prompt and a bar. There is none of words that were split before, nor beyond MOST tokens.
    """
    text, pair = encoding.text, encoding.text_pair
    if isinstance(encoder, PlainEncoder) or text is None or len(encoding) > MOST or encoder.crosses == (pair is None):
        return None
    given = text if pair is None else (text, pair)
    with encoder.as_it_was():
        ids = encoder.module.preprocess([given], prompt="")["input_ids"]
    if ids.tolist() != [[*encoding.input_ids]]:
        return None

    def run() -> Numbers:
        outputs: list[Any] = []
        thread, true = threading.get_ident(), model.runner.forward

        def forwarded(*arguments: Any, **named: Any) -> Any:  # the object calls no module, and so no hook on it
            output = true(*arguments, **named | {"output_hidden_states": True})
            if threading.get_ident() == thread:
                outputs.append(output)
            return output

        with forward.borrowed(model, "") as loan, encoder.as_it_was(), interruptible():
            loan.set(model.runner, "forward", forwarded)
            answer = encoder.own_answer(given)
        return numbers(outputs[0]) | {"answer": answer}

    def of(output: Any) -> Numbers:
        answer = _answer(model, encoder, output)
        return numbers(output) | ({} if answer is None else {"answer": answer})

    return Own(run, of)


def _answer(model: Model, encoder: Encoder, output: Any) -> Tensor | None:
    """Of a pass' output a text's vector, the vectors of its tokens or a pair's scores; None where it has none."""
    if isinstance(encoder, LateEncoder):
        return encoder.token_vectors(output.last_hidden_state)[0]
    if encoder.crosses:
        return None if model.activation is None else model.activation(output.logits).flatten()
    return model.embedder.vector(model.states(output)[0])
