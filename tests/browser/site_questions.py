"""What readers of the documentation ask, in words that its pages do not have as a title: two tries each.

(page, first try, second try). Also ten who never saw it: what they click on the front page, and what they read then.
"""

from __future__ import annotations

SEARCHED = [
    (
        "answers/other_embeddings",
        "my vectors are not the same as those of SentenceTransformer",
        "cosine different from sentence transformers encode",
    ),
    (
        "answers/empty_attentions",
        "attentions is an empty tuple in the new transformers",
        "model returns no attention weights with sdpa",
    ),
    (
        "answers/bertviz",
        "head_view raises stack expects a non-empty TensorList",
        "bertviz error tuple index out of range",
    ),
    (
        "answers/false_positives",
        "why does my classifier call negative texts positive",
        "words behind wrong positive predictions",
    ),
    (
        "answers/wrong_passage",
        "semantic search returns an irrelevant passage at the top",
        "why does the right document rank below a wrong one",
    ),
    (
        "answers/half_dimensions",
        "can I truncate my embeddings to save memory in the index",
        "smaller vectors matryoshka quality of search",
    ),
    (
        "answers/fine_tuning",
        "compare a checkpoint before and after training",
        "which heads are different after finetuning",
    ),
    (
        "answers/offline",
        "use it in Jupyter without internet",
        "notebook behind a firewall no network attention",
    ),
    (
        "answers/to_a_class",
        "show students how transformers attend",
        "teaching attention in a lecture",
    ),
    (
        "answers/proteins",
        "visualise a protein language model",
        "amino acids antibody heavy chain attention",
    ),
]
