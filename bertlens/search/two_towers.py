"""Two encoders of one space, one of questions and one of passages (DPR, MedCPT, the routes of a Router)."""

from __future__ import annotations

from ..errors import InputError, check_lens
from ..lens import Lens
from ..sentences.encoders import NO_VECTORS
from ..sentences.late_interaction import LateEncoder
from ..sentences.sparse_encoder import SparseTextEncoder

KINDS = (LateEncoder, SparseTextEncoder)  # whose vectors are compared in another way than single ones


def check_towers(query_lens: Lens, lens: Lens) -> None:
    """query_lens: of questions; lens: of passages. Raises InputError where their vectors cannot be compared, ModelError
    for a model that makes none. Whether they were trained together nothing says."""
    check_lens(query_lens)
    if query_lens.sentences.crosses:
        raise InputError(f"query_lens encodes questions: {NO_VECTORS}")
    kinds = [next((kind for kind in KINDS if isinstance(each.sentences, kind)), None) for each in (query_lens, lens)]
    if kinds[0] is not kinds[1]:
        raise InputError(
            f"query_lens ({query_lens.model_name}) makes vectors of another kind than the model of passages: give two "
            "encoders that were trained together"
        )
    widths = [
        int(each.sentences.encode(["a"], task, None, 1, False)[0].shape[-1])
        for each, task in ((query_lens, "query"), (lens, "document"))
    ]
    if widths[0] != widths[1]:
        raise InputError(
            f"query_lens makes vectors of {widths[0]:,} numbers, the model of passages of {widths[1]:,}: they are of "
            "no one space, give two encoders that were trained together"
        )
    functions = [each.sentences.function for each in (query_lens, lens)]
    if functions[0] != functions[1]:
        raise InputError(
            f"query_lens compares by {functions[0]}, the model of passages by {functions[1]}: set similarity_fn_name "
            "of both to the one that they were trained with"
        )


def check_one_model(query_lens: Lens | None, lens: Lens, what: str) -> None:
    """Raises InputError, which names what is asked, where what ranks reads questions by another model than passages."""
    if query_lens is not None and not lens.sentences.crosses:
        raise InputError(
            f"questions are read by another model than passages (query_lens=), and {what} is of the runs of one; "
            "ranking, metrics, failures, slices, hubs, long_passages and hard_negatives are of both"
        )
