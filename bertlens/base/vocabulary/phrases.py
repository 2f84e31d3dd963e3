"""Sentences that kernel and page both say, and parts of them: `{name}` is filled in by str.format here, and of each the
page has a function of its own.

A sentence that one of the two says alone stands where it is said. Words of the text are filled in with their quotation
marks, by `quotes.quotation` and the page's `quotation`.
"""

from __future__ import annotations

# --- a run that is asked about ---

ANOTHER_TEXT = "the text has changed since: choose the head again"
UNCHANGED_RUN = "this run is the unchanged one"
TOO_LONG = "{tokens} tokens, the model reads {limit}"
NO_FACTOR = "factor {factor} is not a number from 0 upwards: 0 is nothing, 1 as it is"
LAYER_SILENT = "all heads of layer {layer} are off in this run: undo that first, then a head can be louder or quieter"
NO_KEY = "a token would have nothing left to look at"

# --- what became of the input ---

NOT_CARRIED = (
    "this page has no vector of the piece {piece}: it carries those of some languages, in Python there are all"
)
NO_TEXT = "no text: special tokens alone"
NO_TEXT_ABOUT = "No token comes from the text: what is shown are the special tokens that the tokenizer adds"
UNKNOWN = "{count} unknown"
UNKNOWN_ABOUT = "The tokenizer has no piece for: {places}."
WITHOUT_BLANKS = "words without blanks"
WITHOUT_BLANKS_ABOUT = (
    "{scripts}: no blanks stand between words there, so a word is a token, or tokens that share a letter with its marks"
)
TYPED = "special token from your text"
TYPED_ABOUT = "{places}: read as special tokens, counted as text."

# --- changes of a run, in words and as the label of a chip ---

LAYER_OFF = "all heads of layer {layer} off"
LAYER_OFF_CHIP = "all heads of L{layer} off"
HEAD_OFF = "head {layer}.{head} off"
TOKEN_HIDDEN = "token {token} hidden"
LAYER_SCALED = "{factor} × the output of all heads of layer {layer}"
LAYER_SCALED_CHIP = "all heads of L{layer} at {factor}"
HEAD_SCALED = "{factor} × the output of head {layer}.{head}"
TOKEN_DIMMED = "scores of token {token} + ln {factor}"
CUT = "{heads}: {query} looks at {key} cut"
CUT_CHIP = "{heads}: {query} → {key} cut"
LAYER_HEADS = "all heads of layer {layer}"
ONE_HEAD = "head {layer}.{head}"
EVERY_TOKEN, ANY_TOKEN = "every token", "any token"

# --- the model's answer ---

NO_MASK_TOKEN = "the tokenizer of {model} has no mask token: there is no word to predict"
NOTHING_MASKED = "no token of this text is masked: write {mask} where a word is to be predicted"
NOTHING_HIDDEN = "Touch a word to hide it, and let the model guess."
NOTHING_HIDDEN_SAVED = "No word of this text is hidden, so the model guesses none. The words are fixed in a saved page."
NO_WORDS = "{model} names no words: there is none to guess"
NO_WORD_TO_HIDE = "This text has no word that the model could find again."
WORDS_LONG = "Each of {words} words takes a run of its own: hide one of them."
NOT_MASKED = "token {position} is not masked: choose one of {places}"
NO_SINGLE_TOKEN = "{name} is no single token of this tokenizer: give one of its pieces, or an id"
NO_SUCH_LABEL = "no label {name}: there are {labels}"
NO_WORD = "{text} cannot be asked about: {why} of this model."
NAMELESS = "(row {number}, no token)"  # of the model's answer, beyond the vocabulary
SEVERAL_TOKENS, NO_TOKEN = "it is {count} tokens ({pieces}), not one", "it is no token"
NO_LABEL = "{text} is no label of this model."
NEAR = " Near it: {names}."
TEXTS_ALIKE = "similarity of the two texts"
EMBEDDING_ALIKE = "cosine of the embedding with the one before"
EMBEDDING_TURNED = "how far the text’s vector turns"
HEADS_LONG = "Which heads matter in a text of {tokens} tokens takes a while: it is tried on request."
HEADS_MANY = "Which of {heads} heads matter takes a run for each: it is tried on request."

# --- the numbers of an answer that heads are switched off for ---

NO_VECTOR = "{model} answers with no vector of the text"
POOLED = (
    "Each token’s part of the vector, along the vector: its state times its weight in the pooling. They add up to 1."
)
EMBEDDING_KEPT = "cosine with the embedding before"
DIVERGENCE = "KL(before ‖ after){where}"
LOGIT = "logit of {name}{where}"
LOGIT_OVER = "{name} over {other}{where}"
PROBABILITY = "probability of {name}{where}"
TOKEN_LOGIT = "logit of {name} for {token} ({position})"
TOKEN_LOGITS = "sum of the tokens’ own labels’ logits"

# --- two runs beside each other ---

NO_COMMON_WORD = "the two texts have no word in common: there is nothing to compare"
ALIGNED = "{count} of {a} {units} of a and of {b} of b are aligned."
ALIGNED_ALONE = "Only aligned {units}: {count} of {a} of a and of {b} of b."
ALIGNED_OTHERWISE = "Another alignment is as long without {pairs}: taken are the pairs that both texts come to first."
ALIGNED_SCALED = "Each row is scaled to sum 1."
AND_MORE = "{names} and {count} more"
GAP = "{side} has no such {unit}"
GAP_ELSEWHERE = "{side} has it at {places}, not aligned with this one"
HEAD_DIFFERS = "{head} differs most at {query}: it looks at {key} with {weights}."
WEIGHT_AND_GAP = "{weight} in {side}; {gap}"
BOTH = "{a} in a, {b} in b"
SENTENCES_ALIKE = "similarity of the two sentences"
SENTENCES_ALIKE_BY = "Similarity of the two sentences: {both}."
VECTORS_ALIKE = "cosine of the vectors of a and b"
VECTORS_ALIKE_BY = "The vectors of a and b are alike by {cosine} (cosine; 1 = the same direction)."
NOT_ALIGNED = "nothing aligned in that text"

# --- which tokens made a gate ---

BAND = "up to {width} token{s} away"
COLUMNS = "column{s} {places}"
CUT_BEFORE = "cut before token {places}"

# --- what a lesson's check cannot tell ---

NO_QUERY, NO_CHOSEN_KEY = "choose a word whose row is asked about", "choose a word in the row"
NO_ANSWER = "this model gives no answer to this text"
NO_NUMBER = "this text has no number for {name}"
NO_SUCH_WORD = "this text has no word {word}"
NO_NORMS = "what is taken is told while the picture shows the norm or the difference"

# --- a search: which of two passages is first ---

ONE_PASSAGE = "a contrast is of two passages, and there is one"
SAME_PASSAGES = "Both passages have the same text: no word tells them apart."
NO_SUMS = "The two scores are no sums over words: {why}."
PREFERENCE = "{words} of the question {prefer} the wrong passage (in all {total})"
NO_PREFERENCE = "No word of the question prefers the wrong passage."
LACKING, IN_RIGHT = "which the right one lacks", "in the right one {number}"
ANSWER = "in that passage {name} {does} ({number}), {other}"
LEAD = "in that passage {name} leads most over the right one ({number} against {right})"  # where another answers more
LEAD_ALONE = "in that passage {name} leads most ({number}), which the right one lacks"
TURNS, STAYS, TIES, BEGINS = "the order turns", "the order stays", "both scores are equal", "one is ahead"
NO_NAMED_WORD = "no word can be named: {why}"
NO_ORDER = "Both scores are equal: there is no order that a word could turn."
NOTHING_LEFT = "without {word} nothing is left of {place}"
BEHIND_PROMPT = "{subject} is read behind its prompt {prompt}."
UNKNOWN_IN = "{subject}: {tokens} unknown to the tokenizer, and the model reads all such as one word."

# --- files, figures, work on examples ---

SPREADSHEET_NOTE = "an apostrophe stands before what a spreadsheet would take for a formula"
OWN_SCALE = "{symbol} of {name}, on its own scale"
SINGULAR_VALUES = "singular value, from the largest"
DISTANCES = "drawn distances are off by {share}"
PARSES = "above: the treebank; below: {guess}"
BY_SOURCES = "{cell}, by the sources of the {side}"
OF_THIS_RUN = "LayerNorm statistics as they were in this run; a split, not an experiment."
NO_TYPE_SOURCE = "No type source: the model added no token type embedding."
AGAINST_ITSELF = "key {key} against itself is 0: name another key"
LARGEST_LOSS = "with the largest loss"
RESAMPLED = "as it was in other texts"

MASKED_EXAMPLES = (  # of a model that guesses words; in place of [MASK] its own mask
    ("The cat did not drink the milk because the [MASK] was tired.", ""),
    ("The cat did not drink the milk because the [MASK] was sour.", ""),
    ("He is a doctor, and [MASK] works in a hospital.", ""),
    ("She is a doctor, and [MASK] works in a hospital.", ""),
    ("The bank of the [MASK] was covered with grass.", ""),
    ("Yesterday we [MASK] to the beach.", ""),
)
EXAMPLES = (  # texts to choose from, a second one where there are two
    ("The cat did not drink the milk because it was sour.", ""),
    ("The trophy does not fit into the suitcase because it is too big.", ""),
    ("She gave the book to her brother, who read it twice.", ""),
    ("The keys that the man forgot are on the table.", ""),
    ("The cat sat on the mat because it was tired.", "The dog lay on the rug."),
    ("The bank raised its rates.", "They sat on the bank of the river."),
)
