"""Training: masked tokens are predicted (Devlin et al. 2019), from whatever encoder is given; resumable, seeded.

No dropout: the corpus is seen about once, and a pass costs less without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..base.interrupts import interruptible
from ..errors import InputError
from ..model.loan import Loan
from .steps import TrainingRun, check_settings, of_epoch, of_step
from .training_text import Passages

EVALUATED = 0.15  # share of a passage's tokens that are predicted when the model is scored
FLAT = 0.002  # nats: less than this is no fall of the held-out loss
POINTS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1.0)  # of a run, at which the heads are looked at


@dataclass(frozen=True)
class TrainingSettings:
    """What a run is made of; stored with its checkpoints and in the model card."""

    seed: int = 0
    steps: int = 12_000
    tokens: int = 2048  # of a step
    length: int = 128  # of a passage, at most
    masked: float = 0.2  # share of the tokens that are predicted: 8 of 10 shown as the mask, one as another, one kept
    learning_rate: float = 5e-4
    warmup: int = 500  # steps
    weight_decay: float = 0.01
    clip: float = 1.0
    evaluations: int = 40  # of the held-out loss; it is flat where the last tenth of the steps brought it down no more
    hours: float = 6.0  # at most
    bfloat16: bool = False  # products in bfloat16 (weights stay float32): half the time where the processor knows it

    def __post_init__(self) -> None:
        check_settings(self)
        if self.length < 16 or not self.hours >= 0:  # NaN is not
            raise InputError("a run has passages of 16 tokens or more, and hours that are not negative")


@dataclass(frozen=True)
class Score:
    """How well masked tokens are predicted: mean loss in nats, shares of right first and first ten answers."""

    loss: float
    top1: float
    top10: float
    n: int


class Masking:
    """Which tokens of a batch are predicted, and what stands in their places."""

    def __init__(self, tokenizer: Any):
        self.mask = tokenizer.mask_token_id
        self.special = torch.zeros(len(tokenizer), dtype=torch.bool)
        self.special[tokenizer.all_special_ids] = True
        self.ordinary = (~self.special).nonzero()[:, 0]

    def chosen(self, ids: Tensor, share: float, generator: torch.Generator) -> Tensor:
        """(B, S) bool: the same number of each row's ordinary tokens, at least one."""
        order = torch.rand(ids.shape, generator=generator).masked_fill_(self.special[ids], 2.0)
        n = max(1, round(share * int((~self.special[ids]).sum(1).min())))
        return torch.zeros_like(ids, dtype=torch.bool).scatter_(1, order.argsort(1)[:, :n], True)

    def corrupted(self, ids: Tensor, places: Tensor, generator: torch.Generator) -> Tensor:
        """(B, S) ids with 80 % of the chosen ones masked and 10 % exchanged for any other (Devlin et al. 2019, A.1)."""
        luck = torch.rand(ids.shape, generator=generator)
        substitutes = self.ordinary[torch.randint(len(self.ordinary), ids.shape, generator=generator)]
        return torch.where(places & (luck < 0.8), self.mask, torch.where(places & (luck < 0.9), substitutes, ids))


@contextmanager
def only(model: Any, places: Tensor) -> Iterator[None]:
    """The model's head is run on the chosen positions (B, S) alone: logits come as (1, N, V)."""

    def select(module: nn.Module, args: Any, output: Any) -> Any:
        output[0 if isinstance(output, tuple) else "last_hidden_state"] = output[0][places][None]
        return output

    with Loan() as loan:
        loan.hook(model.base_model.register_forward_hook(select))
        yield


def logits_at(model: Any, ids: Tensor, places: Tensor) -> Tensor:
    """(N, V) the model's logits at the chosen positions of ids (B, S)."""
    with only(model, places), interruptible():
        logits: Tensor = model(input_ids=ids).logits
    return logits[0]


@torch.no_grad()
def evaluate(
    model: Any,
    passages: Passages,
    masking: Masking,
    tokens: int = 4096,
    bfloat16: bool = False,
    share: float = EVALUATED,
) -> Score:
    """The score on passages; the masks are the same at every call, and every chosen token is shown as the mask.

    share: of a passage's tokens that are masked at once; 0 masks one alone.
    """
    device = next(model.parameters()).device
    loss, right, among, n = 0.0, 0, 0, 0
    for number, batch in enumerate(passages.batches(tokens)):
        generator = torch.Generator().manual_seed(number)
        ids = passages.rows(batch)
        places = masking.chosen(ids, share, generator)
        inputs = torch.where(places, masking.mask, ids).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            logits = logits_at(model, inputs, places.to(device)).float()
        answers = ids[places].to(device)
        loss += float(nn.functional.cross_entropy(logits, answers, reduction="sum"))
        best = logits.topk(10).indices == answers[:, None]
        right += int(best[:, 0].sum())
        among += int(best.sum())
        n += len(answers)
    return Score(loss / n, right / n, among / n, n)


def train(
    model: Any,
    passages: Passages,
    held_out: Passages,
    masking: Masking,
    folder: Path,
    settings: TrainingSettings,
    *,
    data: Mapping[str, Any] | None = None,
    at_point: Callable[[int], None] | None = None,
    stop_after: int | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Train `model` in place until the held-out loss is flat, or the steps or hours are spent. Returns the record.

    A checkpoint in `folder` of a run with the same settings and `data` (by name, JSON) is gone on from. at_point(step)
    is called at POINTS of the run. `stop_after` ends this call (not the run) early.
    The record: settings, steps, finished, seconds, device, losses (of each step), history (held-out scores).
    Raises InputError where the folder holds a checkpoint of another run.
    """
    model.eval()  # no dropout
    batch_of = Order(passages, settings)
    inputs = {**(data or {}), "shapes": [[*p.shape] for p in model.parameters()]}
    evaluated_every = max(1, settings.steps // settings.evaluations)
    points = {round(share * settings.steps) for share in POINTS}
    with TrainingRun(model, settings, folder, inputs, {"losses": []}, eps=1e-6, quiet=quiet) as run:
        losses, history, start = run.state["losses"], run.state["history"], run.step
        while not (finished := _finished(run.step, history, settings, run.seconds)):
            if run.step - start == stop_after:
                break
            if run.step in points and at_point is not None:
                at_point(run.step)
            losses.append(run.learn(_loss(model, batch_of(run.step), masking, settings, run.step)))
            if run.step % evaluated_every == 0 or run.step == settings.steps:
                score = evaluate(model, held_out, masking, bfloat16=settings.bfloat16)
                history.append({"step": run.step, **asdict(score)})
                run.progress.set_postfix(held_out=f"{score.loss:.3f}", top1=f"{score.top1:.1%}", refresh=False)
                run.save()
    if finished and at_point is not None:
        at_point(run.step)
    return run.record() | {"finished": finished, "losses": [round(loss, 4) for loss in losses]}


def _finished(step: int, history: list[dict[str, float]], settings: TrainingSettings, seconds: float) -> str:
    """Why the run is over; empty where it is not."""
    if step >= settings.steps:
        return "all steps"
    if seconds > settings.hours * 3600:
        return f"{settings.hours:g} hours"
    losses, window = [scored["loss"] for scored in history], max(1, settings.evaluations // 10)
    if len(losses) > window and min(losses[:-window]) - min(losses[-window:]) < FLAT:
        return "held-out loss is flat"
    return ""


def _loss(model: Any, ids: Tensor, masking: Masking, settings: TrainingSettings, step: int) -> Tensor:
    """Mean cross-entropy of the tokens that this step masks, in nats."""
    device = next(model.parameters()).device
    generator = of_step(settings.seed, step)
    places = masking.chosen(ids, settings.masked, generator)
    inputs = masking.corrupted(ids, places, generator)
    with torch.autocast(device.type, torch.bfloat16, enabled=settings.bfloat16):
        logits = logits_at(model, inputs.to(device), places.to(device))
    return nn.functional.cross_entropy(logits.float(), ids[places].to(device))


class Order:
    """Which passages a step takes: all once in an epoch, in an order of the epoch's own."""

    def __init__(self, passages: Passages, settings: TrainingSettings):
        self.passages, self.settings = passages, settings
        self.epoch, self.batches = -1, passages.batches(settings.tokens)

    def __call__(self, step: int) -> Tensor:
        epoch, number = divmod(step, len(self.batches))
        if epoch != self.epoch:
            generator = of_epoch(self.settings.seed, epoch)
            self.epoch, self.batches = epoch, self.passages.batches(self.settings.tokens, generator)
        return self.passages.rows(self.batches[number])
