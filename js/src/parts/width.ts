// The width that the layout leaves for an element, followed as it changes.
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export function useWidth(element: RefObject<HTMLElement | null>, paper = 0): number {
  const [width, setWidth] = useState(480);
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    const measure = () => {
      if (target.clientWidth > 0) setWidth(target.clientWidth); // 0 while the tab is hidden
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    const asWideAs = (width: string) => () => {
      target.style.width = width;
      measure();
    };
    const stop = new AbortController();
    if (paper > 0) {
      addEventListener("beforeprint", asWideAs(`${paper}px`), stop);
      addEventListener("afterprint", asWideAs(""), stop);
    }
    return () => {
      observer.disconnect();
      stop.abort();
    };
  }, []);
  return width;
}
