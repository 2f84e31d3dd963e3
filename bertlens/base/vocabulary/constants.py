"""Numbers and lists that kernel and page both compute with. What one of them has for itself stands where it is used."""

from __future__ import annotations

from .. import quotes, ranking

# --- sentences and orders ---

FINEST_DECIMALS = ranking.FINEST  # below is the rounding of float32: what reads 0 to so many is the most of nothing
MENTION_SHARE, MENTION_EVEN = 0.1, 2  # of a head is told what gets a tenth, and twice what even rows would give
TOLERANCE = 0.005  # half of the last digit that a view shows: so near to a lesson's threshold is on either side

RIGHT_TO_LEFT = quotes.RIGHT_TO_LEFT  # what a sentence isolates

# --- patterns and gates: measures/gates ---

LEAST_PATTERN_TOKENS, PATTERN_CONTENT = 4, 3  # tokens, content tokens: below these a map has no pattern
PATTERN_CUTS = 32  # at most so many places are tried for a cut between two blocks
PATTERN_TINY, PATTERN_ROUNDING = 1e-12, 1e-6  # what is divided by at least; sums of float32
GATE_THRESHOLD, GATE_MARGIN = 0.35, 0.10  # the scores' scale is our own, and so are these
GATE_LEAST_CONTENT = 8  # content tokens; with fewer a head has no label
GATE_RISE, GATE_LEVEL = 6, 12  # how fast the threshold rises with 1/n, up to how many content tokens it does
GATE_VIEWS = ("full", "content")

# --- heads and neurons ---

THUMBNAIL_SIDE = 32  # pixels, at most
ROW_SHARE = 0.9  # of a row, which k90 counts the keys of
NEURON_SHARE = 0.8  # of the net contrast, carried by the marked neurons
NEURON_DRAWS = 20  # for an interval, at least
MANY_ROWS = 64  # of a map: its colours end at twice the median of the rows' largest
RHO_POINTS = 3  # of a rank correlation, at least: of two, ρ is 1 or −1 whatever they are
MIXING_METHODS = ("attn-w", "attnres-w", "attn-n", "attnres-n", "attnresln-n")  # Kobayashi et al. 2021

# Of SOURCES: what scores have beside q·k
SCORE_TERMS = ("relative position", "content to position", "position to content", "layout")

# --- the model's answer ---

ANSWERS, CHOICES = 5, 20  # that are shown; words to choose from
LOUDNESS = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2)  # of a head, at which the answer is run
SURE = 0.97  # a probability above it changes little whatever moves it: its log-odds are told
LITTLE = 0.02  # a change of an answer below it is none to speak of
NAMED_ANSWERS = ("words", "labels", "span")  # kinds of answer that have a name

# --- two runs beside each other ---

SINK = 1e-5  # attention to no token below this is rounding
COMPARED_UNITS = 128  # a side, that are shown at once
COMPARED_HEADS = 5  # in words
COMPARED_RUNS = 2  # beside the one shown, that a view remembers
NAMED_UNITS = 4  # pairs, or places, in a sentence

# --- words of a text: text/word_numbers.py ---

WITHOUT_BLANKS = {  # scripts that are written without blanks between words: their letters, as classes of expressions
    "Chinese characters": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "kana": "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Thai": "\u0e01-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Khmer": "\u1780-\u17ff",
    "Burmese": "\u1000-\u109f",
    "Tibetan": "\u0f00-\u0fff",
}
JOINERS = "\u200c\u200d\u0e33\u0eb3"  # no marks to Unicode, but of the letter before
