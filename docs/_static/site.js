// Names for what the theme leaves without one, or gives one that is not what stands there.
for (const fold of document.querySelectorAll(".bd-sidebar-primary li > details > summary"))
  fold.setAttribute("aria-label", `Pages below ${fold.closest("li").querySelector("a").textContent.trim()}`);
for (const named of document.querySelectorAll(".search-button-field[aria-label], details.hide > summary[aria-label]"))
  named.removeAttribute("aria-label");
// What scrolls by itself can be scrolled by keys.
for (const wide of document.querySelectorAll(".bd-article :is(table, .math, .text_html)"))
  if (wide.scrollWidth > wide.clientWidth || wide.scrollHeight > wide.clientHeight + 1) wide.tabIndex = 0;
