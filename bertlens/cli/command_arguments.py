"""What the `bertlens` command understands: the arguments of each of its commands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """argparse without the usage block before an error."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def path(text: str) -> Path:
    """ "~/a" -> a in your home: a shell does not see to --corpus=~/a."""
    return Path(text).expanduser()


def source(text: str) -> Path | str:
    """A path, or the address of a data set of the hub, whose slashes stay."""
    return text if text.startswith("hf://") else path(text)


def layer_list(text: str) -> list[int]:
    """ "0,1,5" -> [0, 1, 5]."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"layers are numbers with commas between, like 0,1,5; got {text!r}") from None


# Arguments of a command: names, and what argparse is told of them. Those that several commands share come first.
Argument = tuple[tuple[str, ...], dict[str, Any]]


def argument(*names: str, **options: Any) -> Argument:
    return names, options


MODEL = argument("--model", help="hub name or folder (default: the embedded all-MiniLM-L6-v2)")
MODEL_FIRST = argument(
    "model", help="hub name or folder; of the models that come along embedded, embedded-mlm or multilingual"
)
COLUMN = argument("--column", metavar="NAME", help="column of the texts of a table (default: text)")
SEED = argument("--seed", type=int, default=0, help="default: %(default)s")
FORCE = argument("--force", action="store_true", help="write over files that are not of an earlier run")
SHARD = argument("--shard", metavar="I/N", help="only the I-th of N shares, as 3/32; `bertlens merge` joins the files")
STEPS = argument("--steps", type=int, metavar="N", help="at most so many steps (default: as the shipped one)")
LEARNING = (
    argument("--warmup", type=int, metavar="N", help="steps in which the learning rate rises"),
    argument("--learning-rate", type=float, metavar="X", help="at its highest"),
)

DEMO = (argument("--folder", type=path, help="where the notebooks go (default: a new temporary folder); yours stay"),)
RESULTS = (
    argument("files", type=path, nargs="+", metavar="RESULTS.txt", help="files with the lines that readers copied"),
    argument("-o", "--output", type=path, required=True, metavar="CLASS.csv", help="or .parquet; and CLASS-chart.html"),
    FORCE,
)
TEXT = (
    argument("text", help="the text to look at"),
    argument("text_pair", nargs="?", help="a second text, for a pair"),
)
PAGE = (
    argument("--layers", type=layer_list, metavar="0,1", help="only these layers, counted from 0 (default: all)"),
    argument("--truncation", action="store_true", help="cut a text that is too long for the model"),
    FORCE,
)
LOOK = (
    MODEL_FIRST,
    *TEXT,
    argument(
        "-o", "--output", type=path, metavar="PAGE.html", help="the file to write (default: it opens in the browser)"
    ),
    *PAGE,
)
HTML = (
    *TEXT,
    argument("-o", "--output", type=path, required=True, metavar="PAGE.html", help="the file to write"),
    MODEL,
    *PAGE,
)
CLASSROOM = (
    argument("model", nargs="?", help="hub name or folder (default: the embedded all-MiniLM-L6-v2)"),
    argument("--text", action="append", dest="texts", metavar="TEXT", help="a text of the page; again for another"),
    argument("--pair", action="append", dest="texts", nargs=2, metavar=("A", "B"), help="a pair of texts of the page"),
    argument("--language", metavar="TAG", help="language of the texts, such as de; without any, of the first text"),
    argument("--lesson", metavar="NAME", help="a shipped lesson such as heads-off, or a .lesson.json, beside it"),
    argument("-o", "--output", type=path, metavar="CLASS.html", help="the file to write"),
    argument("--hosted", type=path, metavar="FOLDER", help="instead: page and weights as two files, for a web server"),
    argument("--small", action="store_true", help="vectors of words in 8 bits: a smaller page, less exact"),
    FORCE,
)
HANDOUT = (
    argument(
        "lessons", nargs="*", metavar="LESSON", help="shipped ones such as heads-off, .lesson.json files (default: all)"
    ),
    argument(
        "-o", "--output", type=path, required=True, metavar="HANDOUT.html", help="the file to write; or a folder for it"
    ),
    argument("--model", help="hub name or folder of the pictures' model (default: that which the lesson names)"),
    argument("--no-solutions", action="store_true", help="leave out the pages of solutions at the end"),
    FORCE,
)
SURVEY = (
    argument(
        "corpus",
        type=source,
        help="a text a line; .csv, .tsv, .parquet, .jsonl, .json, .conllu, .conll; also .gz; a folder of one kind; hf://",
    ),
    argument("-o", "--output", type=path, required=True, metavar="STATS.npz", help="the file to write"),
    MODEL,
    COLUMN,
    argument("--limit", type=int, metavar="N", help="only the first N texts"),
    argument("--batch-size", type=int, default=8, metavar="N", help="texts run together (default: %(default)s)"),
    argument("--truncation", action="store_true", help="cut texts that are too long for the model"),
    argument("--resume", action="store_true", help="go on with the statistics that the file already holds"),
    argument("--no-texts", action="store_true", help="keep no text of the corpus in the file"),
    SHARD,
    FORCE,
)
REPORT = (
    MODEL_FIRST,
    argument(
        "corpus", nargs="?", type=source, help="as for survey (default: excerpts of two books); .conllu: syntax too"
    ),
    argument(
        "-o", "--output", type=path, required=True, metavar="REPORT.html", help="and REPORT-numbers.json; or .json"
    ),
    COLUMN,
    argument("--claims", metavar="A,B", help="only these: vig, clark, kobayashi, bonino, sinks, health, or names"),
    argument("--minutes", type=float, default=10, metavar="X", help="so much time (default: %(default)s)"),
    argument("--texts", type=int, metavar="N", help="so many texts, whatever time it takes"),
    argument(
        "--labels", type=path, metavar="DATA.csv", help="labelled examples (columns text, label): a card of the task"
    ),
    argument("--search", type=path, metavar="FOLDER", help="questions, passages, relevance, as BEIR has them"),
    argument("--against", type=path, metavar="OTHER.json", help="numbers of another model's report, in the same cards"),
    argument(
        "--check", type=path, metavar="OLD.json", help="status 1 where a claim went from holds to differs or back"
    ),
    argument("--resume", action="store_true", help="go on with a report that was interrupted"),
    SHARD,
    SEED,
    FORCE,
)
TASK = (
    argument("model", help="hub name or folder of a classifier of texts"),
    argument(
        "examples",
        type=source,
        help="a table (.csv, .tsv, .parquet), .jsonl, .json; of tags .conll; also .gz; a folder of one kind; hf://",
    ),
    argument("-o", "--output", type=path, required=True, metavar="TASK.html", help="and TASK-numbers.json"),
    argument("--text", default="text", metavar="COLUMN", help="column of the texts (default: %(default)s)"),
    argument("--text-pair", metavar="COLUMN", help="column of second texts, of pairs (default: text_pair, if there)"),
    argument("--label", default="label", metavar="COLUMN", help="column of the labels (default: %(default)s)"),
    argument("--limit", type=int, metavar="N", help="only the first N examples"),
    argument("--heads", type=int, default=10, metavar="N", help="parts to run, and as many at random; 0: none"),
    argument("--ablation", default="zero", choices=("zero", "mean", "resample"), help="default: %(default)s"),
    argument("--errors", type=int, default=10, metavar="N", help="examples to explain (default: %(default)s); 0: none"),
    argument("--words", type=int, default=0, metavar="N", help="words of each class that it goes by (default: 0)"),
    argument("--counter-examples", type=path, metavar="FILE", help="suspects taken out, .csv or .parquet, to train on"),
    argument("--against", metavar="MODEL", help="words beside those of this model, as before a fine-tuning"),
    argument("--batch-size", type=int, default=16, metavar="N", help="texts run together (default: %(default)s)"),
    argument("--truncation", action="store_true", help="cut texts that are too long for the model"),
    argument("--stage", choices=("estimate", "exact"), help="instead of the page a part of the work, with -o PART.npz"),
    SHARD,
    argument("--parts", type=path, nargs="+", default=(), metavar="FILE", help="merged files of earlier stages"),
    argument("--check", type=path, metavar="OLD.json", help="status 1 where fewer are right, or a word gained, since"),
    SEED,
    FORCE,
)
RETRIEVAL = (
    argument("corpus", type=path, help="a folder as BEIR has it; or passages: a table, .jsonl, .txt, TREC, .I/.W"),
    argument(
        "-o",
        "--output",
        type=path,
        required=True,
        metavar="PAGE.html",
        help="and PAGE-numbers.json; or a table of the questions (.csv, .parquet), or .json",
    ),
    MODEL,
    argument("--queries", type=path, metavar="FILE", help="questions (default: those of the folder)"),
    argument("--relevance", type=path, metavar="FILE", help="judgements: a table, or TREC's (default: the folder's)"),
    argument("--in-order", action="store_true", help="number the questions 1, 2, … in their order, as judgements may"),
    argument("--column", metavar="NAME", help="column of the texts of a table (default: text; title before it)"),
    argument("--document", metavar="NAME", help="column of the document of each passage (default: document)"),
    argument("--first-stage", metavar="MODEL", help="whose first 100 passages a cross-encoder scores"),
    argument("--vectors", type=path, metavar="FILE", help="where vectors are kept (default: beside the corpus)"),
    argument("--int8", action="store_true", help="vectors in 8 bits: a quarter of the memory, less exact"),
    argument("--batch-size", type=int, default=32, metavar="N", help="texts run together (default: %(default)s)"),
    argument("--check", type=path, metavar="OLD.json", help="status 1 where a measure fell against an earlier run"),
    argument("--hard-negatives", type=path, metavar="FILE", help="triplets to train on, .parquet, .jsonl or .csv"),
    argument("--negatives", type=int, default=5, metavar="N", help="of them, a question (default: %(default)s)"),
    argument("--probe", action="store_true", help="on the page: does it read not, numbers, names?"),
    argument("--heads", action="store_true", help="on the page: which heads the ranking needs; takes minutes"),
    argument("--layers", action="store_true", help="on the page: the ranking after each layer"),
    argument("--dimensions", action="store_true", help="on the page: would half the dimensions do?"),
    argument("--shard", metavar="I/N", help="vectors of the I-th of N shares alone, as .npz for `bertlens merge`"),
    FORCE,
)
PARITY = (
    MODEL_FIRST,
    argument(
        "vectors", nargs="?", type=path, metavar="VECTORS.npy", help="or .npz, .safetensors, .parquet: a row a text"
    ),
    argument(
        "--texts",
        type=source,
        metavar="FILE",
        help="a text a line, or a table: of these the vectors are (default: the lock's; else those made for the model)",
    ),
    argument("--check", type=path, metavar="OLD.lock", help="status 1 where the model does not keep this lock, too"),
    argument("--lock", type=path, metavar="NEW.lock", help="write one, of texts made for the model's tokenizer"),
    argument("-o", "--output", type=path, metavar="PAGE.html", help="write what was found as a page to print"),
    argument("--column", metavar="NAME", help="column or name of the vectors in their file"),
    argument("--task", choices=("query", "document"), help="as what the texts are encoded"),
    argument("--prompt-name", metavar="NAME", help="of the model's prompts, which stands before each text"),
    argument("--no-pairs", action="store_true", help="one fault at a time: does not take minutes"),
    FORCE,
)
MERGE = (
    argument("parts", type=path, nargs="+", metavar="PART.npz", help="the files of all shards, in any order"),
    argument("-o", "--output", type=path, required=True, metavar="ALL.npz", help="the file to write"),
    FORCE,
)
TRAIN_SARS_COV_2 = (
    argument("--data", type=path, required=True, metavar="PATH", help="labelled spike genes"),
    argument("-o", "--output", type=path, default=Path("sars-cov-2"), metavar="FOLDER", help="default: %(default)s"),
    argument(
        "--reference", type=path, metavar="PATH", help="file with the lineage B spike (default: the shipped one's)"
    ),
    STEPS,
    *LEARNING,
    SEED,
    FORCE,
    argument(
        "--score-only",
        action="store_true",
        help="train nothing: score the trained folder again, on the file it was trained on, and write its model card",
    ),
)
TRAIN_MLM = (
    MODEL,
    argument(
        "--corpus", type=path, nargs="+", required=True, metavar="PATH", help="text files (a text a line), or folders"
    ),
    argument("--score", type=path, nargs="+", default=[], metavar="FILE", help="files to score it on at the end"),
    argument("-o", "--output", type=path, required=True, metavar="FOLDER"),
    STEPS,
    argument("--hours", type=float, metavar="X", help="at most so many hours"),
    *LEARNING,
    argument("--length", type=int, metavar="N", help="tokens of a passage, at most"),
    argument("--bfloat16", action="store_true", help="faster where the processor knows bfloat16"),
    argument("--threads", type=int, default=1, metavar="N", help="default: %(default)s; more change last digits"),
    SEED,
    FORCE,
)


def options_given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options among `names` that were given, or that have a default."""
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}
