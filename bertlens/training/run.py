"""What `bertlens train-mlm` does: an encoder and texts in; a trained folder, its history and its model card out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ..base.paths import as_path
from ..errors import ExportError, InputError, ModelError
from ..model import offline_model
from ..model.identity import identity
from ..model.loading import load
from ..text.encoding import token_limit
from . import differences
from .folder import CHECKPOINT, check_folder, sha256, write_scores
from .history import History
from .model_card import card
from .steps import training_device
from .train import EVALUATED, Masking, TrainingSettings, evaluate, train
from .training_text import SET_ASIDE, SHORTEST, Passages, files, passages, prepare, read

MOST_SCORED = 2000  # passages of a file, evenly over it

# Chosen before any model was trained, with the answers that a reader would expect.
SENTENCES = (
    ("The capital of France is [MASK].", ("paris",)),
    ("The cat sat on the [MASK].", ("floor", "mat", "bed", "chair", "sofa", "couch")),
    ("She opened the door and walked into the [MASK].", ("room", "house", "kitchen", "hall")),
    ("The keys to the cabinet [MASK] on the table.", ("are", "were", "lay")),
    ("He did not say a [MASK].", ("word", "thing")),
    ("Once upon a [MASK] there was a king.", ("time",)),
    ("The nurse said that [MASK] was tired.", ("she", "he")),
    ("Water freezes at zero [MASK].", ("degrees", "degree", "celsius")),
    ("The opposite of hot is [MASK].", ("cold", "cool")),
    ("I drank a cup of [MASK] with my breakfast.", ("coffee", "tea", "milk")),
)


def start(source: str | None, corpus: Passages | None, seed: int) -> tuple[Any, Any]:
    """(model with a head for masked tokens, tokenizer) of a hub name or folder, of the embedded encoder for None.

    A head that the source does not have is new; its bias begins as the log frequency of each token in `corpus`.
    Raises ModelError where the tokenizer knows no mask, the model cannot have such a head, or the source is not whole.
    """
    name = offline_model.folder() if source is None else source
    torch.manual_seed(seed)
    with offline_model.quietly():
        loaded = load(name, auto="AutoModelForMaskedLM", dtype=torch.float32, seed=seed)
    model: Any = loaded.module
    if loaded.tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of {name} knows no mask token: a masked language model needs one")
    bias = getattr(model.get_output_embeddings(), "bias", None)
    if corpus is not None and bias is not None and loaded.missing:
        counts = torch.bincount(corpus.ids, minlength=len(bias)).float() + 0.5
        bias.data.copy_((counts / counts.sum()).log())
    return model.eval(), loaded.tokenizer


def scored_files(corpus: Iterable[str | Path]) -> list[Path]:
    """The files that were set aside in the corpus's folders."""
    folders = [path for path in map(as_path, corpus) if path.is_dir()]
    return sorted(file for folder in folders for file in folder.iterdir() if file.name.startswith(SET_ASIDE))


def train_and_save(
    corpus: Iterable[str | Path],
    output: Path,
    settings: TrainingSettings,
    *,
    model_name: str | None = None,
    score: Iterable[str | Path] = (),
    force: bool = False,
) -> dict[str, Any]:
    """Train on the corpus, then score the files of `score` (and those set aside in its folders), never read before.

    An interrupted run goes on from the checkpoint in `output`. Returns what metrics.json holds. A model made from the
    embedded encoder is kept as its differences from it, and scored as it is kept; others are saved whole.
    Raises InputError, before any training, for a folder that holds a finished run or other files (unless `force`),
    passages too long for the model, and files that cannot be scored; ExportError where the folder cannot be written.
    """
    corpus = list(corpus)
    check_folder(output, force)
    paths = files(corpus)
    aside = [as_path(path) for path in score] or scored_files(corpus)
    if missing := [path for path in aside if not path.is_file()]:
        raise InputError(f"no file {missing[0]} to score")
    bare, tokenizer = start(model_name, None, settings.seed)
    limit = token_limit(tokenizer, bare.base_model)
    if limit is not None and settings.length > limit:
        raise InputError(f"passages of {settings.length:,} tokens are too long for the model: give at most {limit:,}")
    scored = {path.name: scored_passages(tokenizer, path, settings.length) for path in aside}
    learned, held_out = prepare(read(paths), tokenizer, settings.length)
    model, _ = start(model_name, learned, settings.seed)
    masking, model = Masking(tokenizer), model.to(training_device())
    hashes = {path.name: sha256(path) for path in paths}
    of = hashes | identity(model, model, tokenizer, model.dtype)
    history = History(model, tokenizer, held_out, masking, output, of | asdict(settings))
    record = train(model, learned, held_out, masking, output, settings, data=of, at_point=history)
    model = model.cpu()
    if model_name is None:
        differences.write(model, output / differences.FILE)
        stored, _ = differences.load(output)
    else:
        try:
            model.save_pretrained(output)
            tokenizer.save_pretrained(output)
        except (OSError, SafetensorError) as error:
            raise ExportError(f"the model cannot be written in {output} ({error})") from error
        stored = model
    scores, single = (
        {name: score_passages(stored, tokenizer, rows, share) for name, rows in scored.items()}
        for share in (EVALUATED, 0)
    )
    metrics = {
        "model": model_name or offline_model.NAME,
        "corpus": hashes,
        "tokens": len(learned.ids),
        "vocabulary": len(tokenizer),
        "share": EVALUATED,
        "run": record,
        "held_out": asdict(evaluate(stored, held_out, masking)),
        "before_rounding": asdict(evaluate(model, held_out, masking)),
        "unigram": unigram(learned, held_out, masking),
        "scores": scores,
        "single": single,
        "sentences": answers(stored, tokenizer),
    }
    write_scores(output, metrics, card(metrics))
    (output / CHECKPOINT).unlink(missing_ok=True)
    return metrics


def scored_passages(tokenizer: Any, path: Path, length: int) -> Passages:
    """At most MOST_SCORED passages of a file. Raises InputError where it is no text, or has none to score."""
    texts = [*read([path])]
    rows = [row for text_rows in passages(texts, tokenizer, length) for row in text_rows] if texts else []
    sample = [rows[n * len(rows) // MOST_SCORED] for n in range(MOST_SCORED)] if len(rows) > MOST_SCORED else rows
    if not sample:
        raise InputError(f"{path} has no text to score: a passage has {SHORTEST} tokens or more")
    return Passages.of(sample)


def score_passages(model: Any, tokenizer: Any, scored: Passages, share: float) -> dict[str, float]:
    """What `evaluate` says of passages, and how many they are. share: as for `evaluate`."""
    return asdict(evaluate(model, scored, Masking(tokenizer), share=share)) | {"passages": len(scored)}


def unigram(learned: Passages, held_out: Passages, masking: Masking) -> dict[str, float]:
    """What the frequency of tokens alone would reach on the held-out passages: loss, top1, top10."""
    size = len(masking.special)
    counts = torch.bincount(learned.ids, minlength=size).double() + 0.5
    counts[masking.special] = 0
    share = counts / counts.sum()
    ids = held_out.ids.long()
    ids = ids[~masking.special[ids]]
    best = share.topk(10).indices
    return {
        "loss": float(-share[ids].log().mean()),
        "top1": float((ids == best[0]).double().mean()),
        "top10": float(torch.isin(ids, best).double().mean()),
    }


@torch.no_grad()
def answers(model: Any, tokenizer: Any, k: int = 5) -> list[dict[str, Any]]:
    """The model's first k answers to SENTENCES."""
    rows = []
    for sentence, expected in SENTENCES:
        inputs = tokenizer(
            sentence.replace("[MASK]", tokenizer.mask_token), return_tensors="pt", truncation=False, padding=False
        )
        at = int((inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0, 0])
        best = model(**inputs).logits[0, at].softmax(-1).topk(k)
        top = [
            {"token": tokenizer.decode([token]).strip(), "probability": round(float(p), 4)}
            for p, token in zip(best.values, best.indices.tolist(), strict=True)
        ]
        rows.append({"sentence": sentence, "expected": list(expected), "top": top})
    return rows
