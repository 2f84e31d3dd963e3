// Light or dark: the host decides (JupyterLab, Colab, VS Code, marimo), then the reader's system.
import { type ReadonlySignal, signal } from "@preact/signals";

function hostIsDark(): boolean | null {
  const { body, documentElement: html } = document;
  const jupyter = { false: "dark", true: "light" }[body?.dataset.jpThemeLight ?? ""];
  const named = jupyter ?? html.getAttribute("theme") ?? html.dataset.theme ?? body?.dataset.theme; // Colab and others
  if (named === "dark" || named === "light") return named === "dark";
  const classes = `${html.className} ${body?.className ?? ""}`;
  if (/\b(vscode-light|vscode-high-contrast-light|light|light-theme)\b/.test(classes)) return false;
  return /\b(vscode-dark|vscode-high-contrast|dark|dark-theme)\b/.test(classes) || null;
}

/** Follows the host's theme until aborted; `fixed` wins when it is not "auto". */
export function watchTheme(fixed: ReadonlySignal<string>, until: AbortSignal): ReadonlySignal<boolean> {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const decide = () => (fixed.value === "auto" ? (hostIsDark() ?? system.matches) : fixed.value === "dark");
  const dark = signal(decide());
  const update = () => {
    dark.value = decide();
  };
  const observer = new MutationObserver(update);
  for (const element of [document.documentElement, document.body])
    if (element) observer.observe(element, { attributes: true });
  system.addEventListener("change", update, { signal: until });
  const unfix = fixed.subscribe(update);
  until.addEventListener("abort", () => {
    observer.disconnect();
    unfix();
  });
  return dark;
}
