// The arcs of the head shown, as loud as it is: while its slider is dragged they alone are drawn again.
import { useMemo } from "preact/hooks";
import { factorOf, loudnessOf } from "../../state/frontanswers";
import { useView } from "../../state/view";
import { Arcs } from "./arcpicture";
import { arcsOf, habitArcs, type Scene } from "./arcs";
import type { PreviewRow } from "./wordrow";

interface Props {
  scene: Scene; // with the head as in the model
  habit: { step: -1 | 1; rows: ArrayLike<number>[] } | null; // see habitOf
  preview: PreviewRow | null; // of another head, which the scene is of
  name: string; // of another they are drawn anew
  pick: ((word: number) => void) | null; // a number was clicked
  nameOf: (word: number) => string;
  asked: number; // the word whose number was clicked, -1 for none
  below: boolean; // under the words: the scene is upside down
}

export function HeadArcs({ scene, habit, preview, name, below, ...ask }: Props) {
  const view = useView();
  const loudness = preview ? factorOf(view.overview, preview.layer, preview.head) : loudnessOf(view);
  const loud = useMemo(() => ({ ...scene, loudness }), [scene, loudness]);
  const { arcs, numbers } = useMemo(() => arcsOf(loud), [loud]);
  const behind = habit ? habitArcs(loud, habit.rows, habit.step) : [];
  const upright = below ? numbers.map((one) => ({ ...one, y: -one.y })) : numbers;
  return <Arcs {...{ behind, arcs, numbers: upright, asker: scene.asker, scene: name, below, ...ask }} />;
}
