"""The `bertlens` command: `demo` opens JupyterLab on the tour, `html` writes a page that needs no kernel, `survey`
takes statistics of every head over a corpus, `train-mlm` and `train-sars-cov-2` train models to look into.

Bad input ends with one line on stderr and status 2, like argparse's own errors.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from bertlens import __version__
from bertlens.base.atomic import check_writable, claimed
from bertlens.errors import BertLensError

MOST_THREADS = 1024
TOUR = "01_tour.ipynb"


class Parser(argparse.ArgumentParser):
    """argparse without the usage block before an error."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def layer_list(text: str) -> list[int]:
    """ "0,1,5" -> [0, 1, 5]."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"layers are numbers with commas between, like 0,1,5; got {text!r}") from None


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="bertlens", description="Look into the attention heads of BERT-family models.", allow_abbrev=False
    )
    top.add_argument("--version", action="version", version=f"bertlens {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for add in (_demo, _html, _survey, _train_sars_cov_2, _train_mlm):
        add(commands)
    return top


def _demo(commands: Any) -> None:
    """The arguments of `demo`; the others go to JupyterLab."""
    command = commands.add_parser(
        "demo",
        help="open JupyterLab on the tour notebook",
        description="Copy the notebooks into a folder and open JupyterLab on the tour. "
        "Other arguments go to JupyterLab, for example --no-browser --port 9999.",
        allow_abbrev=False,
    )
    command.add_argument(
        "--folder",
        type=Path,
        help="where the notebooks go (default: a new temporary folder); yours are not overwritten",
    )
    command.set_defaults(run=demo)


def _html(commands: Any) -> None:
    """The arguments of `html`."""
    command = commands.add_parser("html", help="write the Explorer as one page that works without a kernel or network")
    command.add_argument("text", help="the text to look at")
    command.add_argument("text_pair", nargs="?", help="a second text, for a pair")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="PAGE.html", help="the file to write")
    command.add_argument("--model", help="hub name or folder (default: the embedded all-MiniLM-L6-v2)")
    command.add_argument(
        "--layers", type=layer_list, metavar="0,1", help="only these layers, counted from 0 (default: all)"
    )
    command.add_argument("--truncation", action="store_true", help="cut a text that is too long for the model")
    command.set_defaults(run=html)


def _survey(commands: Any) -> None:
    """The arguments of `survey`."""
    command = commands.add_parser(
        "survey",
        help="statistics of every head over a corpus",
        description="Run a corpus through the model and write the statistics of every head to one file: "
        "bertlens.survey.HeadStats.load reads it. A run that is stopped keeps what it has; --resume goes on.",
        allow_abbrev=False,
    )
    command.add_argument(
        "corpus", type=Path, help="a file with a text a line, .jsonl (text, or a and b), or .conllu; also .gz"
    )
    command.add_argument("-o", "--output", type=Path, required=True, metavar="STATS.npz", help="the file to write")
    command.add_argument("--model", help="hub name or folder (default: the embedded all-MiniLM-L6-v2)")
    command.add_argument("--limit", type=int, metavar="N", help="only the first N texts")
    command.add_argument(
        "--batch-size", type=int, default=8, metavar="N", help="texts run together (default: %(default)s)"
    )
    command.add_argument("--truncation", action="store_true", help="cut texts that are too long for the model")
    command.add_argument("--resume", action="store_true", help="go on with the statistics that the file already holds")
    command.add_argument("--no-texts", action="store_true", help="keep no text of the corpus in the file")
    command.set_defaults(run=survey)


def _train_sars_cov_2(commands: Any) -> None:
    """The arguments of `train-sars-cov-2`."""
    command = commands.add_parser(
        "train-sars-cov-2",
        help="train the SARS-CoV-2 case study's classifier on your own file",
        description="Train the variant classifier of the case study. Nothing is downloaded: give a file of spike genes "
        "with labels, TSV (columns variant, sequence; better also split, lineage) or FASTA (>id variant=Alpha "
        "lineage=B.1.1.7), plain or gzipped. Open genomes to cut them from: "
        "github.com/andersen-lab/HCoV-19-Genomics. A run that was cut off goes on when started again.",
        allow_abbrev=False,
    )
    command.add_argument("--data", type=Path, required=True, metavar="PATH", help="labelled spike genes")
    command.add_argument(
        "-o", "--output", type=Path, default=Path("sars-cov-2"), metavar="FOLDER", help="default: %(default)s"
    )
    command.add_argument(
        "--reference", type=Path, metavar="PATH", help="file with the lineage B spike (default: the shipped one's)"
    )
    command.add_argument("--steps", type=int, metavar="N", help="at most so many steps (default: as the shipped one)")
    command.add_argument("--warmup", type=int, metavar="N", help="steps in which the learning rate rises")
    command.add_argument("--learning-rate", type=float, metavar="X", help="at its highest")
    command.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    command.add_argument(
        "--score-only",
        action="store_true",
        help="train nothing: score the trained folder again, on the file it was trained on, and write its model card",
    )
    command.set_defaults(run=train_sars_cov_2)


def _train_mlm(commands: Any) -> None:
    """The arguments of `train-mlm`."""
    command = commands.add_parser(
        "train-mlm",
        help="make a masked language model of an encoder, with your own text",
        description="Train an encoder of the BERT family, with a new head if it has none, to predict masked tokens of "
        "your text. Writes the model, its history (what every head does at points of the run) and a model card. A run "
        "that was cut off goes on when started again. Files of a folder whose names begin with valid or test are left "
        "for the scores in the card.",
        allow_abbrev=False,
    )
    command.add_argument("--model", help="hub name or folder (default: the embedded all-MiniLM-L6-v2)")
    command.add_argument(
        "--corpus", type=Path, nargs="+", required=True, metavar="PATH", help="text files (a text a line), or folders"
    )
    command.add_argument(
        "--score", type=Path, nargs="+", default=[], metavar="FILE", help="files to score it on at the end"
    )
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    command.add_argument("--steps", type=int, metavar="N", help="at most so many steps (default: as the shipped one)")
    command.add_argument("--hours", type=float, metavar="X", help="at most so many hours")
    command.add_argument("--warmup", type=int, metavar="N", help="steps in which the learning rate rises")
    command.add_argument("--learning-rate", type=float, metavar="X", help="at its highest")
    command.add_argument("--length", type=int, metavar="N", help="tokens of a passage, at most")
    command.add_argument("--bfloat16", action="store_true", help="faster where the processor knows bfloat16")
    command.add_argument(
        "--threads", type=int, default=1, metavar="N", help="default: %(default)s; more change last digits"
    )
    command.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    command.set_defaults(run=train_mlm)


def notebooks() -> Path:
    """The shipped notebooks: inside an installed wheel, beside the package in a checkout."""
    package = Path(__file__).parent
    return next((p for p in (package / "notebooks", package.parent / "notebooks") if (p / TOUR).is_file()), package)


def demo(arguments: argparse.Namespace) -> None:
    """Put the notebooks where the user may change them, and hand over to JupyterLab."""
    if find_spec("jupyterlab") is None:
        raise BertLensError("JupyterLab is not installed: pip install jupyterlab")
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="bertlens-"))
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(notebooks().glob("*.ipynb")):
        if not (folder / notebook.name).exists():
            shutil.copyfile(notebook, folder / notebook.name)
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


def html(arguments: argparse.Namespace) -> None:
    """Trace the text and write the page."""
    from transformers.utils import logging

    import bertlens

    page = arguments.output
    check_writable(page)
    logging.disable_progress_bar()  # "Loading weights" would stand before the one line
    lens = bertlens.Lens.from_pretrained(arguments.model) if arguments.model else bertlens.Lens.embedded()
    trace = lens.trace(arguments.text, arguments.text_pair, truncation=arguments.truncation)
    # A page of some layers opens on the first of them.
    first = arguments.layers[0] if arguments.layers else 0
    trace.explore(layer=first).to_html(page, layers=arguments.layers)
    print(f"{page}: {trace.model_name}, {len(trace.tokens)} tokens, {page.stat().st_size:,} bytes")


def survey(arguments: argparse.Namespace) -> None:
    """Take the statistics and say in two lines what they are of."""
    import warnings

    from transformers.utils import logging

    import bertlens
    from bertlens.survey import head_stats

    output = arguments.output
    if output.exists() and not arguments.resume:
        raise BertLensError(f"{output} is there already: --resume goes on with it, or give another name")
    logging.disable_progress_bar()
    lens = bertlens.Lens.from_pretrained(arguments.model) if arguments.model else bertlens.Lens.embedded()
    with warnings.catch_warnings(record=True) as stopped:
        warnings.simplefilter("always", UserWarning)
        stats = head_stats(
            lens,
            arguments.corpus,
            batch_size=arguments.batch_size,
            truncation=arguments.truncation,
            limit=arguments.limit,
            resume=output if output.exists() else None,
            save=output,
            texts=not arguments.no_texts,
        )
    print(f"{output}: {stats.n_texts} texts, {stats.n_tokens:,} tokens, {stats.provenance['model']}")
    if any("interrupted" in str(warning.message) for warning in stopped):
        raise BertLensError("stopped: the same command with --resume goes on")


def train_sars_cov_2(arguments: argparse.Namespace) -> None:
    """Train, write the folder with its model card, and say how good it is."""
    from bertlens.casestudies.sars_cov_2.run import score_again, train_and_save
    from bertlens.casestudies.sars_cov_2.train import Settings
    from bertlens.training.steps import CHECKPOINT

    chosen = {name: getattr(arguments, name) for name in ("steps", "warmup", "learning_rate")}
    settings = Settings(seed=arguments.seed, **{name: value for name, value in chosen.items() if value is not None})
    output = arguments.output
    output.mkdir(parents=True, exist_ok=True)
    try:
        with claimed(output / CHECKPOINT):
            if arguments.score_only:
                metrics = score_again(arguments.data, output, reference=arguments.reference)
            else:
                metrics = train_and_save(arguments.data, output, settings, reference=arguments.reference)
    except KeyboardInterrupt:
        raise BertLensError(f"stopped: the same command goes on from the checkpoint in {arguments.output}") from None
    test = metrics["test"]
    print(
        f"{arguments.output}: accuracy {test['accuracy']:.2f}, macro-F1 {test['macro_f1']:.2f} on {test['n']} test "
        f"sequences; how far that carries is in {arguments.output / 'MODEL_CARD.md'}"
    )


def train_mlm(arguments: argparse.Namespace) -> None:
    """Train, write the folder with its model card, and say how good it is."""
    import torch

    from bertlens.training.run import train_and_save
    from bertlens.training.steps import CHECKPOINT
    from bertlens.training.train import Settings

    names = ("steps", "hours", "warmup", "learning_rate", "length")
    chosen = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    settings = Settings(seed=arguments.seed, bfloat16=arguments.bfloat16, **chosen)
    if not 1 <= arguments.threads <= MOST_THREADS:
        raise BertLensError(f"--threads is a number from 1 to {MOST_THREADS}")
    torch.set_num_threads(arguments.threads)
    output = arguments.output
    output.mkdir(parents=True, exist_ok=True)
    try:
        with claimed(output / CHECKPOINT):
            metrics = train_and_save(
                arguments.corpus, output, settings, model_name=arguments.model, score=arguments.score
            )
    except KeyboardInterrupt:
        raise BertLensError(f"stopped: the same command goes on from the checkpoint in {arguments.output}") from None
    held_out = metrics["held_out"]
    print(
        f"{arguments.output}: {held_out['top1']:.1%} of masked tokens right, {held_out['top10']:.1%} among the "
        f"first ten, on {held_out['n']:,} held-out tokens; the rest is in {arguments.output / 'MODEL_CARD.md'}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command's entry; returns the exit status."""
    top = parser()
    arguments, rest = top.parse_known_args(argv)
    if rest and arguments.command != "demo":
        top.error(f"unknown argument {rest[0]}")
    arguments.rest = rest
    try:
        arguments.run(arguments)
    except (BertLensError, OSError) as error:
        print("bertlens:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bertlens: stopped", file=sys.stderr)
        return 130
    return 0
