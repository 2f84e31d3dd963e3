"""What MPNet and DeBERTa add to q·k: rows of Why with a name, against the models' own methods and eager weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from torch import Tensor

from bertlens import Lens, Trace
from bertlens.measures import neurons, sources
from bertlens.measures.offers import offers
from bertlens.measures.rows import visible
from bertlens.widgets.answers.score_maps import score_maps
from bertlens.widgets.answers.why import why, why_pairs
from unit import tiny, tiny_attention

TERMS = {"mpnet": ("relative position",), "deberta-v2": ("content to position", "position to content")}
NAMES = pytest.mark.parametrize("name", TERMS)
ARABIC = "كان الجو دافئا جدا"


def lens_of(name: str) -> Lens:
    return tiny_attention.lens_of(name, torch.float32)


class Eager:
    """The model's own run: α of its output, and what its own methods add to the scores, term by term."""

    def __init__(self, lens: Lens, trace: Trace):
        model: Any = lens.model
        given: list[dict[str, Any]] = []
        inputs = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.long)}
        modules = [m for m in model.modules() if type(m).__name__ == "DisentangledSelfAttention"]

        def note(module: Any, args: Any, kwargs: Any) -> None:
            given.append({"x": args[0]} | kwargs)

        hooks = [module.register_forward_pre_hook(note, with_kwargs=True) for module in modules]
        with torch.no_grad():
            output = model(**inputs, output_attentions=True)
            if modules:
                self.terms = [self._disentangled(m, **call) for m, call in zip(modules, given, strict=True)]
            else:
                bias = model.encoder.compute_position_bias(trace.input_ids[None])[0]
                self.terms = [{"relative position": bias}] * len(output.attentions)
        for hook in hooks:
            hook.remove()
        self.alpha = [alpha[0].double() for alpha in output.attentions]

    @staticmethod
    def _disentangled(module: Any, x: Tensor, relative_pos: Tensor, rel_embeddings: Tensor, **_: Any) -> Any:
        n, both = module.num_attention_heads, module.pos_att_type
        heads = [module.transpose_for_scores(map(x), n) for map in (module.query_proj, module.key_proj)]
        found = {}
        for kind, name in zip(("c2p", "p2c"), TERMS["deberta-v2"], strict=True):
            module.pos_att_type = [kind]
            found[name] = module.disentangled_attention_bias(*heads, relative_pos, rel_embeddings, 1 + len(both))
        module.pos_att_type = both
        return found


def share_of(n: int, key: int, against: str | int | None) -> Tensor:
    share = torch.zeros(n, dtype=torch.float64)
    if against == "others":
        share -= 1 / (n - 1)
    elif against is not None:
        share[int(against)] = -1
    share[key] = 1
    return share


@NAMES
@pytest.mark.parametrize("text", [tiny.TEXTS[1], (ARABIC,)], ids=["pair", "Arabic"])
def test_terms_are_rows_and_the_sum_is_the_score(name: str, text: tuple[str, ...]) -> None:
    lens = lens_of(name)
    trace = lens.trace(*text)
    assert offers(trace)["sources"] == ""
    eager, n = Eager(lens, trace), trace.n_tokens
    for layer in range(trace.n_layers):
        head, query, key = layer, n // 2, (n // 2 + 2) % n
        log = eager.alpha[layer][head, query].log()
        for side in sources.SIDES:
            for against in ("others", (key + 1) % n, None):
                s = sources.score(trace, layer, head, query, key, side, against)
                share = share_of(n, key, against)
                by_kind = s.by("kind")
                for term in TERMS[name]:
                    own = float(share @ eager.terms[layer][term][head, query].double())
                    assert by_kind[term] == pytest.approx(own, abs=1e-5)
                if against is not None:  # of weights the row's sum is gone
                    assert s.total == pytest.approx(float(share @ log), abs=1e-5)
                assert abs(s.gap) <= 1e-5 and [*by_kind.index[-len(TERMS[name]) :]] == [*TERMS[name]]
        fields, _ = why(trace, layer, head, query, key)
        assert [kind for kind, _ in fields["kinds"]][-len(TERMS[name]) :] == [*TERMS[name]]


@NAMES
def test_both_sides_and_pictures(name: str) -> None:
    """The terms stand where their row meets their column; all of it is the score, and so are the pictures."""
    lens = lens_of(name)
    trace = lens.trace(*tiny.TEXTS[1])
    eager = Eager(lens, trace)
    table = sources.pairs(trace, 2, 1, 3, 5)
    score = float(trace.scores(2, torch.float64)[1, 3, 5])
    for side, sums in (("query", table.sum(axis=1)), ("key", table.sum(axis=0))):
        parts = sources.score(trace, 2, 1, 3, 5, side, None).parts
        assert sums.tolist() == pytest.approx(parts.value.tolist(), abs=1e-5)
    fields, arrays = why_pairs(trace, 2, 1, 3, 5)
    assert fields["model"] == pytest.approx(score, abs=1e-5) and abs(fields["gap"]) <= 1e-5
    assert float(arrays["values"].sum()) == pytest.approx(score, abs=1e-5)
    for center in (False, True):
        maps = sources.maps(trace, 2, 1, center)
        whole = trace.scores(2)[1].double()
        if center:
            whole -= whole.mean(-1, keepdim=True)
        torch.testing.assert_close(sum(x.double() for x in maps.values()), whole, atol=1e-5, rtol=0)
    for term in TERMS[name]:
        own = eager.terms[2][term][1].double()
        torch.testing.assert_close(maps[term, term].double(), own - own.mean(-1, keepdim=True), atol=1e-5, rtol=0)
    fields, arrays = score_maps(trace, 2, 1)
    shares = sources.map_shares(maps)
    assert fields["share"] == pytest.approx([shares[query, key] for query, key in fields["pairs"]], abs=1e-5)
    assert sum(fields["share"]) + fields["rest"] == pytest.approx(1) and fields["gap"] < 1e-5
    pictures = arrays["values"].double()
    torch.testing.assert_close(pictures[1:].sum(0), pictures[0], atol=1e-5, rtol=0)


@NAMES
def test_a_set_of_neurons_leaves_the_terms_as_they_are(name: str) -> None:
    lens = lens_of(name)
    trace = lens.trace(*tiny.TEXTS[1])
    eager = Eager(lens, trace)
    q, k = (x[0].double() for x in (trace.query(1), trace.key(1)))
    added = sum(term[0].double() for term in eager.terms[1].values())
    tried = 0
    for query, key in [(3, 5), (4, 1), (7, 7), (2, 9)]:
        members = neurons.contrast_set(trace, 1, 0, query, key)
        if len(members):
            scores = trace.scaling(1) * q[query, members] @ k[:, members].T + added[query]
            weights = neurons.set_weights(trace, 1, 0, query, key)
            assert weights.alone == pytest.approx(float(scores.softmax(-1)[key]), abs=1e-6)
            assert weights.whole == pytest.approx(float(eager.alpha[1][0, query, key]), abs=1e-6)
            tried += 1
    assert tried and bool(visible(trace, 1).all())


@NAMES
def test_one_token_has_terms_too(name: str) -> None:
    lens = lens_of(name)
    lens.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B")
    trace = lens.trace("a")
    assert trace.n_tokens == 1
    s = sources.score(trace, 1, 0, 0, 0, against=None)
    assert abs(s.gap) <= 1e-5 and {*TERMS[name]} <= {kind for kind, *_ in s.rows}
    assert score_maps(trace, 1, 0)[1]["values"].isfinite().all()
