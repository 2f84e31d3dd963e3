// Which layer knows the labels? The curve of the layers, its table, the sentences of Python.
import { sizeColumns } from "../../parts/sizes/sizecolumns";
import { SizeCurve } from "../../parts/sizes/sizecurve";
import { Table } from "../../parts/table";
import { useView } from "../../state/view";
import type { Task } from "./examples";
import { Work } from "./work";

const BEGIN = "Which layer knows the labels?";
const ABOUT = {
  classes:
    "Each layer’s states are read by a ridge regression, fitted on one half of the examples and measured on the other, beside the same model untrained.",
  pairs: "How well each layer’s similarities agree with the labels, of vectors as they are and less their mean.",
};

export function Layers({ task }: { task: Task }) {
  const { dark } = useView();
  return (
    <Work work="layers" task={task} label={BEGIN} about={task.confusion ? ABOUT.classes : ABOUT.pairs}>
      {(sizes) => (
        <div data-testid="task-layers">
          <p>{sizes.said}</p>
          <SizeCurve sizes={sizes} dark={dark} />
          <Table bare title={BEGIN} about={sizes.about} columns={sizeColumns(sizes)} rows={sizes.rows} />
        </div>
      )}
    </Work>
  );
}
