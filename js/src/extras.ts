// What widget.js leaves out: the bodies of the tabs, exports, and parts of the first picture that can wait. See state/extras.ts.

export { ExportMenu } from "./views/exportmenu";
export { Find } from "./views/find";
export { GateChips } from "./views/gatechips";
export { GoBack } from "./views/goback";
export { Help } from "./views/help";
export { Lines } from "./views/lines";
export { Notices } from "./views/notices";
export { ofRow } from "./views/ofrow";
export { AboveList } from "./views/patches";
export { Pictures } from "./views/pictures";
export { QuerySelect } from "./views/queryselect";
export { Ranking } from "./views/ranking";
export { Refused } from "./views/refused";
export { Running } from "./views/running";
export { Seeing } from "./views/seeing";
export { pythonLine } from "./views/share";
export { NormStrip, SpanStrip } from "./views/strips";
export { Style } from "./views/style";
export { Sums } from "./views/sums";
export { TabBody, TablesSwitch } from "./views/tables";
export { Texts } from "./views/texts";
export { AnswerLine, WhatIf, WhatIfMenu } from "./views/whatif/bar";
export { ofChange } from "./views/whatif/data";
export { Zoomed } from "./views/zoom";
