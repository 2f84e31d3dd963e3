"""What a claim of a report is, and the papers that claims are from."""

from __future__ import annotations

from dataclasses import dataclass

from .rules import Rule

# Short name -> the paper
PAPERS = {
    "vig": "Vig 2019, Deconstructing BERT, part 1",
    "vig2": "Vig 2019, Deconstructing BERT, part 2",
    "clark": "Clark et al. 2019, arXiv 1906.04341",
    "kobayashi2020": "Kobayashi et al. 2020, arXiv 2004.10102",
    "kobayashi2021": "Kobayashi et al. 2021, arXiv 2109.07152",
    "bonino": "Bonino, Ghione and Cirrincione 2025, arXiv 2502.12033",
    "xiao": "Xiao et al. 2024, arXiv 2309.17453",
    "sun": "Sun et al. 2024, arXiv 2402.17762",
    "fesser": "Fesser et al. 2026, arXiv 2606.08105",
    "health": "no paper: what a sound model does",
    "retrieval": "no paper: what a search is for",
}
BASE = "BERT-base"
# What the lines of claims begin with, beside lens, texts (those of the report) and treebank
SETUP = (
    "import bertlens as bl, numpy as np, torch",
    "from bertlens.measures import geometry, neurons, sources, spectra",
    "from bertlens.reports import attention_passes, few_texts, sink_numbers",
    "from bertlens.survey.corpus import traces",
    "runs = lambda some: traces(lens, some, truncation=True)",
    "stats = bl.survey.head_stats(lens, texts, truncation=True)",
    "each = [bl.survey.head_stats(lens, [text], truncation=True) for text in texts]",
)


@dataclass(frozen=True)
class Claim:
    """One claim. sentence: the paper's, in our words; place: in the paper, "" where we have not seen it; found: its
    number; on: its model; of_training: it would not hold of random weights; measure: what the number is, in one line;
    python: the line that computes it after SETUP, with the numbers of this report in braces."""

    name: str  # its group stands before the first "-"
    paper: str  # of PAPERS
    place: str
    sentence: str
    found: str
    measure: str
    rule: Rule
    python: str
    on: str = BASE
    of_training: bool = True

    @property
    def group(self) -> str:
        return self.name.split("-")[0]
