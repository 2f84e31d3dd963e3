"""What was done in a lesson, as a table; and the line of text that carries it from a page to a teacher."""

from __future__ import annotations

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..base.atomic import replacing
from ..base.dataframes import pd
from ..base.outputs import check_outputs, sign
from ..base.textfile import text_of
from ..errors import InputError
from ..export import table_file
from .classpage import page_of

MARK = "bertlens-lesson-1"
MOST_CHARACTERS = 400_000
# of a step, with what each is where nothing was said
COLUMNS: dict[str, Any] = {
    "step": 0,
    "act": "",
    "guess": "",
    "truth": "",
    "right": None,
    "hints": 0,
    "shown": False,
    "skipped": False,
    "written": "",
}

HEAD = ("lesson", "name", "double")  # the first columns of a class's table


def results(done: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """DataFrame with the columns of COLUMNS, one row a step in their order; steps count from 1."""
    rows = [{name: record.get(name, start) for name, start in COLUMNS.items()} for record in done]
    return pd.DataFrame(sorted(rows, key=lambda row: row["step"]), columns=list(COLUMNS))


def graded(title: str, n_steps: int, line: str) -> pd.DataFrame:
    """The table of a line that a page made with “Copy my result”: `results` of it, with the steps that were not done.

    Its `attrs["name"]` is what the reader typed. The checksum finds a line that was cut, and proves nothing else.
    Raises InputError for a line that is none, is damaged, or is of another lesson.
    """
    lesson, name, records = read(line)
    if lesson != title:
        raise InputError(f"this line is of the lesson {lesson[:60]!r}, not of {title!r}")
    by_number = {record["step"]: record for record in records if 1 <= record["step"] <= n_steps}
    table = results(by_number.get(step, {"step": step}) for step in range(1, n_steps + 1))
    table.attrs["name"] = name
    return table


def read(line: str) -> tuple[str, str, list[dict[str, Any]]]:
    """The lesson's title, the reader's name and the records of a line. Raises InputError."""
    fields = line.strip().split(":") if isinstance(line, str) and len(line) < MOST_CHARACTERS else []
    if len(fields) != 3 or fields[0] != MARK:
        raise InputError(f"this is no result of a lesson: one begins with {MARK}:")
    if checksum(fields[1]) != fields[2]:
        raise InputError("this result is damaged or was cut: its checksum is another; copy it again, all of the line")
    try:
        content = json.dumps(json.loads(base64.b64decode(fields[1], validate=True)), ensure_ascii=False)
        # half a character (a lone surrogate) is in no table: � stands for it
        content = json.loads(content.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        lesson, name, entries = content["lesson"], content["name"], content["done"]
        records = [{key: record[key] for key in COLUMNS if key in record} for record in entries]
        plain = all(isinstance(v, str | bool | int | float | None) for record in records for v in record.values())
        sound = isinstance(lesson, str) and isinstance(name, str) and plain
    except (binascii.Error, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError("this result of a lesson cannot be read") from error
    if not sound or any(type(record.get("step")) is not int for record in records):
        raise InputError("this result of a lesson cannot be read")
    return lesson, name, records


def collected(files: Sequence[Path], output: Path, force: bool = False) -> str:
    """Write a class's table from files of result lines, and beside class.csv the page class-chart.html with a chart a
    step; what was read and what not, in words.

    Columns: lesson, name, double (the same name has another line for this lesson), and those of COLUMNS; one row a
    step. As Parquet where the output is so named, else as CSV, where what a reader typed that a spreadsheet would take
    for a formula begins with an apostrophe. Raises InputError where no line can be read, and as `check_outputs`,
    ExportError where the file cannot be written.
    """
    chart = output.with_name(f"{output.stem}-chart.html")
    check_outputs("results", [output], files, force=force, is_earlier=partial(table_file.begins, HEAD))
    check_outputs("results", [chart], files, force=force)
    tables: list[pd.DataFrame] = []
    unread, names = [], Counter[tuple[str, str]]()
    for file in files:
        for number, line in enumerate(text_of(file, "replace").splitlines(), 1):
            if not line.strip():
                continue
            try:
                lesson, name, records = read(line)
            except InputError as error:
                unread.append(f"{file}, line {number}: {error}")
                continue
            names[lesson, name] += bool(name)  # those without one are several readers
            table = results(records)
            table.insert(0, "lesson", lesson)
            table.insert(1, "name", name)
            table.insert(2, "reader", len(tables))
            tables.append(table)
    if not tables:
        raise InputError("; ".join(unread[:3]) or "these files hold no line")
    table = pd.concat(tables, ignore_index=True)
    page = page_of(table)
    del table["reader"]
    double = [names[lesson, name] > 1 for lesson, name in zip(table["lesson"], table["name"], strict=True)]
    table.insert(2, "double", double)
    columns = ["lesson", "name", "act", "guess", "truth", "written"]
    table[columns] = table[columns].astype(str)
    table_file.write(table, output)
    with replacing(chart) as out:
        out.write(page.encode("utf-8", "replace"))
    sign(chart, "results")
    return "\n".join(
        [f"{output}, {chart.name}: {len(tables)} results, {sum(n > 1 for n in names.values())} names doubled", *unread]
    )


def checksum(text: str) -> str:
    """FNV-1a, 32 bits, as js/src/lessons/result.tsx makes it."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"
