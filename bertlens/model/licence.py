"""Under what licence a model may be handed on, as far as the model says so itself. Nothing is asked of a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache

_SHIPPED = {"bl.Lens.embedded(mlm=True)": "apache-2.0"}  # made here, of what has no folder
_FRONT = re.compile(r"\A\ufeff?---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)


def licence(config: Any, made: str = "") -> str:
    """What the config says, else the head of the model card beside it or in the hub's cache; "" where neither does.

    made: the Python that made the lens.
    """
    if stated := _SHIPPED.get(made) or getattr(config, "license", None):
        return str(stated)
    name = str(getattr(config, "name_or_path", "") or "")
    card = file_of(name, "README.md")
    front = _FRONT.match(card)
    fields: dict[str, str] = dict(
        re.findall(r"^(license|license_name):[ \t]*[\"']?([^\s\"'#]+)", front[1] if front else "", re.MULTILINE)
    )
    named: str = fields.get("license", "")
    return fields.get("license_name", named) if named == "other" else named


def file_of(name: str, file: str) -> str:
    """The text of a file of a model, in its folder or in the hub's cache; "" where there is none."""
    try:
        if name and Path(name).is_dir():
            path: Path | None = Path(name) / file
        else:
            cached = try_to_load_from_cache(name, file) if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) else None
            path = Path(cached) if isinstance(cached, str) else None
        return path.read_text(encoding="utf-8", errors="replace") if path and path.is_file() else ""
    except (OSError, ValueError):
        return ""
