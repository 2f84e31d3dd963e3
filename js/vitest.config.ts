import { defineConfig } from "vitest/config";

export default defineConfig({
  define: { EXTRAS_STYLE: "''" },
  resolve: { alias: { "bertlens:shared": new URL("tests/shared.ts", import.meta.url).pathname } },
  test: { include: ["tests/**/*.test.{ts,tsx}"], setupFiles: ["tests/quiet.mjs"] },
});
