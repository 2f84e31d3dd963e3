// What is said where a page would need Python for an answer.

/** Of a notebook whose kernel is gone. */
export const NEEDS_KERNEL = "This needs Python: run the cell again.";

/** Of a page that runs its model, but for what only Python does. */
export const NEEDS_PYTHON = "This needs Python, which this page does not hold: open the notebook.";
