// The arcs of the head shown, as loud as it is: while its slider is dragged they alone are drawn again.
import { useMemo } from "preact/hooks";
import { loudnessOf } from "../../state/frontanswers";
import { useView } from "../../state/view";
import { Arcs } from "./arcpicture";
import { arcsOf, habitArcs, type Scene } from "./arcs";

interface Props {
  scene: Scene; // with the head as in the model
  habit: { step: -1 | 1; rows: ArrayLike<number>[] } | null; // see habitOf
  name: string; // of another they are drawn anew
  pick: (word: number) => void; // a number was clicked
}

export function HeadArcs({ scene, habit, name, pick }: Props) {
  const loudness = loudnessOf(useView());
  const loud = useMemo(() => ({ ...scene, loudness }), [scene, loudness]);
  const { arcs, numbers } = useMemo(() => arcsOf(loud), [loud]);
  const behind = habit ? habitArcs(loud, habit.rows, habit.step) : [];
  return <Arcs {...{ behind, arcs, numbers, asker: scene.asker, scene: name, pick }} />;
}
