// Present: one head on the whole screen: a word is guessed, the row is shown, then computed from q·k to the softmax.
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../parts/controls";
import { Slide } from "./present/slide";

/** The button, and what it opens; the browser's own dialog keeps the focus and gives it back. */
export function Present() {
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!open) return;
    const full = document.documentElement.requestFullscreen?.() ?? Promise.reject();
    const exit = () => document.fullscreenElement || setOpen(false); // Escape left the full screen
    let mine = false;
    full
      .then(() => {
        mine = true;
        document.addEventListener("fullscreenchange", exit);
      })
      .catch(() => undefined) // a frame that may not: then all of the frame
      .then(() => dialog.current?.showModal());
    return () => {
      document.removeEventListener("fullscreenchange", exit);
      if (mine && document.fullscreenElement) document.exitFullscreen().catch(() => undefined);
    };
  }, [open]);
  const close = () => {
    dialog.current?.close();
    setOpen(false);
  };
  return (
    <>
      <Button class="bl-button" title="This head step by step, on the whole screen" onClick={() => setOpen(true)}>
        Present
      </Button>
      {open && (
        <dialog ref={dialog} class="bl-present" aria-label="Present" onClose={() => setOpen(false)}>
          <Slide close={close} />
        </dialog>
      )}
    </>
  );
}
