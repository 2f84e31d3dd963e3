"""ReportView: a report that is being made in a notebook, with how far it is and a button that ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ipywidgets

from ..base.jobs import Job, Stopped
from ..errors import BertLensError, InputError
from ..lens import Lens
from ..survey.corpus import Corpus
from .report_page import Report
from .report_run import report

EVERY = 0.2  # seconds between two words about how far it is


class _Making(Job[Report]):
    """Ends what it is at when it is stopped, once: what was done until then goes on to be a report."""

    def __init__(self, work: Callable[[], Report], told: Callable[[_Making], None]) -> None:
        self._told, self._last = told, 0.0
        super().__init__(work)

    def _tell(self, doing: str, done: float, total: float) -> None:
        if self.is_stopped:
            self.is_stopped = False
            if self.doing in ("", doing):  # else what was to be stopped had just ended
                raise KeyboardInterrupt
        self.doing, self.share = doing, done / total if total else 0.0
        if done in (0, total) or time.monotonic() - self._last > EVERY:
            self._last, self.said = time.monotonic(), f"{doing}: {done:,.0f} of {total:,.0f}"
            self._told(self)


class ReportView(ipywidgets.VBox):
    """`bl.report(lens, corpus, …)` on a thread of its own: a bar, what it is at, and *Stop*; other cells run meanwhile.

    lens, corpus, options: as for `bl.report`. Stop ends the pass over the texts, and the report is of those that were
    done; before the first one, or while the claims are counted, it ends all. `.report` is the Report once it is made,
    else None, and its cards stand in the view; `.wait()` waits for it. What is wrong with the other arguments stands in
    the view.
    Raises InputError where the first argument is no lens.
    """

    def __init__(self, lens: Lens, corpus: Corpus | None = None, **options: Any) -> None:
        if not isinstance(lens, Lens):
            raise InputError(f"ReportView(lens, corpus) takes a lens first, not {type(lens).__name__}")
        self._bar = ipywidgets.FloatProgress(max=1.0)
        self._said = ipywidgets.Label("draws the texts …")
        self._button = ipywidgets.Button(description="Stop", tooltip="The report is then of the texts that were done")
        self._button.on_click(lambda _: self.stop())
        self.report: Report | None = None
        self._lines = [ipywidgets.HBox([self._bar, self._button]), self._said]
        super().__init__(self._lines)
        self._job: _Making = _Making(lambda: self._work(lens, corpus, options), self._tell)

    def stop(self) -> None:
        """End what it is at: the texts, of which those that were done make a report, or the report as a whole."""
        self._job.stop()
        self._said.value = "stops …"

    def wait(self, seconds: float = 1e6) -> Report | None:
        """The Report, after so many seconds at most; None where there is none then. Raises what `bl.report` raises."""
        try:
            reports = self._job.made(seconds)
        except Stopped:
            return None
        return reports[0] if reports else None

    def _work(self, lens: Lens, corpus: Corpus | None, options: dict[str, Any]) -> Report:
        try:
            outcome = report(lens, corpus, **options)
        except KeyboardInterrupt:
            self._end("stopped: there is no report", "warning")
            raise
        except (BertLensError, TypeError) as error:
            self._end(str(error), "danger")
            raise
        self.report = outcome
        texts = outcome.facts["corpus"]["texts"]
        self._end(f"{texts:,} text{'s' * (texts != 1)}. {outcome.said}", "success")
        self.children = [*self._lines, ipywidgets.HTML(outcome._repr_html_())]
        return outcome

    def _tell(self, job: _Making) -> None:
        self._bar.value, self._said.value = job.share, job.said

    def _end(self, said: str, style: str) -> None:
        self._bar.value, self._bar.bar_style, self._button.disabled, self._said.value = 1.0, style, True, said
