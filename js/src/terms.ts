// Terms of the tabs with one sentence each, written by `python -m bertlens.typescript`: do not edit.
export const TERMS: Record<string, { label: string; about: string }> = {
  score: { label: "score", about: "Scaled q·k, before the softmax; no unit (Vaswani et al. 2017)." },
  alpha: {
    label: "α",
    about: "Attention weight: the softmax of a query's scores over all keys it sees; a row sums to 1.",
  },
  contrast: {
    label: "contrast",
    about:
      "This key's score less the mean score of the other keys the query sees, a sum over neurons; unit of the score (bertlens' own).",
  },
  jaccard: {
    label: "Jaccard",
    about: "Neurons that two sets share ÷ neurons in either: 0 none, 1 the same; chance is that of random sets.",
  },
  cone: {
    label: "I/n",
    about: "Cone index: length of the mean of the unit vectors, 0 to 1; 1 = all point one way (Bonino et al. 2025).",
  },
  ratio: { label: "‖Δ‖/‖x‖", about: "Length of what the step changes ÷ length of what it takes in, mean over tokens." },
  cosine: { label: "cos", about: "Cosine of what the step changes with what it takes in, −1 to 1, mean over tokens." },
  participation: {
    label: "participation ratio",
    about: "About how many directions the output uses: (Σλ)² / Σλ² of its covariance.",
  },
  kurtosis: {
    label: "kurtosis",
    about:
      "Excess kurtosis of a token's output vector, mean over tokens: 0 for a Gaussian, large where few dimensions stand out.",
  },
  symmetry: { label: "symmetry", about: "Of W_QK: 1 symmetric, −1 skew, 0 random (Saponati et al. 2025)." },
  directionality: {
    label: "directionality",
    about: "Of W_QK: above 0 key dimensions stand out, below 0 query dimensions (Saponati et al. 2025, other sign).",
  },
  overlap: { label: "overlap of W_Q, W_K", about: "How far the subspaces of W_Q and W_K coincide: 0 not, 1 the same." },
  spearman: {
    label: "Spearman's ρ",
    about: "Rank correlation, −1 to 1: below 0 where heads look most at keys of short f(x) (Kobayashi et al. 2020).",
  },
  mixing: {
    label: "Mixing ratio",
    about:
      "Length of what other tokens add ÷ that plus what the token keeps of itself, 0 to 1 (Kobayashi et al. 2021).",
  },
};
