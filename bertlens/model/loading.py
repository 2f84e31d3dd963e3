"""A model and its tokenizer from a folder or the hub: complete, or one error that says what is missing.

transformers fills in random weights and makes up a tokenizer where a checkpoint has none; here both are errors.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..errors import BertLensError, ModelError
from .families import PAGE

REACHABLE = 3.0  # seconds that the hub has to answer in
WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
ADAPTER = "adapter_config.json"
PICKLES = ("*.bin", "*.pt")
OTHERS = {"tf_model.h5": "TensorFlow", "flax_model.msgpack": "Flax"}
# Parts at the top of an encoder that its attention does not pass through
HEADS = re.compile(r"(pooler|[a-z_]*head|classifier|cls|score|qa_outputs)(\.|$)")
MOST_NAMES = 6  # in a message
READ = {  # the end of a class whose answer measures.predictions reads -> what finds it for a config
    "ForMaskedLM": ("AutoModelForMaskedLM", "MODEL_FOR_MASKED_LM_MAPPING"),
    "ForPreTraining": ("AutoModelForPreTraining", "MODEL_FOR_PRETRAINING_MAPPING"),
    "ForSequenceClassification": (
        "AutoModelForSequenceClassification",
        "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING",
    ),
    "ForTokenClassification": ("AutoModelForTokenClassification", "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING"),
    "ForQuestionAnswering": ("AutoModelForQuestionAnswering", "MODEL_FOR_QUESTION_ANSWERING_MAPPING"),
}
INSTEAD = (
    f"{PAGE} names the checkpoints that are read without such code; else load it yourself (trust_remote_code=True, if "
    "you trust it) and give Lens(model, tokenizer) both"
)
OTHER_HEAD = re.compile("For[A-Z]|LMHead")  # in the name of a class that has some head


@dataclass(frozen=True)
class Loaded:
    """A model and tokenizer, and sentences about what the checkpoint lacked without harm to what is shown."""

    module: nn.Module
    tokenizer: Any
    notes: tuple[str, ...]
    missing: frozenset[str]  # names of the weights that are random


def load(
    name: str | Path,
    *,
    auto: str | None = None,
    allow_pickle: bool = False,
    revision: str | None = None,
    dtype: Any = None,
    device: Any = None,
    seed: int = 0,
) -> Loaded:
    """The model and tokenizer of a folder or hub name; the same each time, parts without weights included.

    auto: the class of transformers that finds the model; None takes the head that config.json names where its answer is
    read here and its weights are whole, else the encoder alone, and a note says so. seed: of the weights that a
    checkpoint may lack, those of a pooler, or of the head that `auto` asks for.
    Raises ModelError for whatever cannot be loaded whole: one line that names the model and what is wrong.
    """
    import transformers

    label = Path(name).name if Path(name).is_dir() else str(name)
    # trust_remote_code False, not unset: unset, transformers asks at a prompt whether to run a repository's code
    common: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
    if Path(name).is_dir():
        _check_folder(Path(name), allow_pickle)
    elif not _is_on_hub(label, revision):
        common["local_files_only"] = True
    options = common | ({} if dtype is None else {"dtype": dtype}) | ({} if allow_pickle else {"use_safetensors": True})

    def loaded(auto: str) -> tuple[Any, dict[str, Any]]:
        torch.random.manual_seed(seed)
        try:
            module_and_report: tuple[Any, dict[str, Any]] = getattr(transformers, auto).from_pretrained(
                name, output_loading_info=True, ignore_mismatched_sizes=True, **options
            )
        except OSError:
            if allow_pickle or not _pickled_on_hub(name, revision):
                raise
            raise _pickle_error(label) from None
        return module_and_report

    with one_line(label), quiet(), torch.random.fork_rng(devices=[]):
        named, finder = ("", auto) if auto else _head(name, common)
        why = "" if finder else "whose answer is not read here"
        module, report = loaded(finder or "AutoModel")
        if named and finder and (unfit := {*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])}):
            why = f"but the checkpoint holds no weights that fit {_list(_gap_names(unfit, list(module.state_dict())))}"
            module, report = loaded("AutoModel")  # a random head would answer at random
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **common)
        if device is not None:
            module = module.to(device)
    headless = f"config.json names {named}, {why}: loaded without its head"
    notes = (*((headless,) if why else ()), *_gap_notes(label, module, report))
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ModelError(
            f"{label} holds no tokenizer: every word would be unknown. Save the model's own tokenizer beside it "
            "(tokenizer.save_pretrained), or give Lens(model, tokenizer) both"
        )
    return Loaded(module, tokenizer, notes, frozenset(report["missing_keys"]))


def call_of(name: str | Path, allow_pickle: bool, revision: str | None, dtype: Any) -> str:
    """The call of from_pretrained; of a folder only its name, since the line is handed on."""
    is_folder = Path(name).is_dir()
    options = {
        "allow_pickle": allow_pickle or None,
        "revision": revision,
        "dtype": None if dtype is None else str(dtype).removeprefix("torch."),
    }
    place = f"path/to/{Path(name).resolve().name}" if is_folder else str(name)
    arguments = [json.dumps(place), *(f"{key}={value!r}" for key, value in options.items() if value is not None)]
    call = f"bl.Lens.from_pretrained({', '.join(arguments)})"
    return f"{call}  # a folder: write where it is" if is_folder else call


def _head(name: str | Path, options: dict[str, Any]) -> tuple[str, str]:
    """The class with a head that config.json names, "" for none; and what finds it, "" where its answer is not read."""
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(name, **options)
    except OSError:
        return "", "AutoModel"  # that says what is wrong
    named = next(iter(config.architectures or ()), "")
    if not OTHER_HEAD.search(named):
        return "", "AutoModel"
    finder, mapping = READ.get(f"For{named.rpartition('For')[2]}", ("", ""))
    if not finder or type(config) not in getattr(transformers, mapping) or named == "ElectraForPreTraining":
        return named, ""  # ELECTRA's tells replaced words from others: it names none
    return named, finder


def _check_folder(folder: Path, allow_pickle: bool) -> None:
    """Raises ModelError where a folder's files alone say that no model can be had of it."""
    label = folder.name
    if not (folder / "config.json").is_file():
        if (folder / ADAPTER).is_file():
            raise _adapter_error(folder)
        raise ModelError(f"{label} holds no model: config.json is missing")
    index = folder / INDEX
    if (folder / WEIGHTS).is_file():
        return
    if index.is_file():
        with one_line(label):
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        missing = [shard for shard in shards if not (folder / shard).is_file()]
        if missing:
            raise ModelError(f"{label} lacks {_list(missing)} of its {len(shards)} files of weights: copy them too")
        return
    if any(file for pattern in PICKLES for file in folder.glob(pattern)):
        if allow_pickle:
            return
        raise _pickle_error(label)
    for file, kind in OTHERS.items():
        if (folder / file).is_file():
            raise ModelError(
                f"{label} holds {kind} weights only ({file}): convert them with transformers 4 "
                f"(from_{kind[0].lower()}{'f' if kind == 'TensorFlow' else 'lax'}=True, then save_pretrained)"
            )
    raise ModelError(f"{label} holds no weights: {WEIGHTS} is missing")


def _adapter_error(folder: Path) -> ModelError:
    """How to load the adapter that a folder holds, with the model that it belongs to."""
    with one_line(folder.name):
        name = json.loads((folder / ADAPTER).read_text(encoding="utf-8")).get("base_model_name_or_path")
    base = repr(name or "NAME OF ITS MODEL")
    return ModelError(
        f"{folder.name} holds an adapter and no model: load both, for example "
        f"bertlens.Lens(peft.PeftModel.from_pretrained(AutoModel.from_pretrained({base}), {str(folder)!r}), "
        f"AutoTokenizer.from_pretrained({base}))"
    )


def _pickle_error(label: str) -> ModelError:
    return ModelError(
        f"{label} holds pickled weights only, which can run code while they load: convert them with "
        "save_pretrained, or pass allow_pickle=True if you trust them"
    )


def _is_on_hub(name: str, revision: str | None) -> bool:
    """Whether the hub has a model of that name; False where only what was downloaded before can be used.

    Raises ModelError where the hub has none, or cannot be reached and none was downloaded.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, HFValidationError, RepositoryNotFoundError

    try:
        in_cache = isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str)
    except HFValidationError:
        raise ModelError(f"there is no folder {name}, and it is no name of a model on the hub either") from None
    if constants.HF_HUB_OFFLINE:
        answer: Any = ConnectionError("offline mode is set (HF_HUB_OFFLINE)")
    else:
        address = hf_hub_url(name, "config.json", revision=revision)
        answer = within(REACHABLE, lambda: get_hf_file_metadata(address, timeout=REACHABLE))
    if isinstance(answer, GatedRepoError):
        raise ModelError(f"{name} is gated: accept its terms on the hub and log in (hf auth login)")
    if isinstance(answer, RepositoryNotFoundError):
        raise ModelError(f"there is no folder {name}, and the hub has no model of that name (or it is private)")
    if isinstance(answer, EntryNotFoundError) or not isinstance(answer, Exception):
        return True  # without a config.json it may still be an adapter
    if in_cache:
        return False
    raise ModelError(
        f"there is no folder {name}, no model of that name was downloaded before, and the hub cannot be reached"
    )


def within(seconds: float, ask: Callable[[], Any]) -> Any:
    """The answer, or the exception in its place; looking up an address heeds no timeout of its own."""
    answers: list[Any] = []

    def work() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # noqa: BLE001  told apart by the caller
            answers.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else TimeoutError(f"no answer within {seconds:.0f} s")


def _pickled_on_hub(name: str | Path, revision: str | None) -> bool:
    """Whether a hub's model without safetensors has pickled weights."""
    if Path(name).is_dir():
        return False
    from huggingface_hub import file_exists, try_to_load_from_cache

    file = "pytorch_model.bin"
    if isinstance(try_to_load_from_cache(str(name), file, revision=revision), str):
        return True
    return within(REACHABLE, lambda: file_exists(str(name), file, revision=revision)) is True


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' tables of missing weights: what matters of them is an error or a note here."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(level)


@contextmanager
def one_line(label: str) -> Iterator[None]:
    """Whatever loading raises as a ModelError of one line that names the model."""
    try:
        yield
    except (BertLensError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise ModelError(f"{label} comes with code of its own, which is not run: {INSTEAD}") from error
        reason = " ".join(str(error).split())
        raise ModelError(f"{label} cannot be loaded ({type(error).__name__}: {reason[:200]})") from error


def _gap_notes(label: str, module: Any, report: dict[str, Any]) -> tuple[str, ...]:
    """Notes on weights that are not there. Raises ModelError where they are part of what is shown."""
    kind, code = type(module).__name__, _own_class(module.config)

    def refusal(problem: str, advice: str = "") -> ModelError:
        if code:  # which may well be what the weights are for
            return ModelError(
                f"{label} comes with code of its own ({code}), which is not run, and {problem}; {INSTEAD}"
            )
        return ModelError(f"{label} {problem}{advice}")

    mismatched = sorted(report["mismatched_keys"])
    wrong = [f"{name} {_shape(stored)} for {_shape(expected)}" for name, stored, expected in mismatched]
    if wrong:
        raise refusal(f"has weights of another shape than its config says: {_list(wrong)}")
    if report["error_msgs"]:
        raise ModelError(f"{label} cannot be loaded ({' '.join(' '.join(report['error_msgs']).split())[:200]})")
    names, missing = list(module.state_dict()), set(report["missing_keys"])
    prefix = "" if module.base_model is module else f"{module.base_model_prefix}."
    encoder_names = {name for name in names if name.startswith(prefix) and not HEADS.match(name.removeprefix(prefix))}
    head_names = missing - encoder_names
    if missing & encoder_names:
        gaps = _gap_names(missing & encoder_names, list(encoder_names))
        if not all(gaps):
            strangers = _list(_in_order(report["unexpected_keys"])) or "none at all"
            raise refusal(f"holds no weights of {kind} ({strangers})", ": is config.json of another model?")
        raise refusal(f"lacks weights of {kind}: {_list(gaps)}", ". They would be random: get the whole file")
    notes = []
    if code:
        notes.append(f"config.json names code of its own ({code}), which was not run: transformers' {kind} is shown")
    if head_names:
        lacking = _list(_gap_names(head_names, names))
        notes.append(f"the checkpoint has no weights for {lacking}: random ones there, which attention does not use")
    numberless = {re.sub(r"\d+", "#", name) for name in names}
    surplus = [name for name in report["unexpected_keys"] if re.sub(r"\d+", "#", name) in numberless]
    if surplus:
        pool = [*names, *report["unexpected_keys"]]
        notes.append(f"the checkpoint holds more layers than its config asks for: {_list(_gap_names(surplus, pool))}")
    return tuple(notes)


def _own_class(config: Any) -> str:
    """The class of a model that a config names in code of its own, as module.Class; "" for none."""
    names = getattr(config, "auto_map", None) or {}
    return next((str(name).split("--")[-1] for auto, name in names.items() if auto.startswith("AutoModel")), "")


def _shape(shape: Any) -> str:
    return " x ".join(map(str, shape))


def _gap_names(weights: Any, names: list[str]) -> list[str]:
    """Names of weights, or of the largest modules all of whose weights (of `names`) are among them; "" for all."""
    weights, modules = set(weights), dict[str, None]()
    for name in _in_order(weights):
        steps = name.split(".")
        for size in range(len(steps) + 1):
            prefix = ".".join(steps[:size])
            if all(w in weights for w in names if w == prefix or w.startswith(f"{prefix}." * bool(size))):
                modules[prefix] = None
                break
    return list(modules)


def _in_order(names: Any) -> list[str]:
    """With numbers by value: layer.2 before layer.10."""
    return sorted(names, key=lambda name: [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in name.split(".")])


def _list(names: list[str]) -> str:
    surplus = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {surplus} more" if surplus > 0 else "")
