"""A score split by source: the parts sum to it, and autograd through the model's own modules finds the same parts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

from bertlens import InputError, Lens, ModelError, SelectionError, Trace, whatif
from bertlens.measures import neurons, sources
from bertlens.measures.offers import offers
from bertlens.measures.sources.stream import gate
from unit import tiny
from unit.naive_sources import Graph, exact_rotation

TEXT, PAIR, SHORT = tiny.TEXTS
FAMILIES = [
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "distilbert",
    "electra",
    "albert",
    "albert, two groups of two",
    "nomic_bert",
    "esm",
    "esm, absolute positions",
    "modernbert",
    "gpt2",
]
if not hasattr(tf.EsmModel(tf.EsmConfig(**tiny.BERT, position_embedding_type="rotary")), "rotary_embeddings"):
    FAMILIES.remove("esm")  # older releases rotate inside each layer: declined
EVERY = pytest.mark.parametrize("name", FAMILIES)
SIDES = pytest.mark.parametrize("side", ["query", "key"])
OPENED = pytest.mark.parametrize("through_mlps", [False, True], ids=["closed", "opened"])
ENGLISH = [
    ("The animal didn't cross the street because it was too tired.",),
    ("The cat sat on the mat.", "It was very warm."),
    ("warm",),
]


def lens_of(name: str, dtype: torch.dtype = torch.float64) -> Lens:
    family = tiny.FAMILIES[name]
    return Lens(tiny.shaken(family.model()).to(dtype), family.tokenizer())


def close(found: float, expected: float, dtype: torch.dtype = torch.float32, larger: float = 0.0) -> None:
    """1e-5 + 1e-5 relative from float32 captures, 1e-10 in float64; `larger`: the size of the parts summed."""
    bound = 1e-10 if dtype == torch.float64 else 1e-5
    assert abs(found - expected) <= bound + bound * max(abs(expected), larger), (found, expected)


def share_of(trace: Trace, layer: int, head: int, query: int, key: int, against: Any) -> Tensor:
    """What each key counts, from the model's own scores."""
    visible = trace.scores(layer)[head, query].isfinite().double()
    own = torch.nn.functional.one_hot(torch.tensor(key), trace.n_tokens).double()
    if against is None:
        return own
    if against == "others":
        return own - (visible - own) / (visible.sum() - 1)
    return own - torch.nn.functional.one_hot(torch.tensor(against), trace.n_tokens).double()


def cell(trace: Trace, layer: int, head: int) -> tuple[int, int, int]:
    """A query in the middle, its least and its most attended visible key: in causal and windowed families too."""
    query = trace.n_tokens // 2
    alpha = trace.attention(layer)[head, query]
    alpha = torch.where(alpha > 0, alpha, torch.nan)
    return query, int(alpha.nan_to_num(2).argmin()), int(alpha.nan_to_num(-1).argmax())


@pytest.mark.sampled(13)
@OPENED
@SIDES
@EVERY
def test_parts_are_those_of_autograd(name: str, side: str, through_mlps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of every kind, in float64: a second path, with deviations, gates and earlier contexts detached."""
    lens = lens_of(name)
    exact_rotation(lens.model, monkeypatch)
    trace = lens.trace(*PAIR)
    with monkeypatch.context() as patch:
        graph = Graph(lens.model, trace, patch, opened=through_mlps)
    for layer in range(trace.n_layers):
        head = layer % trace.n_heads
        query, other, key = cell(trace, layer, head)
        for against in ("others", None, other):
            s = sources.score(trace, layer, head, query, key, side, against, through_mlps)
            number = graph.contrast(
                layer, head, query, key, share_of(trace, layer, head, query, key, against), trace.scaling(layer), side
            )
            close(s.model, float(number.detach()), torch.float64)
            close(s.total, s.model, torch.float64)
            expected = graph.parts(layer, number)
            kept = {key for key in expected if not (through_mlps and key[0] == "mlp")}
            found = {(kind, -1 if at is None else at, -1 if h is None else h): value for kind, at, h, value in s.rows}
            assert found.keys() == kept
            for key_ in found:
                close(found[key_], expected[key_], torch.float64)


@pytest.mark.sampled(7)
@OPENED
@EVERY
def test_sides_are_equal_and_float32_holds(name: str, through_mlps: bool) -> None:
    lens = lens_of(name, torch.float32)
    for given in ((TEXT,), PAIR):
        trace = lens.trace(*given)
        layer = trace.n_layers - 1
        for head in range(trace.n_heads):
            query, other, key = cell(trace, layer, head)
            for against in ("others", None, other):
                if against == key:
                    continue
                both = [
                    sources.score(trace, layer, head, query, key, side, against, through_mlps) for side in sources.SIDES
                ]
                for s in both:
                    close(s.total, s.model, larger=s.parts.value.abs().sum())
                assert both[0].model == both[1].model


@OPENED
@SIDES
def test_every_head_of_the_embedded_model(embedded_lens: Lens, side: str, through_mlps: bool) -> None:
    """Parts = score, contrast, log-ratio, against what the trace and the neurons' contrast say."""
    for given in ENGLISH:
        trace = embedded_lens.trace(*given)
        for layer in range(trace.n_layers):
            alpha, raw = trace.attention(layer, torch.float64), trace.scores(layer, torch.float64)
            for head in range(trace.n_heads):
                query, other, key = cell(trace, layer, head)
                against = [None, "others", other][(layer + head) % 3]
                s = sources.score(trace, layer, head, query, key, side, against, through_mlps)
                if against is None:
                    expected = raw[head, query, key]
                elif against == "others":
                    expected = neurons.contrast(trace, layer, head, query, key).double().sum()
                else:
                    expected = (alpha[head, query, key] / alpha[head, query, other]).log()
                close(s.model, float(expected))
                close(s.total, float(expected))
                close(s.by("kind").sum(), s.total, torch.float64)
                close(s.by("layer").sum(), s.total, torch.float64)


def test_the_parts_have_the_promised_form() -> None:
    trace = lens_of("bert").trace(TEXT)
    s = sources.score(trace, 2, 1, 3, 4)
    frame = s.parts
    assert list(frame.columns) == ["kind", "layer", "head", "value"]
    assert len(frame) == 4 + 2 * (trace.n_heads + 1)
    counts = frame.kind.value_counts()
    assert dict(counts) == {"word": 1, "position": 1, "type": 1, "bias": 1, "mlp": 2, "head": 2 * trace.n_heads}
    assert frame[frame.kind.isin(["word", "position", "type", "bias"])][["layer", "head"]].isna().all().all()
    assert frame[frame.kind == "mlp"]["head"].isna().all() and frame[frame.kind == "mlp"].layer.tolist() == [0, 1]
    assert s.by("layer").index.isna().sum() == 1
    assert math.isclose(s.gap, s.total - s.model)
    assert "mlp" not in set(sources.score(trace, 2, 1, 3, 4, through_mlps=True).parts.kind)
    assert "split, not an experiment" in repr(s)
    first = sources.score(trace, 0, 1, 3, 4).parts
    assert set(first.kind) == {"word", "position", "type", "bias"}


def test_key_bias_cancels_in_a_contrast() -> None:
    """b_K and the β of the last norm are in the raw score of the key side and in no contrast of it at layer 0."""
    model = tiny.bert().double()
    with torch.no_grad():
        model.encoder.layer[0].attention.self.key.bias.mul_(100)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    raw, contrast = (sources.score(trace, 0, 0, 2, 3, "key", against).by("kind")["bias"] for against in (None, 4))
    assert abs(raw) > 1 and abs(contrast) < 1e-10


@pytest.mark.sampled(7)
@EVERY
@SIDES
def test_second_level(name: str, side: str) -> None:
    """A head's part by the tokens where it fetched it, an MLP's by neuron, and a part of a part, asked again."""
    trace = lens_of(name).trace(*PAIR)
    layer = trace.n_layers - 1
    query, other, key = cell(trace, layer, 1)
    rotating = 1e-6 if tiny.FAMILIES[name].rotary else 1e-10  # ESM and ModernBERT rotate in float32
    for against in ("others", other):
        for through_mlps in (False, True):
            s = sources.score(trace, layer, 1, query, key, side, against, through_mlps)
            values = {(kind, at, h): value for kind, at, h, value in s.rows}
            for earlier in range(layer):
                if not through_mlps:
                    fed = sources.neurons(trace, s, earlier)
                    assert abs(float(fed.sum()) - values["mlp", earlier, None]) < rotating
                for head in range(trace.n_heads):
                    fetched = sources.tokens(trace, s, earlier, head)
                    assert fetched.shape == (trace.n_tokens,)
                    assert abs(float(fetched.sum()) - values["head", earlier, head]) < rotating
                    again = s.ask(earlier, head, query)
                    assert abs(again.total - float(fetched[query])) < rotating
                    assert abs(again.gap) < rotating
                    assert set(again.parts.layer.dropna()) == set(range(earlier))
                    if earlier and not through_mlps:
                        deeper = again.ask(0, 0, key)
                        assert abs(deeper.total - float(sources.tokens(trace, again, 0, 0)[key])) < rotating
            if through_mlps:
                with pytest.raises(SelectionError, match="through_mlps"):
                    sources.neurons(trace, s, 0)


def test_families_without_a_source_say_so() -> None:
    for name, kinds, said in (
        ("nomic_bert", {"word", "type"}, "positions rotate"),
        ("esm", {"word"}, "positions rotate"),
        ("modernbert", {"word"}, "positions rotate"),
        ("distilbert", {"word", "position"}, "no token type"),
        ("gpt2", {"word", "position"}, "no token type"),
        ("bert", {"word", "position", "type"}, "statistics as they were in this run"),
    ):
        if name not in FAMILIES:
            continue
        s = sources.score(lens_of(name).trace(TEXT), 0, 0, 3, 2)
        assert set(s.parts.kind) == kinds | {"bias"}
        assert said in " ".join(s.notes), name
    trace = lens_of("mobilebert").trace(TEXT)
    with pytest.raises(ModelError, match="MobileBERT's stream cannot be split"):
        sources.score(trace, 0, 0, 1, 2)
    assert "MobileBERT" in offers(trace)["sources"]
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), list("abc"))
    with pytest.raises(ModelError, match="Only attention weights"):
        sources.score(given, 0, 0, 1, 2)


@pytest.mark.parametrize("normed", [False, True])
def test_masked_tokens_of_esm(normed: bool) -> None:
    """ESM zeroes the word embedding of a mask and scales the others: the word part is the one it really used."""
    settings = {"position_embedding_type": "absolute", "pad_token_id": 0, "mask_token_id": 4, "token_dropout": True}
    model = tf.EsmModel(tf.EsmConfig(**tiny.BERT, **settings, emb_layer_norm_before=normed))
    lens = Lens(tiny.shaken(model).double(), tiny.wordpiece())
    trace = lens.trace("the cat [MASK] on the mat")
    masked = trace.tokens.index("[MASK]")
    s = sources.score(trace, 1, 0, masked, 1, "query", None)
    assert abs(s.by("kind")["word"]) < 1e-10 and abs(s.gap) < 1e-10
    other = sources.score(trace, 1, 0, masked - 1, 1, "query", None)
    assert abs(other.by("kind")["word"]) > 1e-3 and abs(other.gap) < 1e-10


def test_chunked_feed_forward_and_padding() -> None:
    model = tiny.bert().double()
    lens = Lens(model, tiny.wordpiece())
    whole = sources.score(lens.trace(TEXT), 2, 1, 3, 4, "key")
    for block in model.encoder.layer:
        block.chunk_size_feed_forward = 1
    chunked = sources.score(lens.trace(TEXT), 2, 1, 3, 4, "key")
    assert chunked.parts.value.tolist() == pytest.approx(whole.parts.value.tolist(), abs=1e-10)
    for block in model.encoder.layer:
        block.chunk_size_feed_forward = 0
    padded = lens.trace_batch([TEXT, PAIR])[0]
    s = sources.score(padded, 2, 1, 3, 4, "key")
    assert s.parts.value.tolist() == pytest.approx(whole.parts.value.tolist(), abs=1e-10)


def test_half_precision_shows_its_gap() -> None:
    trace = Lens(tiny.bert().to(torch.bfloat16), tiny.wordpiece()).trace(TEXT)
    s = sources.score(trace, 2, 1, 3, 4)
    assert 1e-4 < abs(s.gap) < 0.5


def test_what_is_refused() -> None:
    lens = lens_of("bert")
    trace = lens.trace(TEXT)
    for arguments in ((9, 0, 1, 2), (0, 9, 1, 2), (0, 0, 99, 2), (0, 0, 1, 99)):
        with pytest.raises(SelectionError):
            sources.score(trace, *arguments)
    for settings in ({"side": "value"}, {"against": "all"}, {"against": 2}, {"against": 99}):
        with pytest.raises(SelectionError):
            sources.score(trace, 0, 0, 1, 2, **settings)
    s = sources.score(trace, 1, 0, 1, 2)
    with pytest.raises(SelectionError, match="not earlier"):
        s.ask(1, 0, 0)
    with pytest.raises(SelectionError):
        sources.tokens(trace, s, 0, 9)
    with pytest.raises(SelectionError, match="kind, layer"):
        s.by("head")
    with pytest.raises(InputError, match="another trace"):
        sources.tokens(lens.trace(SHORT), s, 0, 0)
    causal = lens_of("gpt2").trace(TEXT)
    with pytest.raises(SelectionError, match="hidden"):
        sources.score(causal, 0, 0, 1, 3)
    with pytest.raises(SelectionError, match="sees no other key"):
        sources.score(causal, 0, 0, 0, 0)
    assert abs(sources.score(causal, 1, 0, 0, 0, against=None).gap) < 1e-10
    with torch.no_grad():
        lens.model.encoder.layer[0].intermediate.dense.weight.mul_(2)
    with pytest.raises(ModelError, match="changed"):
        sources.score(trace, 0, 0, 1, 2)


@pytest.mark.sampled(4)
@EVERY
def test_pairs_have_both_sides_as_margins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of(name)
    exact_rotation(lens.model, monkeypatch)
    trace = lens.trace(*PAIR)
    for layer in range(trace.n_layers):
        query, _, key = cell(trace, layer, 1)
        table = sources.pairs(trace, layer, 1, query, key)
        close(table.to_numpy().sum(), float(trace.scores(layer)[1, query, key]), torch.float64)
        for side, margin in (("query", table.sum(axis=1)), ("key", table.sum(axis=0))):
            s = sources.score(trace, layer, 1, query, key, side, None)
            assert margin.index.get_level_values("kind").tolist() == s.parts.kind.tolist()
            for axis in ("layer", "head"):
                assert margin.index.get_level_values(axis).tolist() == pytest.approx(
                    s.parts[axis].tolist(), nan_ok=True
                )
            assert margin.to_numpy() == pytest.approx(s.parts.value.to_numpy(), abs=1e-10, rel=1e-10)
        assert "split, not an experiment" in " ".join(table.attrs["notes"])


@pytest.mark.sampled(4)
@EVERY
def test_maps_sum_to_the_scores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raw, centred, and cell by cell what the pairs say, summed by group."""
    lens = lens_of(name)
    exact_rotation(lens.model, monkeypatch)
    trace = lens.trace(*PAIR)
    for layer in (0, trace.n_layers - 1):
        raw = trace.scores(layer)[2]
        visible = raw.isfinite()
        found = sources.maps(trace, layer, 2)
        assert len(found) == 36 and all(part.shape == raw.shape for part in found.values())
        total = torch.stack([*found.values()]).sum(0)
        assert torch.equal(total.isnan(), ~visible)
        assert (total - raw)[visible].abs().max() < 1e-10
        centred = sources.maps(trace, layer, 2, center=True)
        for pair, part in centred.items():
            expected = found[pair] - found[pair].nanmean(-1, keepdim=True)
            assert (part - expected)[visible].abs().max() < 1e-10
        query, _, key = cell(trace, layer, 2)
        table = sources.pairs(trace, layer, 2, query, key)
        names = {"head": "heads", "mlp": "mlps"}
        for axis in (0, 1):
            table = table.T.groupby(level="kind").sum() if axis else table.groupby(level="kind").sum()
        for across, column in table.iterrows():
            for down, value in column.items():
                pair = (names.get(down, down), names.get(across, across))
                close(float(found[pair][query, key]), value, torch.float64)
        shares, other = sources.map_shares(found), sources.map_shares(centred)
        assert sum(shares.values()) == pytest.approx(1, abs=1e-9)
        assert [*shares.values()] == pytest.approx([*other.values()], abs=1e-9)
        assert all(part.abs().nan_to_num(0).max() == 0 for pair, part in found.items() if layer == 0 and "mlps" in pair)


def test_shares_are_covariances() -> None:
    """By their definition, row by row over visible keys, with numpy."""
    import numpy as np

    trace = lens_of("gpt2").trace(TEXT)
    found = sources.maps(trace, 2, 1)
    whole = trace.scores(2)[1].numpy()
    rows = range(1, trace.n_tokens)
    variance = sum(np.var(whole[i, : i + 1]) for i in rows)
    for pair, share in sources.map_shares(found).items():
        part = found[pair].numpy()
        covariance = sum(np.cov(part[i, : i + 1], whole[i, : i + 1], bias=True)[0, 1] for i in rows)
        assert share == pytest.approx(covariance / variance, abs=1e-9)
    flat = {("word", "word"): torch.ones(3, 3)}
    assert math.isnan(sources.map_shares(flat)["word", "word"])


def test_a_position_head_is_seen_as_one(embedded_lens: Lens) -> None:
    """L0·H2 of the embedded model is position · position and little else; float32 maps sum to its float32 scores."""
    trace = embedded_lens.trace(*ENGLISH[0])
    found = sources.maps(trace, 0, 2, center=True)
    assert found["word", "word"].dtype == torch.float32
    shares = sources.map_shares(found)
    assert max(shares, key=lambda pair: shares[pair]) == ("position", "position")
    assert shares["position", "position"] > 0.8
    deep = sources.maps(trace, 5, 3)
    raw = trace.scores(5, torch.float64)[3]
    total = torch.stack([part.double() for part in deep.values()]).sum(0)
    assert ((total - raw).abs() <= 1e-5 + 1e-5 * raw.abs()).all()


def test_adapters_quantised_and_unseen_rotations() -> None:
    """LoRA is in the weights that parts go through; what is no plain projection is declined in a sentence."""
    from unit.measures.test_offers import lora, quantised

    peft = pytest.importorskip("peft")
    assert peft
    for model in (lora(["query", "value"]), lora("all-linear", lora_bias=True)):
        trace = Lens(model.double(), tiny.wordpiece()).trace(TEXT)
        for side in sources.SIDES:
            for through_mlps in (False, True):
                s = sources.score(trace, 2, 1, 3, 4, side, through_mlps=through_mlps)
                assert abs(s.gap) < 1e-10, (side, through_mlps)
    for model in (lora(["dense"], use_dora=True), quantised()):
        trace = Lens(model, tiny.wordpiece()).trace(TEXT)
        with pytest.raises(ModelError, match=r"not a plain projection|merge it first"):
            sources.score(trace, 2, 1, 3, 4)
        assert offers(trace)["sources"]
    trace = lens_of("esm").trace(TEXT)
    trace.record.entry.rotations.clear()  # as with a version of transformers that does not show them
    with pytest.raises(ModelError, match="update transformers"):
        sources.score(trace, 1, 0, 1, 2)
    assert "update transformers" in offers(trace)["sources"]


def test_an_activation_that_is_no_gate() -> None:
    """Sources with closed MLPs need nothing of the activation; opened, it has to be 0 at 0."""
    lens = Lens(tiny.bert(hidden_act="sigmoid").double(), tiny.wordpiece())
    trace = lens.trace(TEXT)
    s = sources.score(trace, 2, 1, 3, 4)
    assert abs(s.gap) < 1e-10
    part = s.parts.query("kind == 'mlp' and layer == 1").value.item()
    assert float(sources.neurons(trace, s, 1).sum()) == pytest.approx(part, abs=1e-10)
    with pytest.raises(ModelError, match="not 0 at 0"):
        sources.score(trace, 2, 1, 3, 4, through_mlps=True)


def test_a_gate_at_a_score_of_exactly_0() -> None:
    """1[s > 0] of ReLU is 0 there; Φ(0) and σ(0) are a half."""
    zero = torch.zeros(1, dtype=torch.float64)
    for act, expected in ((torch.relu, 0), (torch.nn.functional.gelu, 0.5), (torch.nn.functional.silu, 0.5)):
        assert float(gate(act, zero)) == pytest.approx(expected, abs=1e-6)
        assert float(gate(act, zero + 1e-300)) == pytest.approx(expected or 1, abs=1e-6)


@pytest.mark.parametrize("act", ["relu", "silu", "gelu_new", "quick_gelu", "tanh", "relu2", "mish"])
def test_every_gate_opens(act: str) -> None:
    trace = Lens(tiny.bert(hidden_act=act).double(), tiny.wordpiece()).trace(TEXT)
    s = sources.score(trace, 2, 1, 3, 4, through_mlps=True)
    assert abs(s.gap) < 1e-10
    assert s.total == pytest.approx(sources.score(trace, 2, 1, 3, 4).total, abs=1e-10)


def test_a_changed_run_is_not_split(embedded_lens):
    changed = embedded_lens.trace("The cat sat.").rerun(whatif.off(0, 1))
    with pytest.raises(ModelError, match=r"take trace\.original"):
        sources.score(changed, 2, 3, 1, 2)
    assert offers(changed)["sources"] and not offers(changed.original)["sources"]
