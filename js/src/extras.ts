// What widget.js leaves out: views and exports that are not needed for the first picture. See state/extras.ts.

export { download, fileName } from "./export/download";
export { pngFromSvg } from "./export/png";
export { atlasFigure, headCsv, headFigure, neuronFigure } from "./views/figures";
export { Gates } from "./views/gates";
export { Geometry } from "./views/geometry";
export { Norms } from "./views/norms";
export { SurveyTab } from "./views/survey/tab";
export { tabCsv, tabFigure } from "./views/tabexport";
