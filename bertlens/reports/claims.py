"""The claims of a report: what papers found on their models, and the rule by which it holds on another.

The rules were written down before any of them was run on a trained model. Where a paper shows something without a
number, its `found` says so, and the bound is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from .rules import Rule

# Short name -> the paper
PAPERS = {
    "vig": "Vig 2019, Deconstructing BERT, part 1",
    "clark": "Clark et al. 2019, arXiv 1906.04341",
    "kobayashi2020": "Kobayashi et al. 2020, arXiv 2004.10102",
    "kobayashi2021": "Kobayashi et al. 2021, arXiv 2109.07152",
    "bonino": "Bonino, Ghione and Cirrincione 2025, arXiv 2502.12033",
    "xiao": "Xiao et al. 2024, arXiv 2309.17453",
    "sun": "Sun et al. 2024, arXiv 2402.17762",
}
BASE = "BERT-base"
GROUPS = ("vig", "clark", "kobayashi", "bonino", "sinks")


@dataclass(frozen=True)
class Claim:
    """One claim. sentence: the paper's, in our words; found: its number; on: its model; of_training: it would not
    hold of random weights; measure: what the number is, in one line; python: the line that computes it."""

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


_STATS = "bl.survey.head_stats(lens, texts)"

CLAIMS = (
    Claim(
        "vig-next",
        "vig",
        "pattern 1",
        "There are heads that look at the next token",
        "one head shown, no number",
        "heads that give the next token more than half of their attention",
        Rule("above", 1, "heads"),
        f'{_STATS}.values("next")',
    ),
    Claim(
        "vig-previous",
        "vig",
        "pattern 2",
        "There are heads that look at the previous token",
        "one head shown, no number",
        "heads that give the previous token more than half of their attention",
        Rule("above", 1, "heads"),
        f'{_STATS}.values("previous")',
    ),
    Claim(
        "vig-same-word",
        "vig",
        "patterns 3 and 4",
        "There are heads that look at the same word elsewhere",
        "two heads shown, no number",
        "heads that give other occurrences of a word more than a tenth of their attention",
        Rule("above", 1, "heads"),
        f'{_STATS}.values("same_word")',
    ),
    Claim(
        "vig-separator",
        "vig",
        "pattern 6",
        "There are heads that rest on the separator",
        "one head shown, no number",
        "heads that give separators more than half of their attention",
        Rule("above", 1, "heads"),
        f'{_STATS}.values("separator")',
    ),
    Claim(
        "clark-neighbours",
        "clark",
        "3.1, figure 2",
        "Some heads specialise in the previous or the next token",
        "4 heads previous and 5 next, above 50 %",
        "heads that give the previous or the next token more than half of their attention",
        Rule("above", 1, "heads"),
        f'{_STATS}.table()[["previous", "next"]]',
    ),
    Claim(
        "clark-separator",
        "clark",
        "3.2, figure 2",
        "Over half of the attention in the middle layers goes to [SEP]",
        "over 50 % in layers 6-10 of 12",
        "attention to separators, mean of the heads of the middle layers",
        Rule("above", 0.5, "share"),
        f'{_STATS}.values("separator")',
    ),
    Claim(
        "clark-separator-to-separator",
        "clark",
        "3.2, figure 2",
        "In the middle layers separators look at themselves and each other",
        "over 90 %",
        "attention of separators to separators, mean of the heads of the middle layers",
        Rule("above", 0.9, "share"),
        f'{_STATS}.values("separator_to_separator")',
    ),
    Claim(
        "clark-broad-first",
        "clark",
        "3.3, figure 4",
        "Heads of the first layers attend broadly",
        "shown, no number",
        "entropy of the heads of the first sixth of the layers, less that of all other layers",
        Rule("above", 0.25, "nats"),
        f'{_STATS}.values("entropy")',
    ),
    Claim(
        "clark-first-row",
        "clark",
        "3.3",
        "In the last layer the first token looks broadly at the whole text",
        "3.89 nats of about 4.5",
        "entropy of the first token's row in the last layer ÷ ln n, mean of its heads",
        Rule("above", 0.7, "ratio"),
        f'{_STATS}.values("entropy_first")',
        of_training=False,
    ),
    Claim(
        "clark-gradient",
        "clark",
        "3.2, figure 3",
        "More or less attention to [SEP] hardly changes the answer",
        "shown, no number",
        "mean |dL/dα| of attention to separators ÷ to other words, in the middle layers",
        Rule("below", 0.5, "ratio"),
        "bl.survey.attention_gradients(lens, texts)",
    ),
    Claim(
        "clark-punctuation-late",
        "clark",
        "3.2, figure 2",
        "Late layers look at full stops and commas more than early ones",
        "shown, no number",
        "attention to . and , in the last third of the layers ÷ in the first third",
        Rule("above", 1.5, "ratio"),
        f'{_STATS}.values("punctuation")',
    ),
    Claim(
        "clark-first-early",
        "clark",
        "3.2, figure 2",
        "Early layers look at [CLS] more than late ones",
        "shown, no number",
        "attention to the first token in the first third of the layers ÷ in the last third",
        Rule("above", 1.5, "ratio"),
        f'{_STATS}.values("first")',
    ),
    Claim(
        "clark-alike",
        "clark",
        "6, figure 6",
        "Heads of the same layer are alike",
        "shown, no number",
        "Jensen-Shannon divergence of two heads of one layer ÷ of two heads of different layers, mean of all pairs",
        Rule("below", 0.9, "ratio"),
        "bl.survey.head_distances(lens, texts)",
    ),
    Claim(
        "clark-syntax",
        "clark",
        "4.2, table 1",
        "For single relations there is a head that finds them better than any fixed offset",
        "15 of 15 relations, such as dobj 86.8 % beside 40.0 %",
        "share of the paper's relations whose head, chosen on other sentences, is above the best offset",
        Rule("above", 0.5, "share"),
        "bl.survey.best_heads(lens, treebank)",
    ),
    Claim(
        "clark-coreference",
        "clark",
        "4.3, table 2",
        "A head finds what a mention names again better than the nearest mention does",
        "65 % beside 27 %",
        "accuracy of the best head, chosen on other documents, less that of the nearest mention",
        Rule("above", 0.0, "difference"),
        "bl.survey.resolve(lens, treebank).best_heads()",
    ),
    Claim(
        "kobayashi-separator",
        "kobayashi2020",
        "4",
        "What separators send is short: their weight and its norm cancel",
        "shown, no number",
        "share of separators by norm ‖αf(x)‖ ÷ by weight α, all heads",
        Rule("below", 0.5, "ratio"),
        f'{_STATS}.values("separator", by="norm")',
    ),
    Claim(
        "kobayashi-punctuation",
        "kobayashi2020",
        "4",
        "Full stops and commas send shorter vectors than words, too",
        "shown, no number",
        "share of . and , by norm ‖αf(x)‖ ÷ by weight α, all heads",
        Rule("below", 0.75, "ratio"),
        f'{_STATS}.values("punctuation", by="norm")',
    ),
    Claim(
        "kobayashi-special",
        "kobayashi2020",
        "4",
        "Special tokens get much weight and send little: attention gathers little from them",
        "shown, no number",
        "share of the first token and separators by norm ‖αf(x)‖ ÷ by weight α, all heads",
        Rule("below", 0.5, "ratio"),
        f'{_STATS}.table(by="norm")[["first", "separator"]]',
    ),
    Claim(
        "kobayashi-frequency",
        "kobayashi2020",
        "4",
        "Frequent tokens send shorter vectors",
        "Spearman's ρ 0.75",
        "Spearman's ρ of a token's frequency rank in the corpus and its mean ‖f(x)‖",
        Rule("above", 0.5, "ratio"),
        "bl.survey.frequency_correlation(lens, texts).rho",
    ),
    Claim(
        "kobayashi-mixing",
        "kobayashi2021",
        "4, and the authors' notebook",
        "A token's new vector is made of its own old one more than of the others'",
        "others 18.8 %",
        "mixing ratio AttnResLn-N, mean of tokens and layers",
        Rule("below", 0.5, "share"),
        f"{_STATS}.layers()",
        of_training=False,
    ),
    Claim(
        "kobayashi-residual",
        "kobayashi2021",
        "4, and the authors' notebook",
        "The residual connection keeps the token itself: with it others count far less",
        "22.3 % beside 85.3 %, ÷ 0.26",
        "mixing ratio AttnRes-N ÷ Attn-N, means of tokens and layers",
        Rule("below", 0.5, "ratio"),
        f"{_STATS}.layers()",
        of_training=False,
    ),
    Claim(
        "kobayashi-layernorm",
        "kobayashi2021",
        "4, and the authors' notebook",
        "LayerNorm mixes less of the other tokens in",
        "18.8 % beside 22.3 %, ÷ 0.84",
        "mixing ratio AttnResLn-N ÷ AttnRes-N, means of tokens and layers",
        Rule("below", 0.95, "ratio"),
        f"{_STATS}.layers()",
    ),
    Claim(
        "kobayashi-depth",
        "kobayashi2021",
        "4, figure 3",
        "Late layers mix less of the other tokens in than early ones",
        "24 % in the first layer, 11 % in the last",
        "mixing ratio AttnResLn-N in the last third of the layers ÷ in the first third",
        Rule("below", 0.75, "ratio"),
        f"{_STATS}.layers()",
    ),
    Claim(
        "bonino-gates",
        "bonino",
        "gates: figures 3-5",
        "Heads are gates of several kinds: directional, open, closed, contextual, cluster, instance",
        "described, no number; scores are bertlens' own",
        "kinds of gate that some head is in more than half of the texts",
        Rule("above", 4, "kinds"),
        f"{_STATS}.gates()",
    ),
    Claim(
        "bonino-cone",
        "bonino",
        "cone index",
        "Vectors of a text point into a narrow cone",
        "described, no number",
        "cone index ÷ n of the layers' outputs, the least of all layers, less its chance 1/√n",
        Rule("above", 0.0, "difference"),
        f"{_STATS}.layers()",
        of_training=False,
    ),
    Claim(
        "bonino-cone-grows",
        "bonino",
        "cone index",
        "The cone grows narrower from the first layer to the last",
        "described, no number",
        "cone index ÷ n of the last layer's output less that of the embeddings",
        Rule("above", 0.0, "difference"),
        f"{_STATS}.layers()",
        of_training=False,
    ),
    Claim(
        "sinks-resting",
        "xiao",
        "3",
        "Many heads rest on one kind of token without content",
        "shown on decoders, no number",
        "share of the heads that give the first token, or separators, more than 30 % of their attention",
        Rule("above", 0.25, "share"),
        f'{_STATS}.table()[["first", "separator"]]',
        on="Llama-2 7B",
    ),
    Claim(
        "sinks-null",
        "kobayashi2020",
        "4",
        "Heads that rest send next to nothing: the resting place has a short vector",
        "shown, no number",
        "‖f(x)‖ of the resting place ÷ of other words, mean of the heads that rest",
        Rule("below", 0.5, "ratio"),
        f"{_STATS}.lengths()",
    ),
    Claim(
        "sinks-massive",
        "sun",
        "2",
        "A few activations are thousands of times as large as the median one",
        "1,000 times the median and above 100",
        "largest activation of the stream ÷ the median one of its layer, the largest of all layers",
        Rule("above", 1000.0, "ratio"),
        "[state.abs().max() / state.abs().median() for state in trace.hidden_states]",
        on="Llama-2 7B",
    ),
)
BY_NAME = {claim.name: claim for claim in CLAIMS}
