// Names, words and colours that kernel and page share; `python -m bertlens.widgets.typescript` writes
// this. Change base/vocabulary/, measures/statistics.py, widgets/questions.py and widgets/tabs.py

export type Measure = "weight" | "norm" | "difference";
export type TabName = "neurons" | "why" | "matter" | "similarity" | "norms" | "gates" | "geometry" | "compare" | "task" | "survey" | "table";
export type PartName = "header" | "atlas" | "examples" | "head" | "neurons" | "why" | "matter" | "similarity" | "norms" | "gates" | "geometry" | "compare" | "task" | "survey" | "table";
export type PairFilter = "all" | "AA" | "AB" | "BA" | "BB";
export type UnitKind = "pieces" | "words" | "spans";
export type Theme = keyof typeof INKS;
export type HeadName = [layer: number, head: number];

/** The traits of every widget. */
export interface Traits {
  parts: string[];
  overview: { header: Record<string, unknown>; data: DataView | string };
  map: string;
  layer: number;
  head: number;
  heads: HeadName[];
  query: number | null;
  key: number | null;
  opened: Partial<Record<(typeof PLACE)[number], number | null>>;
  measure: Measure;
  layer_map: string;
  mode: "matrix" | "lines" | "text";
  view: string;
  text: string;
  text_pair: string;
  truncation: boolean;
  pair_filter: PairFilter;
  units: UnitKind;
  hide_special: boolean;
  renormalize: boolean;
  theme: "auto" | "light" | "dark";
  include_layers: number[] | null;
  include_heads: number[] | null;
  settings: Partial<Settings>;
  lesson: Record<string, unknown>;
  lesson_done: Record<string, string | number | boolean | null>[];
}

/** What the traits of a selection are where nobody chose. */
export const DEFAULTS: Partial<Traits> = {"map": "self", "layer": 0, "head": 0, "heads": [], "query": null, "key": null, "measure": "weight", "layer_map": "", "mode": "matrix", "view": "", "pair_filter": "all", "units": "pieces", "hide_special": false, "renormalize": false, "theme": "auto", "include_layers": null, "include_heads": null};

/** What the program may choose for a reader who has not. */
export const PLACE = ["layer", "head", "query", "key"] as const;
/** How a page is set beside its selection. */
export const SETTINGS = {"atlas_order": "position", "atlas_stat": "entropy", "atlas_minimum": 0.0, "atlas_fill": false, "atlas_bars": false, "common_scale": false, "muted": [], "line_minimum": 0.02, "cell_size": 0, "neuron_order": "contribution", "key_order": "position", "all_keys": false, "mixing": "attnresln-n", "thresholds": [0.35, 0.1], "gate_view": "full", "gate_filter": "", "all_heads": false, "more": false, "tables": false, "text_side": "from", "explain": true, "heads_run": "all", "target": "", "target_at": -1, "aligned_only": true, "compare_with": {"run": "", "text": "", "text_pair": ""}, "similar_to": {"a": "", "b": "", "task_a": "", "task_b": ""}, "together": false, "similar_by": "words", "similar_of": "", "similar_pair": [-1, -1], "table_of": "head", "corpus": {"name": "previous", "by": "weight", "average": "text", "colour": "corpus", "layers": "statistic", "direction": "dep->head"}};
export type Settings = Omit<typeof SETTINGS, "muted"> & { muted: string[] };

/** The questions, with their arguments. */
export interface Questions {
  pictures: { layer: number };
  head: { layer: number; head: number };
  norms: { layer: number };
  thumbs: { measure: string; layer?: number };
  statistics: { by: string; layer?: number };
  rows: { query: number; last: number };
  layer_map: { layer: number; kind: string };
  gates: { threshold: number; margin: number; layer?: number };
  evidence: { layer: number; head: number; gate: string; view: string };
  norm_view: Record<never, never>;
  geometry: Record<never, never>;
  histograms: { layer: number; head: number };
  stream: { station: number };
  spectra: { layer: number; head?: number };
  why: { layer: number; head: number; query: number; key: number; side: string; against: string | number | null; through_mlps: boolean };
  why_pairs: { layer: number; head: number; query: number; key: number };
  answers: { target?: string; target_at?: number };
  find_target: { text: string };
  moved: Record<never, never>;
  matters: { metric: string; target?: string; target_at?: number };
  matters_exact: { metric: string; layer: number; target?: string; target_at?: number };
  loudness: { layer: number; head: number; target?: string; target_at?: number; partners?: HeadName[] };
  cell_matters: { layer: number; head: number; query: number; key: number; target?: string; target_at?: number };
  each_matters: { target?: string; target_at?: number };
  heads_that_matter: { target?: string; target_at?: number; long?: boolean; most?: number };
  head_sets: { target?: string; target_at?: number };
  shares: Record<never, never>;
  cloze: Record<never, never>;
  hidden_words: Record<never, never>;
  unrelated: Record<never, never>;
  which_words: { attribution: string; target?: string; target_at?: number };
  faithful: { attribution: string; target?: string; target_at?: number };
  score_maps: { layer: number; head: number };
  survey: Record<never, never>;
  survey_texts: { layer: number };
  compared_with: { other: string[] };
  compared_heads: { aligned?: boolean; other?: string[] };
  compared: { layer: number; head: number; measure: string; row: number; col: number; aligned?: boolean; other?: string[] };
  compared_answers: { other?: string[] };
  similar: { texts?: string[] };
  similar_without: { texts?: string[] };
  similar_input: { texts?: string[] };
  similar_layers: { texts?: string[] };
  similar_baseline: { texts?: string[] };
  task: Record<never, never>;
  task_table: Record<never, never>;
  task_open: { row: number };
  task_work: { work: string; effect_of?: string; ablation?: string };
  task_cost: { work: string; ablation: string };
  task_stop: { work: string };
  hello: Record<never, never>;
  bundle: Record<never, never>;
  trace: { text: string; text_pair?: string };
  pdf: { sheet: { mm: number; points: number; dark: boolean; query: number | null; key: number | null } };
  similar_pdf: { split: { of: string; words: boolean }; texts?: string[] };
  change: { changes: unknown[] };
  lesson_model: Record<never, never>;
  overview: Record<never, never>;
  second_run: { text: string; text_pair?: string };
  html: { layers?: number[] | null; live?: boolean; settings?: Partial<Settings> };
  live_cost: Record<never, never>;
  handout: Record<never, never>;
}
/** Those of a search. */
export interface SearchQuestions {
  hello: Record<never, never>;
  search: Record<never, never>;
  search_tables: Record<never, never>;
  search_typed: { text: string };
  search_case: { query: string | null; wrong: string | null; right: string | null; texts: (string | null)[] | null };
  search_words: { query: string | null; wrong: string | null; right: string | null; texts: (string | null)[] | null };
  search_heads: { query: string | null; wrong: string | null; right: string | null; texts: (string | null)[] | null };
  search_without: { query: string | null; wrong: string | null; right: string | null; texts: (string | null)[] | null; side: string; word: string; how: string; draws: number };
  search_negatives: { n: number; ending: string };
  search_work: { work: string };
  search_stop: { work: string };
}
export const TRAIT_NAMES: readonly (keyof Traits)[] = ["parts", "overview", "map", "layer", "head", "heads", "query", "key", "opened", "measure", "layer_map", "mode", "view", "text", "text_pair", "truncation", "pair_filter", "units", "hide_special", "renormalize", "theme", "include_layers", "include_heads", "settings", "lesson", "lesson_done"];

export const MEASURES: Record<Measure, { symbol: string; label: string; title: string; does: string; they: string; about: string; signed: boolean }> = {"weight": {"symbol": "α", "label": "Weight α", "title": "attention weight α", "does": "looks at", "they": "look at", "about": "How much of a query's attention goes to a key: the softmax of its scores; a row sums to 1.", "signed": false}, "norm": {"symbol": "‖αf(x)‖", "label": "Norm ‖αf(x)‖", "title": "norm of what is passed on, ‖αf(x)‖", "does": "takes from", "they": "take from", "about": "Length of what a key really adds to a query: weight times ‖f(x)‖, the length of the key's value after the output projection (Kobayashi et al. 2020).", "signed": false}, "difference": {"symbol": "Δ", "label": "Difference", "title": "difference α − ‖αf(x)‖ / Σ‖αf(x)‖", "does": "looks more (+), takes more (−)", "they": "look more (+), take more (−)", "about": "Share of the weight less share of the norm, in each row: above 0 where a head looks more than it takes.", "signed": true}};
export const PAIR_FILTERS: Record<PairFilter, { label: string; about: string }> = {"all": {"label": "All", "about": "All pairs of tokens."}, "AA": {"label": "A→A", "about": "Queries of sentence A, keys of sentence A."}, "AB": {"label": "A→B", "about": "Queries of sentence A, keys of sentence B."}, "BA": {"label": "B→A", "about": "Queries of sentence B, keys of sentence A."}, "BB": {"label": "B→B", "about": "Queries of sentence B, keys of sentence B."}};
export const UNITS: Record<UnitKind, { label: string; about: string }> = {"pieces": {"label": "Pieces", "about": "The tokenizer's pieces."}, "words": {"label": "Words", "about": "A word's pieces put together: columns summed, rows averaged."}, "spans": {"label": "Domains", "about": "A domain's tokens put together: columns summed, rows averaged."}};
export const GATES: Record<string, { letter: string; mark: string; about: string }> = {"directional": {"letter": "D", "mark": "↓", "about": "All queries look at the same one or few words."}, "open": {"letter": "O", "mark": "○", "about": "Attention is broad and without structure."}, "closed": {"letter": "C", "mark": "▮", "about": "Attention rests on special tokens: a no-op."}, "forward contextual": {"letter": "F", "mark": "▸", "about": "Looks at the next word, or at words after."}, "backward contextual": {"letter": "B", "mark": "◂", "about": "Looks at the word before, or at words before."}, "cluster": {"letter": "K", "mark": "▚", "about": "Words look at the words of their own block, such as their sentence."}, "instance": {"letter": "I", "mark": "∴", "about": "Single words look far, each at another one."}, "self": {"letter": "S", "mark": "◇", "about": "Words look at themselves."}, "bidirectional": {"letter": "T", "mark": "◆", "about": "Words look at their neighbours on both sides."}, "mixed": {"letter": "M", "mark": "~", "about": "No clear kind."}, "undefined": {"letter": "?", "mark": "", "about": "Too few words (under 8) to tell a kind from noise."}};
export const CATEGORIES: Record<string, { label: string; about: string }> = {"first": {"label": "first", "about": "Template tokens in front of the text, such as [CLS]."}, "separator": {"label": "separator", "about": "Template tokens after a text, such as [SEP]."}, "punctuation": {"label": "punctuation", "about": "Tokens of punctuation only."}, "other": {"label": "words", "about": "All other tokens."}};
export const SOURCES: Record<string, { label: string }> = {"word": {"label": "word embedding"}, "position": {"label": "position embedding"}, "type": {"label": "segment embedding"}, "head": {"label": "earlier heads"}, "mlp": {"label": "MLPs"}, "bias": {"label": "biases"}, "relative position": {"label": "relative position"}, "content to position": {"label": "content to position"}, "position to content": {"label": "position to content"}, "layout": {"label": "layout"}};
export const STATISTICS: Record<string, { label: string; about: string; unit: string; finds: string }> = {"previous": {"label": "to the previous token", "about": "Share of the attention that goes to the token before.", "unit": "share", "finds": "look at the previous word"}, "next": {"label": "to the next token", "about": "Share of the attention that goes to the token after.", "unit": "share", "finds": "look at the next word"}, "self": {"label": "to the token itself", "about": "Share of the attention that tokens give themselves.", "unit": "share", "finds": "look at the word itself"}, "same_word": {"label": "to the same word", "about": "Share that goes to other occurrences of the query's word.", "unit": "share", "finds": "look at the same word elsewhere"}, "first": {"label": "to the first token", "about": "Share that goes to the first token.", "unit": "share", "finds": "rest on {first}"}, "separator": {"label": "to separators", "about": "Share that goes to the separators of the template.", "unit": "share", "finds": "rest on {separator}"}, "special": {"label": "to special tokens", "about": "Share that goes to all tokens of the template.", "unit": "share", "finds": "rest on special tokens"}, "punctuation": {"label": "to . and ,", "about": "Share that goes to “.” and “,” (as Clark et al. 2019 count).", "unit": "share", "finds": "look at . and ,"}, "punctuation_all": {"label": "to punctuation", "about": "Share that goes to tokens of Unicode punctuation.", "unit": "share", "finds": "look at punctuation"}, "same_segment": {"label": "within the own sentence", "about": "Share that stays in the query's own sentence.", "unit": "share", "finds": "stay in their own sentence"}, "separator_to_separator": {"label": "separator to separator", "about": "Share of the separators' own attention that goes to separators (Clark et al. 2019).", "unit": "share", "finds": "let separators look at separators"}, "rest_to_separator": {"label": "rest to separator", "about": "Share of the other tokens' attention that goes to separators (Clark et al. 2019).", "unit": "share", "finds": "let words rest on separators"}, "entropy": {"label": "entropy", "about": "Mean entropy of a row, in nats: 0 on one key, ln K even.", "unit": "nats", "finds": "spread over many words"}, "entropy_first": {"label": "entropy, first row", "about": "Entropy of the first token's row, in nats.", "unit": "nats", "finds": "spread the first row over many words"}, "entropy_smoothed": {"label": "entropy, smoothed", "about": "Mean entropy of 0.9999 α + 0.0001 / n, in nats (as Clark et al. 2019 have it).", "unit": "nats", "finds": ""}, "entropy_first_smoothed": {"label": "entropy, first row, smoothed", "about": "Smoothed entropy of the first token's row, in nats.", "unit": "nats", "finds": ""}, "k90": {"label": "keys that hold 90 %", "about": "Least number of keys that hold 90 % of a row, mean over rows (Ramsauer et al. 2021).", "unit": "keys", "finds": "need many words for 90 % of a row"}, "max": {"label": "largest weight", "about": "The largest weight of the head.", "unit": "weight", "finds": "have one very strong link"}, "variation": {"label": "weight ≠ norm", "about": "Share of a row that lies elsewhere by norm ‖αf(x)‖ than by weight α (total variation), mean over rows.", "unit": "share", "finds": "take from other words than they look at"}};
export const ATTRIBUTIONS: Record<string, { label: string; about: string }> = {"occlusion": {"label": "occlusion", "about": "What the number loses without the token: one run for each (Li et al. 2016, erasure)."}, "integrated gradients": {"label": "integrated gradients", "about": "Slopes along the straight way from a masked text to this one, summed (Sundararajan et al. 2017)."}, "gradient × input": {"label": "gradient × input", "about": "Each token's word embedding times its slope: one run, to first order (Simonyan et al. 2014)."}, "attention × gradient": {"label": "attention × gradient", "about": "Attention times its slope, through all layers; how much flows, never below 0 (Chefer et al. 2021)."}, "linearised": {"label": "linearised", "about": "Attention, norms and gates kept as they were: the number is then a sum over tokens (Ali et al. 2022)."}};
export const TERMS: Record<string, { label: string; about: string }> = {"score": {"label": "score", "about": "Scaled q·k and what some models add to it, before the softmax; no unit (Vaswani et al. 2017)."}, "alpha": {"label": "α", "about": "Attention weight: the softmax of a query's scores over all keys it sees; a row sums to 1."}, "contrast": {"label": "contrast", "about": "This key's scaled q·k less the mean of the other keys' that the query sees, a sum over neurons; unit of the score (bertlens' own)."}, "jaccard": {"label": "Jaccard", "about": "Neurons that two sets share ÷ neurons in either: 0 none, 1 the same; chance is that of random sets."}, "cone": {"label": "I/n", "about": "Cone index I ÷ number of tokens n: length of the mean of the unit vectors, 0 to 1; 1 = all point one way (Bonino et al. 2025)."}, "ratio": {"label": "‖Δ‖/‖x‖", "about": "Length of what the step changes ÷ length of what it takes in, mean over tokens."}, "cosine": {"label": "cos", "about": "Cosine of what the step changes with what it takes in, −1 to 1, mean over tokens."}, "participation": {"label": "participation ratio", "about": "About how many directions the output uses: (Σλ)² / Σλ² of its covariance."}, "kurtosis": {"label": "kurtosis", "about": "Excess kurtosis of a token's output vector, mean over tokens: 0 for a Gaussian, large where few dimensions stand out."}, "symmetry": {"label": "symmetry", "about": "Of W_QK: 1 symmetric, −1 skew, 0 random (Saponati et al. 2025)."}, "directionality": {"label": "directionality", "about": "Of W_QK: above 0 key dimensions stand out, below 0 query dimensions (Saponati et al. 2025, other sign)."}, "overlap": {"label": "overlap of W_Q, W_K", "about": "How far the subspaces of W_Q and W_K coincide: 0 not, 1 the same."}, "spearman": {"label": "Spearman's ρ", "about": "Rank correlation, −1 to 1: below 0 where heads look most at keys of short f(x) (Kobayashi et al. 2020)."}, "mixing": {"label": "Mixing ratio", "about": "Length of what other tokens add ÷ that plus what the token keeps of itself, 0 to 1 (Kobayashi et al. 2021)."}};
/** The patterns that speak for each gate. */
export const GATE_PATTERNS: Record<string, readonly string[]> = {"directional": ["content columns"], "open": ["unstructured"], "closed": ["special columns"], "forward contextual": ["next", "after"], "backward contextual": ["previous", "before"], "cluster": ["block"], "instance": ["far peaks"], "self": ["self"], "bidirectional": ["both neighbours"]};

/** Numbers and lists that kernel and page both compute with: bertlens/base/vocabulary/constants.py. */
export const FINEST_DECIMALS = 6;
export const MENTION_SHARE = 0.1;
export const MENTION_EVEN = 2;
export const TOLERANCE = 0.005;
export const RIGHT_TO_LEFT = [[1424, 2303], [64285, 65023], [65136, 65278], [67584, 69631], [124928, 126975]] as const;
export const LEAST_PATTERN_TOKENS = 4;
export const PATTERN_CONTENT = 3;
export const PATTERN_CUTS = 32;
export const PATTERN_TINY = 1e-12;
export const PATTERN_ROUNDING = 1e-06;
export const GATE_THRESHOLD = 0.35;
export const GATE_MARGIN = 0.1;
export const GATE_LEAST_CONTENT = 8;
export const GATE_RISE = 6;
export const GATE_LEVEL = 12;
export const GATE_VIEWS = ["full", "content"] as const;
export const THUMBNAIL_SIDE = 32;
export const ROW_SHARE = 0.9;
export const NEURON_SHARE = 0.8;
export const NEURON_DRAWS = 20;
export const MANY_ROWS = 64;
export const RHO_POINTS = 3;
export const MIXING_METHODS = ["attn-w", "attnres-w", "attn-n", "attnres-n", "attnresln-n"] as const;
export const SCORE_TERMS = ["relative position", "content to position", "position to content", "layout"] as const;
export const ANSWERS = 5;
export const CHOICES = 20;
export const LOUDNESS = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2] as const;
export const SURE = 0.97;
export const LITTLE = 0.02;
export const NAMED_ANSWERS = ["words", "labels", "span"] as const;
export const SINK = 1e-05;
export const COMPARED_UNITS = 128;
export const COMPARED_HEADS = 5;
export const COMPARED_RUNS = 2;
export const NAMED_UNITS = 4;
export const WITHOUT_BLANKS = {"Chinese characters": "々〇㐀-䶿一-鿿豈-﫿𠀀-𿿿", "kana": "ぁ-ヿㇰ-ㇿｦ-ﾟ", "Thai": "ก-๿", "Lao": "຀-໿", "Khmer": "ក-៿", "Burmese": "က-႟", "Tibetan": "ༀ-࿿"};
export const JOINERS = "‌‍ำຳ";

/** The longest texts, in tokens, that something is made of: see bertlens/base/limits.py. */
export const LIMITS = {"carried": 64, "by_cell": 64, "typed": 128, "even": 128, "saved": 512, "held": 1024, "effects": 192, "all_heads": 128, "attributed": 64, "faithful": 192} as const;

/** BibTeX of the papers, by the names that sentences give them, and of bertlens. */
export const REFERENCES: Record<string, string> = {"Vaswani et al. 2017": "@inproceedings{vaswani2017attention,\n  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia},\n  title = {{Attention is All You Need}},\n  booktitle = {Advances in Neural Information Processing Systems 30},\n  year = {2017},\n  eprint = {1706.03762},\n  archiveprefix = {arXiv},\n}", "Clark et al. 2019": "@inproceedings{clark2019what,\n  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},\n  title = {{What Does BERT Look At? An Analysis of BERT's Attention}},\n  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and Interpreting Neural Networks for NLP},\n  year = {2019},\n  eprint = {1906.04341},\n  archiveprefix = {arXiv},\n}", "Kobayashi et al. 2020": "@inproceedings{kobayashi2020attention,\n  author = {Kobayashi, Goro and Kuribayashi, Tatsuki and Yokoi, Sho and Inui, Kentaro},\n  title = {{Attention is Not Only a Weight: Analyzing Transformers with Vector Norms}},\n  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing},\n  year = {2020},\n  eprint = {2004.10102},\n  archiveprefix = {arXiv},\n}", "Kobayashi et al. 2021": "@inproceedings{kobayashi2021incorporating,\n  author = {Kobayashi, Goro and Kuribayashi, Tatsuki and Yokoi, Sho and Inui, Kentaro},\n  title = {{Incorporating Residual and Normalization Layers into Analysis of Masked Language Models}},\n  booktitle = {Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing},\n  year = {2021},\n  eprint = {2109.07152},\n  archiveprefix = {arXiv},\n}", "Abnar and Zuidema 2020": "@inproceedings{abnar2020quantifying,\n  author = {Abnar, Samira and Zuidema, Willem},\n  title = {{Quantifying Attention Flow in Transformers}},\n  booktitle = {Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics},\n  year = {2020},\n  eprint = {2005.00928},\n  archiveprefix = {arXiv},\n}", "Modarressi et al. 2022": "@inproceedings{modarressi2022globenc,\n  author = {Modarressi, Ali and Fayyaz, Mohsen and Yaghoobzadeh, Yadollah and Pilehvar, Mohammad Taher},\n  title = {{GlobEnc: Quantifying Global Token Attribution by Incorporating the Whole Encoder Layer in Transformers}},\n  booktitle = {Proceedings of the 2022 Conference of the North American Chapter of the Association for Computational Linguistics: Human Language Technologies},\n  year = {2022},\n  eprint = {2205.03286},\n  archiveprefix = {arXiv},\n}", "Ferrando et al. 2022": "@inproceedings{ferrando2022measuring,\n  author = {Ferrando, Javier and G{\\'a}llego, Gerard I. and Costa-juss{\\`a}, Marta R.},\n  title = {{Measuring the Mixing of Contextual Information in the Transformer}},\n  booktitle = {Proceedings of the 2022 Conference on Empirical Methods in Natural Language Processing},\n  year = {2022},\n  eprint = {2203.04212},\n  archiveprefix = {arXiv},\n}", "Mohebbi et al. 2023": "@inproceedings{mohebbi2023quantifying,\n  author = {Mohebbi, Hosein and Zuidema, Willem and Chrupa{\\l}a, Grzegorz and Alishahi, Afra},\n  title = {{Quantifying Context Mixing in Transformers}},\n  booktitle = {Proceedings of the 17th Conference of the European Chapter of the Association for Computational Linguistics},\n  year = {2023},\n  eprint = {2301.12971},\n  archiveprefix = {arXiv},\n}", "Bonino et al. 2025": "@misc{bonino2025geometry,\n  author = {Bonino, Matteo and Ghione, Giorgia and Cirrincione, Giansalvo},\n  title = {{The geometry of BERT}},\n  year = {2025},\n  eprint = {2502.12033},\n  archiveprefix = {arXiv},\n}"};
export const SOFTWARE = "@software{bertlens,\n  author = {{The bertlens developers}},\n  title = {{bertlens: look inside the attention heads of BERT-family models}},\n  version = {VERSION},\n  year = {2026},\n}";

/** Text, lines and areas. */
export const INKS = {"light": {"bg": "#ffffff", "panel": "#ffffff", "soft": "#f7f6f3", "border": "#e4e2dd", "ink": "#1d2430", "muted": "#5d6778", "select": "#d8431c", "select-text": "#c23a15", "select-soft": "#fdf0eb", "on-select": "#ffffff", "positive": "#d8431c", "negative": "#5f789f", "negative-text": "#4f6890", "warning-bg": "#fff4d6", "warning-ink": "#6b4a00"}, "dark": {"bg": "#14181e", "panel": "#14181e", "soft": "#1c2129", "border": "#2d343e", "ink": "#efece5", "muted": "#9aa3b1", "select": "#ff7f50", "select-text": "#ff9a73", "select-soft": "#2a1d18", "on-select": "#14181e", "positive": "#ff7f50", "negative": "#819ac4", "negative-text": "#9bb1d6", "warning-bg": "#3d3110", "warning-ink": "#ffdf8a"}} as const;
/** The letters of the text's words. */
export const SERIF = "\"Iowan Old Style\", Charter, Palatino, Georgia, \"Noto Serif\", \"DejaVu Serif\", serif";
/** Curves and points; kinds of token first. */
export const SERIES: Record<Theme, readonly string[]> = {"light": ["#c2185b", "#7a5195", "#8a6508", "#2f5fb3", "#1f7a6b", "#5d6778"], "dark": ["#ff6fa3", "#c39bd3", "#e0b040", "#7ea6ea", "#5cc4b0", "#b0b8c4"]};
/** Which of SERIES stands for what a head makes of its input. */
export const VECTORS: Record<string, number> = {"query": 0, "key": 3, "value": 4, "context": 1, "attention": 5};
/** Heads that are drawn over one another. */
export const HEADS: Record<Theme, readonly string[]> = {"light": ["#235fb2", "#b27c2e", "#1c5405", "#804f5a", "#34989b", "#52155c", "#938c65", "#53121f"], "dark": ["#6573fb", "#9e5e4b", "#5d8506", "#8d5f8b", "#3cafed", "#f7d6f1", "#dbb769", "#dd8395"]};
/** What sentences call the colours of the scales. */
export const POSITIVE = "red";
export const NEGATIVE = "slate";
export const MISSING = "brown";
/** Not a number, in both themes. */
export const NAN = "#8d766d";
/** RGB triples in base64, nodes of a colour table from zero upwards: colormap.ts draws lines between. */
export const WEIGHT: Record<Theme, readonly string[]> = {"light": ["////7u/y3d/kzM/Xur/NqbDCmKG4iJKteoOdbHWNX2d+UlluRUxfOT9RLTNDISY1Fhso"], "dark": ["FBgeHyMrKi44NTpFQEdWS1RnV2F4Ym6KcXyWgIqhkJmtn6e5sLbFwMXS0NXf4OTs8fT5"]};
/** The same for the two arms of a signed table: from zero to the negative end, and to the positive. */
export const SIGNED: Record<Theme, readonly string[]> = {"light": ["////9Pb56u3z4OTt1dzoy9Piwcrct8LWrbnQo7HKmanEj6C+hZi4e5CxcoiraIClX3if", "/////vTx/enj+9/W+tTI+Mm69r6t87Og8aiS752F7JF46oVq53ld421P4GBA3FIw2EMc"], "dark": ["FBgeGR8oHiYzIy09KTVILjxUNERfOUxrP1R3RV2DTmWMVm6VXnaeZ3+nb4ixeJG6gZrE", "FBgeIB4hLSMkOiknRy8pVDQrYjotcD8vfkUxjEszmlE2p1c6tl09xGRA0mpD4XFH8HdK"]};
