// The questions that a page's model answers, by the names of bertlens/widgets/questions.py;
// tests/unit/export/test_live_questions.py asks each of both.
import type { Questions } from "../generated/vocabulary";
import { NEEDS_PYTHON } from "../kernel/needs";
import { cellMatters } from "./answers/ablations";
import { answers } from "./answers/beforeafter";
import { matters, mattersExact, movedBy } from "./answers/changeeffects";
import { cloze } from "./answers/cloze";
import { compared, comparedAnswers, comparedHeads, comparedWith } from "./answers/compare";
import { headsThatMatter, shares } from "./answers/firstanswer";
import { evidence, gates } from "./answers/gatescores";
import { head, norms, rows, statistics, thumbs } from "./answers/heads";
import { headSets } from "./answers/headsets";
import { loudness } from "./answers/loudnesscurve";
import { normView } from "./answers/normview";
import { findTarget } from "./answers/targets";
import { why, whyPairs } from "./answers/whyanswer";
import type { Answering } from "./runs";

export const QUESTIONS = {
  head,
  rows,
  statistics,
  norms,
  thumbs,
  norm_view: normView,
  why,
  why_pairs: whyPairs,
  gates,
  evidence,
  answers,
  find_target: findTarget,
  cell_matters: cellMatters,
  loudness,
  moved: movedBy,
  matters,
  matters_exact: mattersExact,
  heads_that_matter: headsThatMatter,
  head_sets: headSets,
  shares,
  cloze,
  compared_with: comparedWith,
  compared_heads: comparedHeads,
  compared,
  compared_answers: comparedAnswers,
} satisfies { [name in keyof Questions]?: Answering<name> };

/** Those that another run is shown for. */
const SHOWING = ["trace", "change"];
/** That a run is made for, which is not shown. */
const BESIDE = "second_run";

export const isShowing = (name: string): boolean => SHOWING.includes(name);

export const isAnswered = (name: string): boolean => name in QUESTIONS || isShowing(name) || name === BESIDE;

export const answering = (name: string) => {
  if (!(name in QUESTIONS)) throw new Error(NEEDS_PYTHON);
  return QUESTIONS[name as keyof typeof QUESTIONS];
};
