// A view's life is one abort signal with a listener per trait: not a leak, whatever Node's default limit says.
import { setMaxListeners } from "node:events";

setMaxListeners(0);
