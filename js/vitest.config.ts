import { defineConfig } from "vitest/config";
import { assembled } from "./wat.mjs";

export default defineConfig({
  plugins: [{ name: "wat", load: (id) => (id.endsWith(".wat") ? assembled(id) : undefined) }],
  define: { BUNDLE_KEY: "'a bundle'" },
  // A machine that does other work too is slow; nothing here waits for the clock. One process, modules and document
  // shared: half of the time was their start in each file.
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    setupFiles: ["tests/quiet.mjs"],
    testTimeout: 120_000,
    isolate: false,
    fileParallelism: false,
  },
});
