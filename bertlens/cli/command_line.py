"""The `bertlens` command: `demo` opens JupyterLab on the tour, `look` the Explorer on a model and a text, `html` writes
its page, `classroom` one that carries its model, `handout` lessons for print, `results` collects what a class did in a
lesson, `survey` takes statistics of every head over a corpus, `report` says what of the papers holds on a model, `task`
how good a classifier is on labelled data, `retrieval` how good an encoder is at search, `parity` whether vectors made
elsewhere are a model's; `merge` makes one of what they leave in shards; `train-mlm` and `train-sars-cov-2` train
models.

Bad input ends with one line on stderr and status 2, like argparse's own errors.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..base.notes import notes_in_lines
from ..base.outputs import check_outputs, print_any_letter, sign
from ..errors import BertLensError
from .command_arguments import (
    CLASSROOM,
    DEMO,
    HANDOUT,
    HTML,
    LOOK,
    MERGE,
    PARITY,
    REPORT,
    RESULTS,
    RETRIEVAL,
    SURVEY,
    TASK,
    TRAIN_MLM,
    TRAIN_SARS_COV_2,
    Argument,
    Parser,
    options_given,
)
from .demo_command import demo
from .help_text import GROUPS, grouped
from .model_names import EMBEDDED, check_corpus, check_order, check_text
from .page_commands import write_page
from .sharing_commands import ABOUT_PUBLISH, ABOUT_SKILL, PUBLISH, publish, skill
from .training_commands import train_mlm, train_sars_cov_2

if TYPE_CHECKING:
    from ..lens import Lens


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="bertlens",
        usage="bertlens [-h] [--version] command ...",
        description="Look into the heads of BERT-family models.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"bertlens {__version__}")
    commands = top.add_subparsers(
        dest="command", required=True, metavar="command", prog=top.prog, help=argparse.SUPPRESS
    )
    listed: dict[str, dict[str, str]] = {group: {} for group in GROUPS}

    def command(
        group: str,
        run: Callable[[argparse.Namespace], int | None],
        arguments: Sequence[Argument],
        help: str,
        **about: Any,
    ) -> None:
        name = run.__name__.replace("_", "-")
        listed[group][name] = help
        description = f"{help[0].upper()}{help[1:]}."
        its_parser = commands.add_parser(name, **{"allow_abbrev": False, "description": description, **about})
        for names, options in arguments:
            its_parser.add_argument(*names, **options)
        its_parser.set_defaults(run=run)

    command(
        "look",
        demo,
        DEMO,
        help="open JupyterLab on the tour notebook",
        description="Copy the notebooks into a folder and open JupyterLab on the tour. "
        "Other arguments go to JupyterLab, for example --no-browser --port 9999.",
    )
    command(
        "look",
        look,
        LOOK,
        help="a model and a text, in the Explorer: bertlens look MODEL TEXT [PAIR]",
        description="Trace a text, or a pair, and open the Explorer on it in the browser; -o writes the page instead. "
        "It works without a kernel or network.",
    )
    command(
        "look",
        html,
        HTML,
        help="write the Explorer as one page that works without a kernel or network",
        allow_abbrev=True,
    )
    command(
        "teach",
        classroom,
        CLASSROOM,
        help="write a page that carries its model, for a class without Python",
        description="Write one page that carries its model: what is typed in it is run in it, without a kernel or a "
        "network. It opens on the first text and offers the others.",
    )
    command(
        "teach",
        handout,
        HANDOUT,
        help="write lessons for print",
        description="Write a lesson as one page for print: of each step a still picture, its question and lines to "
        "write on, solutions on pages of their own. Several lessons, or none named, go into a folder, a page each.",
    )
    command("teach", results, RESULTS, help="collect what a class did in a lesson into one table")
    command(
        "measure",
        survey,
        SURVEY,
        help="statistics of every head over a corpus",
        description="Run a corpus through the model and write the statistics of every head to one file: "
        "bertlens.survey.HeadStats.load reads it. A run that is stopped keeps what it has; --resume goes on.",
    )
    command(
        "measure",
        report,
        REPORT,
        help="what of the papers holds on a model: one page",
        description="Ask a model what four papers found on theirs, and write one page with a card a claim: the paper's "
        "number, this model's with its interval, and the verdict of a rule. Its numbers stand in a file beside it.",
    )
    command(
        "measure",
        task,
        TASK,
        help="how good a classifier is on labelled data, and which heads it needs: one page",
        description="Run labelled examples through a classifier and write one page of tables: scores with intervals, "
        "labels and guesses, the heads and MLPs that the task needs, where it is wrong and what it then rests on.",
    )
    command(
        "measure",
        retrieval,
        RETRIEVAL,
        help="how good an encoder is at search, and why the wrong passage is first: one page",
        description="Rank the passages of a collection for each of its questions and write one page of tables: metrics "
        "with intervals beside BM25, what fails by kinds beside chance, hubs, and for which questions. Its numbers "
        "stand in a file beside it.",
    )
    command(
        "measure",
        parity,
        PARITY,
        help="whether vectors that another program made are a model's, else which fault; a lock for CI",
        description="Compare a file of vectors with what a model makes of the same texts, beside its own float noise, "
        "and name the fault that explains them. Status 0: the same, 1: a fault, or a lock that is not kept, 2: input.",
    )
    command(
        "measure",
        merge,
        MERGE,
        help="one file of the parts that a job in shards has left",
        description="Put together what survey, task, report or retrieval with --shard have left, in any order. A part "
        "that lacks, comes twice, or is of another model, corpus or setting is named.",
    )
    command(
        "train",
        train_sars_cov_2,
        TRAIN_SARS_COV_2,
        help="train the SARS-CoV-2 case study's classifier on your own file",
        description="Train the variant classifier of the case study. Nothing is downloaded: give a file of spike genes "
        "with labels, TSV (columns variant, sequence; better also split, lineage) or FASTA (>id variant=Alpha "
        "lineage=B.1.1.7), plain or gzipped. Open genomes to cut them from: "
        "github.com/andersen-lab/HCoV-19-Genomics. A run that was cut off goes on when started again.",
    )
    command(
        "train",
        train_mlm,
        TRAIN_MLM,
        help="make a masked language model of an encoder, with your own text",
        description="Train an encoder of the BERT family, with a new head if it has none, to predict masked tokens of "
        "your text. Writes the model, its history (what every head does at points of the run) and a model card. A run "
        "that was cut off goes on when started again. Files of a folder whose names begin with valid or test are left "
        "for the scores in the card.",
    )
    command("share", publish, PUBLISH, **ABOUT_PUBLISH)
    command("share", skill, (), **ABOUT_SKILL)
    top.epilog = grouped(listed)
    return top


def look(arguments: argparse.Namespace) -> None:
    """Write the page of a model and a text, or show it."""
    check_order(arguments)
    write_page(lambda: load_lens(arguments.model), arguments)


def html(arguments: argparse.Namespace) -> None:
    """Write the page of a text."""
    check_text(arguments)
    write_page(lambda: load_lens(arguments.model), arguments)


def classroom(arguments: argparse.Namespace) -> None:
    """Say what the page will take, and write it."""
    from ..export.html import WEIGHTS
    from ..lessons.lesson import one_of
    from ..lessons.teaching import Classroom

    folder, small = arguments.hosted, arguments.small
    if (arguments.output is None) == (folder is None):
        raise BertLensError("classroom needs -o CLASS.html, or --hosted FOLDER for a web server")
    if folder is None:
        check_outputs("classroom", [arguments.output], [arguments.lesson], force=arguments.force)
    class_page = Classroom(
        load_lens(arguments.model),
        [_text(text) for text in arguments.texts or ()],
        arguments.lesson,
        language=arguments.language,
    )
    name = class_page.lens.model_name
    if arguments.lesson is not None and (of := one_of(arguments.lesson).model) not in ("", name):
        print(f"the lesson was written for {of}: what it says of heads may not be so in {name}", flush=True)
    cost = class_page.cost(small, hosted=folder is not None)
    print(f"{class_page.lens.model_name}: about {cost.size / 1e6:.0f} MB, about {cost.seconds:.0f} s", flush=True)
    page = class_page.to_html(folder or arguments.output, small=small, hosted=folder is not None, force=arguments.force)
    if folder is None:
        sign(page, "classroom")
    size = sum(path.stat().st_size for path in ([page, folder / WEIGHTS] if folder else [page]))
    print(f"{page}: {len(class_page.texts)} texts, {size:,} bytes")
    if folder:
        print(f"to try it: python -m http.server -d {folder}, then http://localhost:8000")


def handout(arguments: argparse.Namespace) -> None:
    """Write a page a lesson."""
    from ..lessons.handout_command import run

    load = (lambda: load_lens(arguments.model)) if arguments.model else None
    run(arguments.lessons, arguments.output, load, solutions=not arguments.no_solutions, force=arguments.force)


def results(arguments: argparse.Namespace) -> None:
    """Collect what a class did, and say what could not be read."""
    from ..lessons.results import collected

    print(collected(arguments.files, arguments.output, arguments.force))


def _text(given: str | list[str]) -> str | tuple[str, str]:
    """--text gives a string, --pair a list of two."""
    return given if isinstance(given, str) else (given[0], given[1])


def survey(arguments: argparse.Namespace) -> None:
    """Take the statistics and say in two lines what they are of."""
    from ..survey.survey_command import run

    run(
        lambda: load_lens(arguments.model),
        resume=arguments.resume,
        force=arguments.force,
        texts=not arguments.no_texts,
        **options_given(arguments, "corpus", "output", "batch_size", "truncation", "limit", "column", "shard"),
    )


def report(arguments: argparse.Namespace) -> int:
    """Write the page with its numbers beside it; 1 where a verdict turned round."""
    from ..reports.report_command import run

    names = "corpus output claims minutes texts seed against check resume labels search column shard force"
    return run(lambda: load_lens(arguments.model), **{name: getattr(arguments, name) for name in names.split()})


def task(arguments: argparse.Namespace) -> int:
    """Read, run, and write the page; 1 where fewer examples are right, or a word gained."""
    from ..tasks.task_command import run

    names = (
        "text text_pair label limit heads errors words check counter_examples ablation batch_size truncation seed "
        "stage shard parts force"
    )
    options = {name: getattr(arguments, name) for name in names.split()}
    if (other := arguments.against) is not None:
        options["against"] = lambda: load_lens(other)
    return run(lambda: load_lens(arguments.model), arguments.examples, arguments.output, **options)


def retrieval(arguments: argparse.Namespace) -> int:
    """Rank, write the page or table; 1 where a measure fell."""
    from ..search.retrieval_command import run

    first = arguments.first_stage
    names = (
        "queries relevance in_order check column document int8 batch_size hard_negatives negatives probe heads layers "
        "dimensions shard"
    )
    return run(
        lambda: load_lens(arguments.model),
        arguments.corpus,
        arguments.output,
        load_first=None if first is None else lambda: load_lens(first),
        keep=arguments.vectors or True,
        force=arguments.force,
        **{name: getattr(arguments, name) for name in names.split()},
    )


def parity(arguments: argparse.Namespace) -> int:
    """Compare, check, write; 1 for a fault."""
    from ..conformance.parity_command import run

    names = "texts check lock output column task prompt_name force"
    options = {name: getattr(arguments, name) for name in names.split()}
    return run(lambda: load_lens(arguments.model), arguments.vectors, pairs=not arguments.no_pairs, **options)


def merge(arguments: argparse.Namespace) -> None:
    """Check the parts, and write one file."""
    from .merge_command import run

    print(run(arguments.parts, arguments.output, force=arguments.force))


def load_lens(model: str | None) -> Lens:
    """A lens on a hub name or folder, or on the embedded encoder; loading shows no progress bar."""
    from transformers.utils import logging

    from .. import Lens

    logging.disable_progress_bar()  # "Loading weights" would stand before the one line
    model = model or "embedded"
    return Lens.embedded(**EMBEDDED[model]) if model in EMBEDDED else Lens.from_pretrained(model)


def main(argv: Sequence[str] | None = None) -> int:
    """The command's entry; returns the exit status."""
    print_any_letter()
    top = parser()
    arguments, unknown = top.parse_known_args(argv)
    arguments.rest = unknown
    try:
        if arguments.command in ("survey", "retrieval"):
            check_corpus(arguments, unknown)
        if unknown and arguments.command != "demo":
            top.error(f"unknown argument {unknown[0]}")
        with notes_in_lines():
            status: int | None = arguments.run(arguments)
    except (BertLensError, OSError) as error:
        print("bertlens:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bertlens: stopped", file=sys.stderr)
        return 130
    except Exception:  # noqa: BLE001 – a fault of ours, and its status 1 says of a report that a claim turned round
        traceback.print_exc()
        return 70
    return status or 0
