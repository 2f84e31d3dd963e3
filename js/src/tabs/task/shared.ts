// What the bundle hands to code that is loaded apart. A test says that nothing is missing and nothing too much.

import { signal } from "@preact/signals";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Fragment, jsx, jsxs } from "preact/jsx-runtime";
import { askHeads } from "../../atlas/questions";
import { sorted } from "../../compute/sorted";
import { csv } from "../../export/csv";
import { arrived } from "../../kernel/answers";
import { cssColor, inkOn } from "../../paint/colormap";
import { counted, number, percent, px, signed, upTo } from "../../paint/format";
import { seriesColour, signedColours, weightColours } from "../../paint/palette";
import { Chart, Key, MARGIN, scale } from "../../parts/chart";
import { Close, into, Segmented, Select } from "../../parts/controls";
import { useCopy } from "../../parts/copy";
import { curvePath } from "../../parts/curve";
import { onGridKey } from "../../parts/gridkeys";
import { HeadLink } from "../../parts/headlink";
import { Section, Waiting } from "../../parts/section";
import { numbers, Table } from "../../parts/table";
import { shortText, visibleText } from "../../parts/token";
import { useWidth } from "../../parts/width";
import { effect, metricOf, strongest, sweep } from "../../state/effects";
import { useView } from "../../state/view";

export const SHARED = {
  ...{ Chart, Close, Fragment, HeadLink, Key, MARGIN, Section, Segmented, Select },
  ...{ Table, Waiting, arrived, askHeads, counted, cssColor, csv, curvePath, effect },
  ...{ inkOn, into, jsx, jsxs, metricOf, number, numbers, onGridKey, percent },
  ...{ px, scale, seriesColour, shortText, signal, signed, signedColours, sorted, strongest, sweep },
  ...{ upTo, useCopy, useId, useLayoutEffect, useMemo, useRef, useState, useView, useWidth },
  ...{ visibleText, weightColours },
};
