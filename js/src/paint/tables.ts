// Colour tables, written by `python -m bertlens.colors`: do not edit, change bertlens/colors.py instead.
export type Theme = "light" | "dark";

/** RGB triples in base64, the nodes of a table from zero upwards: colormap.ts draws lines between them. */
export const WEIGHT: Record<Theme, readonly string[]> = {
  light: ["////9fj96/H64ev32OT1zt3yxNfvutDtsMnqpsPnnLzkk7Xhiq/egajaeaHWcZrSaZPOYY3KWIbGUH/CSHi+QHK6OmuyNmWqMl+hLlmYKlOQJU2IIUd/HkF3GjtvFjZnEjBf"],
  dark: ["FxshGSEsGyY4HSxDHjJPIDhcIT1oJEN0J0p+KlCJLVeUMF2fNGSqN2q1OnHBQnjIS4DNVIfSXY/XZpbccJ7ieaXngq3si7TxlrzzosT1rcv3udP5xNr60OL72+n95/H+8/j/"],
};

/** The same for the two arms of a signed table: from zero to the negative end, from zero to the positive. */
export const SIGNED: Record<Theme, readonly string[]> = {
  light: ["/////vn0/vTp/e7f/OjU++PJ+t2++dez+NGo9sud9caS9MCH8rp777R07K9u6Kpp5KVk4KBf3Zta2ZZV1ZBQ0YtLzYZGyoFAxnw7wnc1vnIwum0qtmgks2Mdr14Vq1kMp1QA", "////+Pr98fb86vH64+353Oj31eT1zt/0yNvywdbwutLus83trMnrpsTpn8DnmLvlkbfji7Lhha7ffqndeKTacqDYbJvWZpfTYJLRWY3OU4nMTYTJR4DHQHvFOnbCM3LALG29"],
  dark: ["FxshHh8iJCIjKyYkMiklOS0mPzEmRzQnTjgnVTsnXD8nY0Mna0Ymckomek0lglEkiVUikFklll4pnGMsomcvqGwzr3E2tXY6vHs9woBByIVEz4pI1Y9M3JRP45lT6Z5W8KNa", "FxshGR8oGyMwHCg4HixAIDBIIjRQIzlZJT1hJkJqKEZyKUp7K0+ELFSNLliWMF2fNWKkOmepP2yuRHK0SXe5Tny+VIHDWYfJXozOY5LTaZfZbpzec6Ljeafpfq3uhLL0ibj5"],
};

/** Not a number, in both themes. */
export const NAN = "#8a8a8a";

/** Heads that are drawn over one another. */
export const HEADS: Record<Theme, readonly string[]> = {
  light: ["#235fb2", "#b27c2e", "#1c5405", "#804f5a", "#34989b", "#52155c", "#938c65", "#53121f"],
  dark: ["#6573fb", "#9e5e4b", "#5d8506", "#8d5f8b", "#3cafed", "#f7d6f1", "#dbb769", "#dd8395"],
};
