// Text of tokens in tables that spreadsheets open or are pasted into.

const FORMULA = /(^|[,;\t\r\n])("*)(?=[=+@＝＋－＠'\t\r\n-])/g; // as in bertlens/export/arrays.py

/** Text in which no cell of a spreadsheet can begin as a formula. */
export const inert = (text: string): string => text.replace(FORMULA, "$1$2'");
