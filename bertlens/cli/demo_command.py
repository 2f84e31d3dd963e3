"""What `bertlens demo` does: notebooks where the user may change them, and JupyterLab on the tour."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ..errors import BertLensError

TOUR = "01_tour.ipynb"
STUDIES = "studies"


def notebooks() -> Path:
    """The folder of the notebooks and of `studies`, by which they count: inside an installed wheel, beside the package
    in a checkout.
    """
    package = Path(__file__).parents[1]
    return next((p for p in (package / "notebooks", package.parent / "notebooks") if (p / TOUR).is_file()), package)


def demo(arguments: argparse.Namespace) -> None:
    """Put the notebooks where the user may change them, and hand over to JupyterLab."""
    if find_spec("jupyterlab") is None:
        raise BertLensError("JupyterLab is not installed: pip install jupyterlab")
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="bertlens-"))
    shipped = notebooks()
    (folder / STUDIES).mkdir(parents=True, exist_ok=True)
    for file in sorted([*shipped.glob("*.ipynb"), *shipped.glob(f"{STUDIES}/*.py")]):
        place = folder / file.relative_to(shipped)
        if not place.exists():
            shutil.copyfile(file, place)
    tour = folder / TOUR
    if not tour.is_file():
        raise BertLensError("this installation carries no notebooks: install bertlens again from a wheel or a checkout")
    print(f"The notebooks are in {folder}", flush=True)

    # Cells that call pip or python, and the kernel itself, get this environment.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # kernels of several notebooks do not spin against each other
    # default_url: the address that JupyterLab prints leads to the tour too, not only the window it opens.
    options = [str(tour), f"--LabApp.default_url=/lab/tree/{TOUR}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    from jupyterlab.labapp import main as jupyterlab

    jupyterlab([*options, *arguments.rest])
