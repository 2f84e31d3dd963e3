// What is loaded apart: the view of labelled examples, with its style. js/build.mjs makes task.js of it.

import { taskNumbers } from "./numbers";
import { Task } from "./task";
import style from "./task.css?text";

export interface Apart {
  Task: typeof Task;
  numbers: typeof taskNumbers;
  style: string;
}

export default { Task, numbers: taskNumbers, style } satisfies Apart;
