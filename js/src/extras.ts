// What widget.js leaves out: the bodies of the tabs, and exports. See state/extras.ts.

export { download, fileName, pngFromSvg } from "./export/download";
export { atlasFigure, headCsv, headFigure, tabCsv, tabFigure } from "./views/exports";
export { tabOf } from "./views/tabs";
