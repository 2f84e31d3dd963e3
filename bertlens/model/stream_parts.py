"""What a split of the residual stream needs of a family beside its layers: embeddings, activation, rotation, last norm.

`families.Adapter.stream` holds one. Every getter is None where the family has no such part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from torch import Tensor
from torch.nn.functional import gelu

Find = Callable[[Any], Any]


def finder(path: str) -> Find:
    """A getter by dotted path that gives None where the model was built without that part."""
    get = attrgetter(path)

    def find(module: Any) -> Any:
        try:
            return get(module)
        except AttributeError:
            return None

    return find


def nothing(module: Any) -> None:
    """The getter of a part that a family does not have."""


def _as_given(angles: Any) -> tuple[Tensor, Tensor]:
    cos, sin = angles
    return cos, sin


def sinusoids(table: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines (1, S, d) of RoFormer's table (S, d): d/2 sines, then d/2 cosines, each of two neighbours."""
    sin, cos = (half.repeat_interleave(2, -1)[None] for half in table.chunk(2, -1))
    return cos, sin


@dataclass(frozen=True)
class StreamParts:
    """Getters: `activation`, `query_factor` and `rotation_key` take a layer, the others the base model.

    x_0 = projection(norm(word + position + type)); of a norm or a projection that is None, nothing is done.
    """

    word: Find
    activation: Find  # of the MLP: a function of single numbers with act(0) = 0
    position: Find = nothing
    type: Find = nothing  # GPT-2: the table of words, looked up a second time
    norm: Find = nothing
    projection: Find = nothing
    final_norm: Find = nothing  # after the last layer
    rotary: Find = nothing  # gives cosines and sines; called once, or once per kind of layer
    rotation_key: Find = lambda layer: ""  # which of its calls a layer takes
    angles: Callable[[Any], tuple[Tensor, Tensor]] = _as_given  # (B|1, S, d) both, of what it gives
    neighbours: bool = False  # it turns numbers 2n and 2n + 1 of a head against each other, not n and n + d/2
    fused_gate: bool = False  # one inner projection of the MLP makes the activated branch and then the gated one
    projected_first: bool = False  # x_0 = norm(projection(word + position + type))
    obstacle: Callable[[Any], str] = lambda base: ""  # why the stream of this very model cannot be split, in words
    surplus: bool = False  # one more vector is added to every token alike: the layout that a text does not have
    scaled_words: bool = False  # the word part is not the table's row: what remains of the embeddings' sum is taken
    query_factor: Find = lambda layer: 1.0  # by which the model multiplies q itself


def bert_stream(activation: Find, **others: Any) -> StreamParts:
    """The parts of a family that names its embeddings as BERT does."""
    finders = {
        "word": finder("embeddings.word_embeddings"),
        "position": finder("embeddings.position_embeddings"),
        "type": finder("embeddings.token_type_embeddings"),
        "norm": finder("embeddings.LayerNorm"),
    }
    return StreamParts(**finders | {"activation": activation} | others)


def _convolution(base: Any) -> str:
    return "" if base.encoder.conv is None else "a convolution over neighbouring tokens stands behind layer 0"


def _deberta(**others: Any) -> StreamParts:
    return bert_stream(
        finder("intermediate.intermediate_act_fn"),
        projection=finder("embeddings.embed_proj"),
        projected_first=True,
        **others,
    )


STREAMS: dict[str, StreamParts] = {  # by the config's model_type
    **{
        name: bert_stream(finder("intermediate.intermediate_act_fn"))
        for name in ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "luke", "lilt", "visual_bert", "splinter")
    },
    "markuplm": bert_stream(finder("intermediate.intermediate_act_fn"), surplus=True),
    "layoutlmv3": bert_stream(finder("intermediate.intermediate_act_fn"), surplus=True),
    "deberta": _deberta(),
    "deberta-v2": _deberta(obstacle=_convolution),
    "roformer": bert_stream(
        finder("intermediate.intermediate_act_fn"),
        projection=finder("embeddings_project"),
        rotary=finder("encoder.embed_positions"),
        angles=sinusoids,
        neighbours=True,
        obstacle=lambda base: "it turns values by their positions too" if base.config.rotary_value else "",
    ),
    "rembert": bert_stream(
        finder("intermediate.intermediate_act_fn"), projection=finder("encoder.embedding_hidden_mapping_in")
    ),
    "megatron-bert": bert_stream(finder("intermediate.intermediate_act_fn"), final_norm=finder("encoder.ln")),
    "electra": bert_stream(finder("intermediate.intermediate_act_fn"), projection=finder("embeddings_project")),
    "distilbert": bert_stream(finder("ffn.activation")),
    "albert": bert_stream(finder("activation"), projection=finder("encoder.embedding_hidden_mapping_in")),
    "nomic_bert": bert_stream(finder("mlp.act_fn"), rotary=finder("rotary_emb")),
    "esm": bert_stream(
        lambda layer: gelu,  # its own formula of the same function
        norm=finder("embeddings.layer_norm"),
        final_norm=finder("encoder.emb_layer_norm_after"),
        rotary=finder("rotary_embeddings"),
        scaled_words=True,
        query_factor=lambda layer: layer.attention.self.attention_head_size**-0.5,
    ),
    "modernbert": StreamParts(
        word=finder("embeddings.tok_embeddings"),
        norm=finder("embeddings.norm"),
        activation=finder("mlp.act"),
        final_norm=finder("final_norm"),
        rotary=finder("rotary_emb"),
        rotation_key=finder("attention_type"),
        fused_gate=True,
    ),
    "gpt2": StreamParts(
        word=finder("wte"),
        position=finder("wpe"),
        type=finder("wte"),
        activation=finder("mlp.act"),
        final_norm=finder("ln_f"),
    ),
}
