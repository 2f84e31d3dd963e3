"""Why two texts are similar, as a page is told: the model's own numbers, what is asked, what a saved page holds."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import bertlens as bl
from bertlens.base import colors, wire
from bertlens.errors import InputError
from bertlens.widgets.messages import turns
from bertlens.widgets.similarity.similarity_panel import SimilarityPanel
from unit.asking import question, replies
from unit.export.test_export import attention
from unit.tiny_encoders import TEXTS, crossed, encoder, words

A, B = "the unbelievable cats sat on the mat.", "it was very warm, the cat"


def asked(view: Any, op: str = "similar", **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """As a page gets it that asks until it is answered."""
    fields, buffers = question(view, op=op, **more)
    while fields.get("again"):
        fields, buffers = question(view, op=op, **more)
    return fields, wire.unpack(fields["arrays"], buffers[0]) if "arrays" in fields else {}


def first(view: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    header = view.overview["header"]
    return header["similar"], wire.unpack(header["arrays"], view.overview["data"])


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(encoder())


def test_the_first_picture_has_the_models_number_and_its_parts(lens: bl.Lens) -> None:
    model: Any = lens.sentences.module
    found = bl.similarity(lens, A, B, tasks=("query", None))
    view = found.explore()
    told, arrays = first(view)
    own = float(model.similarity(model.encode_query(A), model.encode(B)))
    assert told["value"] == pytest.approx(own, abs=1e-6) and told["function"] == "cosine" and told["why_not"] == ""
    pairs = arrays["similar.pairs"]
    assert pairs.sum() == pytest.approx(own, abs=1e-5)
    a, b = told["sides"]
    assert (a["text"], a["read"]) == (A, "was it warm " + A) and b["text"] == b["read"] == B
    assert told["tasks"] == ["query", ""] and any("prompt" in note for note in told["notes"])
    assert pairs.shape == (len(a["tokens"]), len(b["tokens"]))
    assert [name for name, at in zip(a["names"], a["words"], strict=True) if a["own"][at[0]]] == [
        *["the", "unbelievable", "cats", "sat", "on", "the", "mat", "."]
    ]  # neither the template's nor the prompt's
    by_word = np.array([[pairs[np.ix_(i, j)].sum() for j in b["words"]] for i in a["words"]])
    np.testing.assert_allclose(by_word, found.pairs(words=True), atol=1e-6)
    assert (view.parts, view.view) == (["similarity"], "similarity")
    assert view.overview["header"]["text"] == "was it warm " + A


def test_other_texts_are_read_by_the_same_model(lens: bl.Lens) -> None:
    view, explorer = bl.similarity(lens, A, B).explore(), lens.trace(A).explore()
    model: Any = lens.sentences.module
    for one in (view, explorer):
        told, arrays = asked(one, texts=[B, TEXTS[3], "document", "query"])
        own = float(model.similarity(model.encode_document(B), model.encode_query(TEXTS[3])))
        assert told["value"] == pytest.approx(own, abs=1e-6)
        assert arrays["pairs"].sum() == pytest.approx(own, abs=1e-5)
        assert [side["text"] for side in told["sides"]] == [B, TEXTS[3]]
    told, arrays = asked(view)
    assert [side["text"] for side in told["sides"]] == [A, B]
    assert "bl.similarity" in asked(explorer)[0]["error"]
    assert "type both" in asked(explorer, texts=[A, " ", "", ""])[0]["error"]
    assert "100,000 characters" in asked(explorer, texts=[A, "a" * 100_001, "", ""])[0]["error"]
    assert "no task" in asked(explorer, texts=[A, B, "passage", ""])[0]["error"]
    for bad in (None, [], [A, B], [A, B, "", 1], "texts"):
        assert "[a, b, task of a, task of b]" in asked(explorer, texts=bad)[0]["error"]


def test_another_run_keeps_the_two_texts(lens: bl.Lens) -> None:
    """The page opens the run of either text and comes back."""
    view = bl.similarity(lens, A, B).explore()
    question(view, op="trace", text=B)
    assert view.overview["header"]["text"] == B and first(view)[0]["sides"][0]["text"] == A


def test_each_word_taken_out(lens: bl.Lens) -> None:
    found = bl.similarity(lens, A, B)
    told, arrays = asked(found.explore(), "similar_without")
    without = arrays["without"]
    own = [
        [name for name, at in zip(s["names"], s["words"], strict=True) if s["own"][at[0]]]
        for s in first(found.explore())[0]["sides"]
    ]
    assert without.shape == (1 + len(own[0]), 1 + len(own[1])) and "error" not in told
    for row in bl.similarity(lens, A, B).effects(100).itertuples():
        at = [
            (i, j)
            for (i, a), (j, b) in itertools.product(enumerate(own[0], 1), enumerate(own[1], 1))
            if (a, b) == (row.a, row.b) and abs(without[i, j] - row.without_both) < 1e-6
        ]
        assert any(
            without[i, 0] == pytest.approx(row.without_a, abs=1e-6)
            and without[0, j] == pytest.approx(row.without_b, abs=1e-6)
            for i, j in at
        )
    assert without[0, 0] == pytest.approx(found.value, abs=1e-6)


def test_words_are_taken_out_in_turns(lens: bl.Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertlens.sentences.text_pair.TOKENS", 1)  # a row a batch
    view = bl.similarity(lens, A, B).explore()
    whole = asked(view, "similar_without")[1]["without"]
    clock = iter(range(10**9))
    monkeypatch.setattr(turns.time, "monotonic", lambda: float(next(clock)))
    other = bl.similarity(lens, A, B).explore()
    message = {"id": 1, "op": "similar_without", "trace": other.overview["header"]["trace"], "map": "self"}
    n_turns = 1
    while (reply := replies(other, message)[0])[0].get("again"):
        n_turns += 1
        assert "error" not in asked(other, "head", layer=0, head=0)[0]
    assert n_turns > len(A.split())
    np.testing.assert_array_equal(wire.unpack(reply[0]["arrays"], reply[1][0])["without"], whole)


def test_texts_of_one_token_and_of_512_and_longer_ones() -> None:
    lens = bl.Lens(encoder(long=True))
    for a, b in (("cats", "mat"), (words(510, 1), words(510, 2)), ("cats", words(600, 1))):
        view = bl.similarity(lens, a, b).explore()
        told, arrays = first(view)
        assert arrays["similar.pairs"].sum() == pytest.approx(told["value"], abs=1e-5)
        held = [message["op"] for message, _ in view.page().answers]
        assert ("similar_without" in held) == (b == "mat")
        assert any("cut to 512" in note for note in told["notes"]) == (len(b) > len(words(510, 2)) + 50)


def test_texts_beyond_the_limit_are_one_sentence(lens: bl.Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    from bertlens.base.limits import LIMITS, Limit

    found = bl.similarity(lens, A, B)
    monkeypatch.setitem(LIMITS, "similar", Limit(len(found.sides[0].encoding) - 1, "", ""))
    with pytest.raises(InputError, match="of texts of at most"):
        found.explore()
    assert "of texts of at most" in asked(lens.trace(A).explore(), texts=[A, B, "", ""])[0]["error"]


def test_a_number_that_is_no_sum_says_so_and_has_its_experiments() -> None:
    view = bl.similarity(bl.Lens(encoder(mode="max")), A, B).explore()
    told, arrays = first(view)
    assert "pooling" in told["why_not"] and told["splits"] == [] and "terms" not in told
    assert "similar.pairs" not in arrays
    assert asked(view, "similar_without")[1]["without"][0, 0] == pytest.approx(told["value"], abs=1e-6)
    assert "no sum over them" in asked(view, "similar_input")[0]["error"]
    held = [message["op"] for message, _ in view.page().answers]
    assert "similar_without" in held and "similar_input" not in held


@pytest.mark.parametrize(("mode", "splits"), [("cls", ["input"]), ("mean", ["output", "input"])])
def test_the_split_by_tokens_that_went_in(mode: str, splits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one pooled token it is the one that is shown; in turns."""
    found = bl.similarity(bl.Lens(encoder(mode=mode)), A, B)
    view = found.explore()
    told, arrays = first(view)
    assert told["splits"] == splits and ("similar.pairs" in arrays) == ("output" in splits)
    monkeypatch.setattr(turns.time, "monotonic", iter(range(10**9)).__next__)
    message = {"id": 1, "op": "similar_input", "trace": view.overview["header"]["trace"], "map": "self"}
    n_turns, shares = 1, []
    while (reply := replies(view, message)[0])[0].get("again"):
        n_turns += 1
        shares.append(reply[0]["done"])
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] <= 1
    pairs = wire.unpack(reply[0]["arrays"], reply[1][0])["pairs"]
    assert n_turns > 2 and pairs.shape == tuple(1 + len(side["tokens"]) for side in told["sides"])
    assert pairs.sum() == pytest.approx(told["value"] + reply[0]["gap"], abs=1e-5)
    np.testing.assert_allclose(pairs, found.pairs("input"), atol=1e-6)
    held = [message["op"] for message, _ in view.page().answers]
    assert "similar_input" in held
    again = bl.similarity(bl.Lens(encoder(mode=mode)), A, B).explore()
    assert "similar_input" in [message["op"] for message, _ in again.page().answers]
    longer = bl.similarity(bl.Lens(encoder(mode=mode)), words(34, 1), words(34, 2))
    held = [message["op"] for message, _ in longer.explore().page().answers]
    assert ("similar_input" in held) == (mode == "cls")
    longer.pairs("input")
    assert "similar_input" in [message["op"] for message, _ in longer.explore().page().answers]


def test_the_euclidean_distance_names_its_terms() -> None:
    told, arrays = first(bl.similarity(bl.Lens(encoder(similarity_fn_name="euclidean")), A, B).explore())
    assert [name for name, _ in told["terms"]] == ["2a·b", "−‖a‖²", "−‖b‖²"]
    assert sum(value for _, value in told["terms"]) == pytest.approx(-(told["value"] ** 2), abs=1e-4)
    assert arrays["similar.pairs"].sum() == pytest.approx(told["terms"][0][1], rel=1e-5)


def test_who_has_the_tab(lens: bl.Lens) -> None:
    def offered(view: Any) -> Any:
        return next(tab["why_not"] for tab in view.overview["header"]["tabs"] if tab["name"] == "similarity")

    assert offered(lens.trace(A).explore()) == "" and offered(bl.similarity(lens, A, B).explore()) == ""
    weights = bl.Trace.from_attentions(attention(2, 2, 3, 3), list("abc")).explore()
    assert offered(weights) is None and "no vectors" in asked(weights, texts=[A, B, "", ""])[0]["error"]
    assert offered(bl.Lens(crossed()).trace(A, B).explore()) is None


def test_what_is_no_similarity_is_refused(lens: bl.Lens) -> None:
    with pytest.raises(InputError, match=r"bl\.similarity\(lens, a, b\)"):
        bl.SimilarityView(lens.trace(A))  # type: ignore[arg-type]
    with pytest.raises(bl.SelectionError, match="no option"):
        bl.similarity(lens, A, B).explore(texts=1)


def test_a_model_that_has_changed_is_refused() -> None:
    lens = bl.Lens(encoder())
    view = bl.similarity(lens, A, B).explore()
    with torch.no_grad():
        next(iter(lens.model.parameters())).add_(1)
    for op, texts in (("similar", {"texts": [A, B, "", ""]}), ("similar_without", {})):
        assert "changed" in asked(view, op, **texts)[0]["error"]


def test_the_page_is_written(lens: bl.Lens, tmp_path: Any) -> None:
    text = bl.similarity(lens, A, B).to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"{A} | {B}" in text.split("</title>")[0]


def test_beside_unrelated_texts(lens: bl.Lens) -> None:
    found = bl.similarity(lens, A, B, tasks=("query", "document"))
    told = asked(found.explore(), "similar_baseline")[0]
    wanted = found.baseline
    assert (told["n"], told["low"], told["high"]) == (wanted.n, wanted.low, wanted.high)
    other = asked(lens.trace(A).explore(), "similar_baseline", texts=[B, A, "document", "query"])[0]
    assert other["value"] == pytest.approx(bl.similarity(lens, B, A, ("document", "query")).value)
    held = [message["op"] for message, _ in found.explore().page().answers]
    assert held.count("similar_baseline") == 1


def test_who_reads_a_second_text_on_its_own(lens: bl.Lens) -> None:
    def apart(trace: bl.Trace) -> Any:
        return trace.explore().overview["header"]["apart"]

    assert apart(lens.trace(A)) is True
    assert apart(bl.Lens(crossed()).trace(A, B)) is False
    assert apart(bl.Lens(lens.sentences.model, lens.tokenizer).trace(A)) is False  # nobody knows how it is used
    assert apart(bl.Trace.from_attentions(attention(2, 2, 3, 3), list("abc"))) is False


def test_layers_say_what_they_wrote(lens: bl.Lens) -> None:
    view = bl.similarity(lens, A, B).explore()
    told, _ = asked(view, op="similar_layers", texts=[B, A, "", "query"])
    found = bl.similarity(lens, B, A, tasks=(None, "query"))
    table = found.by("layer")
    assert told["names"] == ["embeddings", *(f"L{n}" for n in range(found.traces[0].n_layers)), "bias"]
    for side in "ab":
        np.testing.assert_allclose(told[side], table[side], atol=1e-6)
        assert sum(told[side]) == pytest.approx(found.value, abs=1e-5)


def test_the_still_picture_is_of_the_pairs(lens: bl.Lens) -> None:
    """Its colours are of the parts; where nothing is split it is the run of the first text."""
    found = bl.similarity(lens, A, B)
    drawn = SimilarityPanel(found).still(0, 0, None, None)
    assert drawn is not None
    assert found.explore()._repr_mimebundle_()[0]["image/png"] == drawn
    pixels = np.asarray(Image.open(io.BytesIO(drawn)).convert("RGB")).reshape(-1, 3)
    reddest, slate = colors.table("signed", "light")[[-1, 0]]
    cells = found.pairs().to_numpy()
    largest = np.abs(cells).argmax()
    strongest = reddest if cells.flat[largest] > 0 else slate
    assert (np.abs(pixels - strongest.astype(int)).max(1) < 3).sum() >= 100  # its cell
    assert SimilarityPanel(bl.similarity(bl.Lens(encoder(mode="max")), A, B)).still(0, 0, None, None) is None


def test_late_interaction_has_matches_and_no_split() -> None:
    pytest.importorskip("sentence_transformers", minversion="6.2")
    from unit.sentences.test_late_interaction import FIXED, D, Q, late

    model = late(expansion=FIXED)
    found = bl.similarity(bl.Lens(model), Q, D, ("query", "document"))
    drawn = SimilarityPanel(found).still(0, 0, None, None)
    assert drawn is not None and Image.open(io.BytesIO(drawn)).size[1] > 100
    view = found.explore()
    told, arrays = first(view)
    query, passage = model.encode_query(Q), model.encode_document(D)
    np.testing.assert_allclose(arrays["similar.pairs"], query @ passage.T, atol=1e-5)
    assert told["late"]["best"] == (query @ passage.T).argmax(1).tolist()
    assert sum(told["late"]["parts"]) == pytest.approx(float(model.similarity(query, passage)), abs=1e-4)
    assert told["late"]["kinds"][0].count("added") == 6 and told["function"] == "MaxSim"
    for op in ("similar_input", "similar_layers", "similar_without"):
        assert "a late-interaction score has no such numbers" in asked(view, op=op)[0]["error"]
    assert "longer than" in asked(view, texts=["the " * 90_000, D, "", ""])[0]["error"]


def test_a_sparse_encoder_has_words_of_both_vectors() -> None:
    """As the library's own vectors have them; every question of the view is answered."""
    from unit.tiny_encoders import sparse

    model = sparse()
    lens = bl.Lens(model)
    found = bl.similarity(lens, A, B)
    view = found.explore()
    told, arrays = first(view)
    a, b = (x.to_dense().double() for x in model.encode([A, B]))
    vocabulary = told["vocabulary"]
    parts = (a * b).sort(descending=True).values
    count = int((parts > 0).sum())
    assert [row["part"] for row in vocabulary["words"]] == pytest.approx(parts[: min(60, count)].tolist(), rel=1e-5)
    assert len(vocabulary["words"]) == min(60, count) and found.said in vocabulary["said"]
    sentence = f"the other {count - 60} put in {float(parts[60:].sum()):.3f}."
    assert (sentence in vocabulary["said"]) == (count > 60)
    assert arrays["similar.pairs"].sum() == pytest.approx(found.value, rel=1e-5) and told["splits"] == ["output"]
    for side, vector, text in zip("ab", (a, b), (A, B), strict=True):
        own = {*model.tokenizer(text)["input_ids"]}
        words = [word for word in vector.argsort(descending=True).tolist() if vector[word] > 0]
        brought = [word for word in words if word not in own]
        name = model.tokenizer.convert_ids_to_tokens(brought[0])
        sentence = f"Of the {len(words)} words of text {side}’s vector the text does not contain {len(brought)}"
        assert f"{sentence}, the largest 8: “{name}” {float(vector[brought[0]]):.3f} by “" in vocabulary["said"]
    without = asked(view, op="similar_without")[1]["without"]
    assert without[0, 0] == pytest.approx(found.value, rel=1e-4)
    layers = asked(view, op="similar_layers")[0]
    assert sum(layers["a"]) == pytest.approx(found.value, rel=1e-4)
    assert "is split by the tokens that made the weights" in asked(view, op="similar_input")[0]["error"]
    assert SimilarityPanel(found).still(0, 0, None, None) is not None
    assert asked(lens.trace(A).explore(), texts=[A, B, "", ""])[0]["value"] == pytest.approx(found.value, rel=1e-5)
    model.similarity_fn_name = "manhattan"
    none = bl.similarity(lens, A, B).explore().overview["header"]["similar"]
    assert none["vocabulary"]["words"] == [] and none["vocabulary"]["said"].startswith("Of the ") and none["why_not"]


def test_it_opens_the_runs_on_the_head_that_an_explorer_opens_on(lens: bl.Lens) -> None:
    found = bl.similarity(lens, A, B)
    explorer, view = found.traces[0].explore(), found.explore()
    assert (view.layer, view.head) == (explorer.layer, explorer.head) != (0, 0) and view.query is None
    assert (found.explore(layer=1, head=0).layer, found.explore(layer=1, head=0).head) == (1, 0)
    ranked = bl.rank(lens, A, [B, A]).explore()
    explorer = ranked.trace.explore()
    assert (ranked.layer, ranked.head) == (explorer.layer, explorer.head) != (0, 0)
