// What widget.js leaves out: the bodies of the tabs, and exports. See state/extras.ts.

export { ExportMenu } from "./views/exportmenu";
export { Find } from "./views/find";
export { Help } from "./views/help";
export { ofRow } from "./views/ofrow";
export { Ranking } from "./views/ranking";
export { pythonLine } from "./views/share";
export { tabOf } from "./views/tabs";
export { Texts } from "./views/texts";
