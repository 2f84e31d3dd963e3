"""Queries and keys of long texts in saved pages: how far they are from the model's, and what the page says."""

import re

import pytest
import torch
from transformers import AutoTokenizer, ModernBertConfig, ModernBertModel

import bertlens as bl
from bertlens.export.deflate import carried
from bertlens.model import offline_model
from bertlens.widgets import rounding
from bertlens.widgets.answers import head_answers
from bertlens.widgets.questions import packed
from tests.unit.export.test_export import unpacked

STEPS = (2.0**-16, 2.0**-17)  # of q and k, as a page has them


@pytest.fixture(scope="module")
def traces() -> dict[int, bl.Trace]:
    """Of a text past the limit and of a short one: a global and a local layer, with weights up to 1."""
    torch.manual_seed(0)
    known = AutoTokenizer.from_pretrained(offline_model.folder(), model_max_length=2048)
    config = ModernBertConfig(
        vocab_size=len(known),
        pad_token_id=known.pad_token_id,
        cls_token_id=known.cls_token_id,
        sep_token_id=known.sep_token_id,
        bos_token_id=known.cls_token_id,
        eos_token_id=known.sep_token_id,
        hidden_size=128,
        num_attention_heads=2,
        intermediate_size=64,
        num_hidden_layers=2,
        initializer_range=0.16,
        max_position_embeddings=2048,
    )
    lens = bl.Lens(ModernBertModel(config).eval(), known)
    words = "the cat sat on a mat and saw how seven small dogs ran over green hills to old houses by rivers".split()
    generator = torch.Generator().manual_seed(0)
    return {
        n: lens.trace_words([words[int(torch.randint(len(words), (), generator=generator))] for _ in range(n)])
        for n in (1100, 60)
    }


def weights(fields, arrays, trace, layer, head) -> torch.Tensor:
    """α as the page computes it, in float64."""
    q, k = arrays["q"].double(), arrays["k"].double()
    mask = trace.mask_rows(layer, head, slice(0, trace.n_tokens)).double()
    return (q @ k.T * fields["scaling"] + mask - arrays["lse"][:, None]).exp()


@pytest.mark.parametrize("layer", [0, 1])
def test_weights_of_rounded_queries_and_keys_are_the_models(traces, layer):
    trace = traces[1100]
    for head in range(2):
        model, page = head_answers.head(trace, layer, head), rounding.saved_head(trace, layer, head)
        exact = weights(*model, trace, layer, head)
        assert exact.max() > 0.5  # where an error of a score moves a weight most
        torch.testing.assert_close(weights(*page, trace, layer, head), exact, rtol=1e-5, atol=1e-5)
        totals = weights(*page, trace, layer, head).sum(1)
        assert (totals - 1).abs().max() < 5e-6  # log-sum-exps of scores in float32: the model's own are as far off
        for name in ("q", "k"):
            assert 1e-7 < (page[1][name] - model[1][name]).abs().max() < 1e-5


def test_a_rounded_head_is_small_and_comes_back_to_the_last_bit(traces):
    sizes = []
    for answer in (head_answers.head(traces[1100], 0, 0), rounding.saved_head(traces[1100], 0, 0)):
        fields, [blob] = packed(*answer)
        held = carried(blob, fields["arrays"])
        assert unpacked(held) == blob
        sizes.append(len(held["$bytes"]))
    assert sizes[1] < 0.75 * sizes[0]


def test_a_short_text_is_not_rounded(traces):
    exact, page = (answer(traces[60], 1, 0)[1] for answer in (head_answers.head, rounding.saved_head))
    assert all(torch.equal(exact[name], page[name]) for name in ("q", "k", "lse"))
    assert "2⁻¹⁶" not in re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), traces[60].explore().to_html())


def test_the_page_of_a_long_text_says_so_and_its_first_picture_is_rounded_too(traces):
    page = traces[1100].explore(layer=0, head=1).to_html(layers=[0])
    assert "within .00002 of the model" in page
    for n in range(2):
        [answer] = re.findall(
            rf'id="\[\[&quot;head&quot;,{n}\],\[&quot;layer&quot;,0\][^>]*op&quot;,&quot;head&quot;.*?</script>', page
        )
        assert sum(answer.count(str(step)) for step in STEPS) == 2
    [first] = re.findall(r'id="bertlens-data">(.*?)</script>', page)
    assert sum(first.count(str(step)) for step in STEPS) == 2


def test_numbers_too_far_apart_for_a_step_stay_as_they_are():
    ones = torch.ones(4, 8)
    assert rounding.step_for(ones, ones, 0.1) == 2**-16
    assert rounding.step_for(10 * ones, ones, 0.1) == 2**-17
    assert rounding.step_for(1e5 * ones, ones, 0.1) is None
    assert rounding.step_for(ones, ones * torch.nan, 0.1) is None
    assert rounding.step_for(0 * ones, 0 * ones, 0.1) is None
