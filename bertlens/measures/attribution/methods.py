"""The five methods by their names on screen, each in one sentence."""

from __future__ import annotations

from ...base.vocabulary import Word

METHODS: dict[str, Word] = {
    word.name: word
    for word in (
        Word(
            "occlusion",
            "occlusion",
            "What the number loses without the token: one run for each (Li et al. 2016, erasure).",
        ),
        Word(
            "integrated gradients",
            "integrated gradients",
            "Slopes along the straight way from a masked text to this one, summed (Sundararajan et al. 2017).",
        ),
        Word(
            "gradient × input",
            "gradient × input",
            "Each token's word embedding times its slope: one run, to first order (Simonyan et al. 2014).",
        ),
        Word(
            "attention × gradient",
            "attention × gradient",
            "Attention times its slope, through all layers; how much flows, never below 0 (Chefer et al. 2021).",
        ),
        Word(
            "linearised",
            "linearised",
            "Attention, norms and gates kept as they were: the number is then a sum over tokens (Ali et al. 2022).",
        ),
    )
}
