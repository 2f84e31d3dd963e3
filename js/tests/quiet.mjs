// A view's life is one abort signal with a listener per trait: not a leak, whatever Node's default limit says.
import { setMaxListeners } from "node:events";

setMaxListeners(0);

// Where there is no page, nothing is drawn.
globalThis.requestAnimationFrame ??= () => 0;
globalThis.cancelAnimationFrame ??= () => undefined;
