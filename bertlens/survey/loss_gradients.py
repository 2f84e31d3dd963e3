"""Would it matter if a head looked elsewhere? Gradients of the loss with respect to attention, by kind of token.

Clark et al. 2019, section 3.2: attention to [SEP] that hardly moves the loss is a no-op. One backward pass a batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base.amounts import amount, verb
from ..base.batch_work import partial_work
from ..base.dataframes import pd
from ..base.notes import note
from ..base.progress import Progress
from ..errors import InputError, ModelError, check_index, check_lens, excerpt
from ..lens import Lens
from ..measures import categories
from ..measures.gradients import Gradients
from ..measures.rows import MARKS
from ..run.backward import context_gradients
from ..text.encoding import Encoding
from .corpus import Corpus, Numbered, numbered, size, windows
from .text_statistics import CATEGORIES


def attention_gradients(
    lens: Lens,
    corpus: Corpus,
    *,
    labels: Sequence[int] | None = None,
    loss: Callable[[Any], Tensor] | None = None,
    masked: float = 0.15,
    seed: int = 0,
    batch_size: int = 8,
    truncation: bool = False,
    limit: int | None = None,
    progress: bool = True,
    column: str | tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Mean |dL/dα_ij| by kind of the key j: DataFrame(layer, head, first, separator, punctuation, other), a row a head.

    The mean is over all pairs of the corpus with such a key, NaN where a kind does not occur. dL/dα is taken as if each
    weight could change alone, in units of the loss, with one loss per text. Kinds as in measures.categories,
    punctuation "." and ",". attrs: objective, mean loss, texts, pairs.

    With a masked-LM head: in each text the share `masked` of the tokens (at least one, drawn with `seed`) becomes the
    mask token, counted as "other", and the loss is the mean cross-entropy of guessing them. With a sequence
    classifier: the model's own loss, for `labels` (one per text of the corpus), without them for the class that the
    model itself says. For any other model `loss`: a function of the model's output for one text that gives a number.
    Corpus and the other arguments as for `head_stats`. An interrupt ends the run, and what was done counts.
    Clark et al. 2019, section 3.2.
    Raises InputError for texts that cannot be read, labels that do not fit, an empty corpus; ModelError for a model
    without a loss, or of a family that does not use the attention interface.
    """
    objective = _objective(lens, labels, loss)
    if objective == "loss given":
        batch_size = 1
    total, pairs, losses, texts, blank = None, np.zeros(len(CATEGORIES)), 0.0, 0, 0
    entries = numbered(corpus, limit, column)
    with (
        partial_work(lambda: f"gradients over {texts} texts" if texts else ""),
        Progress(
            total=size(corpus, limit) if progress else None, unit="text", desc="gradients", disable=not progress
        ) as bar,
    ):
        for batch in itertools.chain.from_iterable(windows(entries, batch_size)):
            encodings, targets = _targets(lens, batch, objective, labels, masked, seed, truncation)
            bar.update(len(batch))
            blank += len(batch) - len(encodings)
            for gradients, hidden in _gradients(lens, encodings, targets, loss, batch_size):
                sums, counts = _by_kind(gradients, hidden)
                total = sums if total is None else total + sums
                pairs += counts
                losses, texts = losses + gradients.loss, texts + 1
    if total is None:
        raise InputError("the corpus holds no texts with anything to guess")
    if blank:
        are = verb(blank, "is", "are")
        note(f"{amount(blank, 'text')} of special tokens alone {are} left out: there is nothing to guess")
    with np.errstate(invalid="ignore"):
        means = total.numpy() / pairs
    layer, head = np.indices(means.shape[:2]).reshape(2, -1)
    table = pd.DataFrame({"layer": layer, "head": head})
    for kind, name in enumerate(CATEGORIES):
        table[name] = means[:, :, kind].ravel()
    named = {name: int(count) for name, count in zip(CATEGORIES, pairs, strict=True)}
    table.attrs = {"objective": objective, "loss": losses / texts, "texts": texts, "pairs": named}
    return table


def _by_kind(gradients: Gradients, hidden: list[int]) -> tuple[Tensor, np.ndarray]:
    """(L, H, kinds) Σ |dL/dα| over the keys of each kind, and how many pairs that is; hidden tokens are "other"."""
    trace = gradients.trace
    kinds = categories.categories(trace, MARKS).cpu()
    kinds[hidden] = CATEGORIES.index("other")
    member = torch.nn.functional.one_hot(kinds, len(CATEGORIES)).double()
    layers = [gradients.attention(layer).abs().sum(1) for layer in range(trace.n_layers)]
    return torch.stack(layers).double().cpu() @ member, member.sum(0).numpy() * trace.n_tokens


def _objective(lens: Lens, labels: Sequence[int] | None, loss: Any) -> str:
    check_lens(lens)
    if loss is not None:
        if labels is not None:
            raise InputError("give labels= or loss=, not both")
        return "loss given"
    runner = lens.borrowed.runner
    name = type(runner).__name__
    if name.endswith("ForMaskedLM"):
        if lens.tokenizer.mask_token_id is None:
            raise ModelError("the tokenizer has no mask token: pass loss= as a function of the model's output")
        if labels is not None:
            raise InputError("a masked-LM guesses the text itself: it takes no labels")
        return "masked-LM"
    config: Any = runner.config
    one_of_several = getattr(config, "num_labels", 1) > 1 and config.problem_type in (
        None,
        "single_label_classification",
    )
    if name.endswith("ForSequenceClassification") and one_of_several:
        for label in _labels(labels):
            check_index(label, config.num_labels, "label")
        return "classification, labels given" if labels is not None else "classification, the model's own answer"
    raise ModelError(f"{name} has no loss that bertlens knows: pass loss= as a function of the model's output")


def _encoding_of(lens: Lens, entry: Numbered, truncation: bool) -> Encoding:
    item = entry.item
    try:
        if isinstance(item, tuple):
            return lens.encoding(*item, truncation)
        if isinstance(item, str | list):
            return lens.encoding(item, None, truncation)
    except InputError as error:
        raise InputError(f"{entry}: {error}") from None
    if item.lens is not lens:
        raise InputError(f"{entry} is a trace of another lens: gradients need this one's model")
    return item.encoding


def _targets(
    lens: Lens,
    batch: list[Numbered],
    objective: str,
    labels: Sequence[int] | None,
    masked: float,
    seed: int,
    truncation: bool,
) -> tuple[list[Encoding], list[Any]]:
    """The batch's inputs, and what is to be guessed: {position: token id} of a text, a class, or None."""
    encodings, targets = [], []
    for entry in batch:
        at, encoding = entry.number, _encoding_of(lens, entry, truncation)
        target: Any = None
        if objective == "masked-LM":
            text = [i for i, special in enumerate(encoding.special) if not special]
            if not text:
                continue
            # a text's mask depends on the text's place alone, not on its batch
            positions = np.random.default_rng([seed, at]).choice(text, max(1, round(masked * len(text))), replace=False)
            target = {int(i): encoding.input_ids[i] for i in positions}
            mask = lens.tokenizer.mask_token_id
            ids = tuple(mask if i in target else number for i, number in enumerate(encoding.input_ids))
            encoding = replace(encoding, input_ids=ids)
        elif labels is not None:
            if at >= len(labels):
                raise InputError(f"the corpus has more texts than there are labels: {len(labels)}")
            target = labels[at]
        encodings.append(encoding)
        targets.append(target)
    return encodings, targets


def _labels(labels: Any) -> list[Any]:
    if labels is not None and (isinstance(labels, str | bytes) or not hasattr(labels, "__len__")):
        raise InputError(f"labels are a list of numbers of classes, one for each text, not {excerpt(labels)}")
    return [] if labels is None else list(labels)


def _gradients(
    lens: Lens, encodings: list[Encoding], targets: list[Any], loss: Callable[[Any], Tensor] | None, batch_size: int
) -> Iterator[tuple[Gradients, list[int]]]:
    """The gradients of each text, with the positions that were masked."""
    for batch in lens.batches(encodings, batch_size):
        yield from _backward(lens, [encodings[at] for at in batch], [targets[at] for at in batch], loss)


def _backward(
    lens: Lens, encodings: list[Encoding], targets: list[Any], loss: Callable[[Any], Tensor] | None
) -> Iterator[tuple[Gradients, list[int]]]:
    """The same of texts that share a batch: one backward pass."""
    traces = lens.run(encodings)
    values = traces[0].value(0)  # says why where there are none
    text_losses: list[float] = []

    def loss_sum(output: Any) -> Tensor:
        """Σ of the texts' losses: none has a part in another's gradient."""
        losses = [loss(output)] if loss else [_cross_entropy(output, row, target) for row, target in enumerate(targets)]
        text_losses.extend(float(value.detach()) for value in losses)
        return torch.stack(losses).sum()

    _, context = context_gradients(lens.borrowed, lens.inputs(encodings), traces[0].n_layers, loss_sum)
    for row, trace in enumerate(traces):
        contexts = [g[row, : trace.n_tokens].to(values.dtype).transpose(0, 1) for g in context]
        yield Gradients(trace, text_losses[row], contexts), list(targets[row]) if isinstance(targets[row], dict) else []


def _cross_entropy(output: Any, row: int, target: Any) -> Tensor:
    """The cross-entropy of one text: of its masked tokens (a mean), or of its class."""
    logits = output.logits[row] if output.logits.dtype == torch.float64 else output.logits[row].float()
    if isinstance(target, dict):
        logits, target = logits[list(target)], list(target.values())
    elif target is None:
        target = int(logits.argmax())
    return torch.nn.functional.cross_entropy(logits, torch.tensor(target, device=logits.device))
