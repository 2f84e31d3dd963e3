"""What the notebook about a search says in words and numbers."""

import pandas as pd

# %% after folder
from bertlens.search import texts

read = {name: texts(folder / f"{name}.jsonl") for name in ("queries", "corpus")}
assert len(read["queries"]) > 150 and len(read["corpus"]) > 200
if len(read["corpus"]) < 1000:  # the books: each question is missing in its passage, which stands in the book with it
    from bertlens.text import excerpts

    questions, cut = passages.cut_sentences()
    books = " ".join(text for paragraphs in excerpts.paragraphs().values() for text in paragraphs)
    assert all(name.removeprefix("from ") in cut and text in books for name, text in questions.items())
    assert not any(text in cut[name.removeprefix("from ")] for name, text in questions.items())

# %% after rank
assert r.by_question.columns[0] == "nDCG@10" and {"bm25", "difference_low"} <= set(r.metrics())
assert "recall@10" in set(r.metrics()["measure"])

# %% after failures
first = [r.ranking(name, 1)["grade"].iloc[0] > 0 for name in r.by_question.index]
assert len(failures) == len(first) - sum(first)

# %% after why
assert failures["gap"].max() == worst["gap"]
assert abs(c.query["difference"].sum() - (c.scores[0] - c.scores[1])) < 1e-5

# %% after without
assert c.named == table["word"].iloc[1] and (table["draw"] == "random").sum() > 0

# %% after view
assert view.query == worst["query"]

# %% after split
assert {*sentences["document"]} <= {*r.collection.passage_ids} and len(sentences) > len(r.collection.passages)
assert len(change) == 5 and change["n"].iloc[0] == len(r.by_question)
before, now = (one.by_question["nDCG@10"].mean() for one in (r, mended))
assert abs(change["difference"].iloc[0] - (now - before)) < 1e-12

# %% after negatives

assert pd.read_csv(folder / "triplets.csv").shape == triplets.triplets.shape
assert list(triplets.triplets) == ["anchor", "positive", "negative"]
