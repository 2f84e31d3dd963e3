import { defineConfig } from "vitest/config";

export default defineConfig({
  define: { BUNDLE_KEY: "'a bundle'" },
  // a machine that does other work too is slow; nothing here waits for the clock
  test: { include: ["tests/**/*.test.{ts,tsx}"], setupFiles: ["tests/quiet.mjs"], testTimeout: 30_000 },
});
