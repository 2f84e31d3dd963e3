"""What there is to cite, as BibTeX: the papers by the names that sentences on screen give them, and bertlens itself."""

from __future__ import annotations

KOBAYASHI = "Kobayashi, Goro and Kuribayashi, Tatsuki and Yokoi, Sho and Inui, Kentaro"
EMNLP = "Proceedings of the {} Conference on Empirical Methods in Natural Language Processing"


def _entry(kind: str, key: str, **fields: str) -> str:
    return "\n".join([f"@{kind}{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items()), "}"])


def _paper(key: str, author: str, title: str, year: str, arxiv: str, venue: str = "") -> str:
    booktitle = {"booktitle": venue} if venue else {}
    kind = "inproceedings" if venue else "misc"
    return _entry(
        kind, key, author=author, title=f"{{{title}}}", **booktitle, year=year, eprint=arxiv, archiveprefix="arXiv"
    )


REFERENCES: dict[str, str] = {
    "Vaswani et al. 2017": _paper(
        "vaswani2017attention",
        "Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and "
        "Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia",
        "Attention is All You Need",
        "2017",
        "1706.03762",
        "Advances in Neural Information Processing Systems 30",
    ),
    "Clark et al. 2019": _paper(
        "clark2019what",
        "Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.",
        "What Does BERT Look At? An Analysis of BERT's Attention",
        "2019",
        "1906.04341",
        "Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and Interpreting Neural Networks for NLP",
    ),
    "Kobayashi et al. 2020": _paper(
        "kobayashi2020attention",
        KOBAYASHI,
        "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
        "2020",
        "2004.10102",
        EMNLP.format(2020),
    ),
    "Kobayashi et al. 2021": _paper(
        "kobayashi2021incorporating",
        KOBAYASHI,
        "Incorporating Residual and Normalization Layers into Analysis of Masked Language Models",
        "2021",
        "2109.07152",
        EMNLP.format(2021),
    ),
    "Abnar and Zuidema 2020": _paper(
        "abnar2020quantifying",
        "Abnar, Samira and Zuidema, Willem",
        "Quantifying Attention Flow in Transformers",
        "2020",
        "2005.00928",
        "Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics",
    ),
    "Modarressi et al. 2022": _paper(
        "modarressi2022globenc",
        "Modarressi, Ali and Fayyaz, Mohsen and Yaghoobzadeh, Yadollah and Pilehvar, Mohammad Taher",
        "GlobEnc: Quantifying Global Token Attribution by Incorporating the Whole Encoder Layer in Transformers",
        "2022",
        "2205.03286",
        "Proceedings of the 2022 Conference of the North American Chapter of the Association for Computational "
        "Linguistics: Human Language Technologies",
    ),
    "Ferrando et al. 2022": _paper(
        "ferrando2022measuring",
        "Ferrando, Javier and G{\\'a}llego, Gerard I. and Costa-juss{\\`a}, Marta R.",
        "Measuring the Mixing of Contextual Information in the Transformer",
        "2022",
        "2203.04212",
        EMNLP.format(2022),
    ),
    "Mohebbi et al. 2023": _paper(
        "mohebbi2023quantifying",
        "Mohebbi, Hosein and Zuidema, Willem and Chrupa{\\l}a, Grzegorz and Alishahi, Afra",
        "Quantifying Context Mixing in Transformers",
        "2023",
        "2301.12971",
        "Proceedings of the 17th Conference of the European Chapter of the Association for Computational Linguistics",
    ),
    "Bonino et al. 2025": _paper(
        "bonino2025geometry",
        "Bonino, Matteo and Ghione, Giorgia and Cirrincione, Giansalvo",
        "The geometry of BERT",
        "2025",
        "2502.12033",
    ),
}

# bertlens as CITATION.cff has it; the page knows the version that made it
SOFTWARE = _entry(
    "software",
    "bertlens",
    author="{The bertlens developers}",
    title="{bertlens: look inside the attention heads of BERT-family models}",
    version="VERSION",
    year="2026",
)
