// Light or dark: the host says so (JupyterLab, Colab, VS Code, marimo, Bootstrap), or what lies behind the view shows it,
// then the reader's system.
import { type ReadonlySignal, signal } from "@preact/signals";

function hostIsDark(): boolean | null {
  const { body, documentElement: html } = document;
  const jupyter = { false: "dark", true: "light" }[body?.dataset.jpThemeLight ?? ""];
  const { dataset } = html;
  const named = jupyter ?? html.getAttribute("theme") ?? dataset.theme ?? dataset.bsTheme ?? body?.dataset.theme;
  if (named === "dark" || named === "light") return named === "dark";
  const classes = `${html.className} ${body?.className ?? ""}`;
  if (/\blight\b/.test(classes)) return false; // vscode-high-contrast-light, light-theme, …
  return /\b(dark|vscode-high-contrast)\b/.test(classes) || null;
}

/** Whether the nearest opaque background behind an element is dark; null where none is painted. */
function groundIsDark(element: Element | null): boolean | null {
  if (!element) return null;
  const [r = 0, g = 0, b = 0, opacity = 1] = getComputedStyle(element)
    .backgroundColor.match(/[\d.]+/g)
    ?.map(Number) ?? [0, 0, 0, 0];
  return opacity < 0.5 ? groundIsDark(element.parentElement) : 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
}

/** Follows the theme around an element until aborted; `fixed` wins when it is not "auto". */
export function watchTheme(fixed: ReadonlySignal<string>, until: AbortSignal, el: Element): ReadonlySignal<boolean> {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const around = () => hostIsDark() ?? groundIsDark(el.parentElement) ?? system.matches;
  const decide = () => (fixed.value === "auto" ? around() : fixed.value === "dark");
  const dark = signal(decide());
  const update = () => {
    dark.value = decide();
  };
  const observer = new MutationObserver(update);
  for (const element of [document.documentElement, document.body])
    if (element) observer.observe(element, { attributes: true });
  system.addEventListener("change", update, { signal: until });
  requestAnimationFrame(update); // hosts may attach the element after it is drawn
  const unfix = fixed.subscribe(update);
  until.addEventListener("abort", () => {
    observer.disconnect();
    unfix();
  });
  return dark;
}
