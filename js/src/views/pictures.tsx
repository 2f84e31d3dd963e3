// The atlas of a long text fills while its view is open.
import { useEffect } from "preact/hooks";
import { askForPictures } from "../state/pictures";
import { useView } from "./context";

export function Pictures() {
  const view = useView();
  useEffect(() => askForPictures(view), []);
  return null;
}
