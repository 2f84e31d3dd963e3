"""The documentation as `make docs` builds it, opened from its folder without a network; the directive {bertlens}."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, expect

from bertlens.base.vocabulary import Word
from bertlens.widgets.tabs import TABS
from browser.documentation import DOCS, Links, built, documents
from browser.harness import watched
from browser.views import AXE, FINDINGS

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
pytest.importorskip("sphinx_book_theme", reason="the documentation's packages are not installed: make docs")


def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path):
    pages = {page: Links(page.read_text()) for page in site.rglob("*.html") if "_bertlens" not in page.parts}
    pages = {page: links for page, links in pages.items() if "_static" not in page.parts}
    lost = []
    for page, links in pages.items():
        for address in [*links.addresses, *links.loaded]:
            if re.match(r"https?:|mailto:|data:|javascript:", address):
                assert address not in links.loaded, f"{page.name} loads {address}"
                continue
            file, _, name = address.partition("#")
            file = unquote(file.partition("?")[0])
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (name and target in pages and unquote(name) not in pages[target].names):
                lost.append((str(page.relative_to(site)), address))
    assert len(pages) > 45 and lost == []


def test_formulas_are_mathml_and_every_view_has_its_page(site: Path):
    formula, page = re.compile(r"<math [^>]*>.*?<mfrac>", re.DOTALL), (site / "measures.html").read_text()
    assert formula.search(page) and "MathJax" not in page
    front = (site / "index.html").read_text()
    parts = ("How to read it", "What it cannot show", "Formula", "In Python", "Source", "Exercise")
    for tab in (*TABS.values(), *(Word(name, name.title(), "") for name in ("head", "task", "present"))):
        name = {"survey": "corpus"}.get(tab.name, tab.name)
        assert f'href="views/{name}.html"' in front
        text = (site / "views" / f"{name}.html").read_text()
        assert [part for part in parts if f"<h2>{part}<" not in text] == [], name
        assert "figure class=" in text


@pytest.mark.parametrize("width", [1400, 728, 400])
def test_no_page_scrolls_sideways_and_no_code_is_cut(site: Path, browser: Browser, width: int):
    context, page, log = watched(browser, site.as_uri(), viewport={"width": width, "height": 900})
    for path in documents(site):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name
        cut = "[...document.querySelectorAll('article pre')].filter((code) => code.scrollWidth > code.clientWidth + 1)"
        assert page.evaluate(f"{cut}.map((code) => code.textContent)") == [], path.name
    context.close()
    assert log.outside == [] and log.errors == []


# The logo stands outside the theme's landmarks, a table of pandas has an empty corner: axe calls that moderate, minor.
WHOLE = FINDINGS.replace('axe.run(".bertlens", {', "axe.run(document, { preload: false,")
assert WHOLE != FINDINGS


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_axe_finds_nothing_serious_in_any_page(site: Path, browser: Browser, width: int, theme: str):
    size = {"width": width, "height": 900}
    context, page, log = watched(browser, site.as_uri(), viewport=size, color_scheme=theme)
    findings = {}
    for path in documents(site):
        page.goto(path.as_uri() + ("?q=head" if path.stem == "search" else "?highlight=head"))  # as found by a search
        page.evaluate(AXE.read_text(encoding="utf-8"))
        findings[path.relative_to(site).as_posix()] = page.evaluate(WHOLE)
    context.close()
    assert len(findings) > 80
    assert {name: found for name, found in findings.items() if found} == {}
    assert log.outside == [] and log.errors == []


def test_each_notebook_is_a_page_with_its_code_and_a_live_view(site: Path):
    """And with what came out, where it was executed: its bars and the scripts of widgets stay out."""
    names = sorted(path.stem for path in (DOCS.parent / "notebooks").glob("*.ipynb"))
    assert len(names) > 12 and names == sorted(path.stem for path in (site / "notebooks").glob("*.html"))
    for name in names:
        text = (site / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        assert "import bertlens as bl" in re.sub(r"<[^>]+>", "", text) and text.count("Open the live view (") == 1, name
        assert "widget-view+json" not in text and "widget-state+json" not in text, name
        assert f'href="notebooks/{name}.html"' in (site / "notebooks.html").read_text(encoding="utf-8")
    pages = [site / "notebooks" / f"{name}.html" for name in names]
    images = {
        (page.parent / one).resolve() for page in pages for one in Links(page.read_text()).loaded if ".png" in one
    }
    assert sum(path.stat().st_size for path in [*pages, *images]) <= 25e6


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_follow_the_theme(site: Path, browser: Browser, theme: str):
    context, page, log = watched(browser, site.as_uri(), color_scheme=theme)
    for name in ("index", "gallery", "views/head", "api/measures", "models"):
        page.goto((site / f"{name}.html").as_uri())
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (theme == "dark"), name
    context.close()
    assert log.outside == [] and log.errors == []


def test_every_icon_is_there(site: Path, browser: Browser):
    """Of the theme's thousands a build keeps those that are named: one that is not kept would be drawn as a riddle."""
    context, page, log = watched(browser, site.as_uri())
    for name in ("index", "gallery", "views/head", "search"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_function("!document.querySelector('i[class*=fa-]')")
        drawn = page.locator("svg.svg-inline--fa")
        assert drawn.count() > 5 and page.locator("svg.svg-inline--fa :is(circle, animate)").count() == 0, name
    context.close()
    assert log.outside == [] and log.errors == []


def test_a_page_is_light_and_the_weights_are_there_once(site: Path):
    """Before a touch a page loads itself, its pictures and scripts. One page carries the model: the front page's."""
    sizes = {path: path.stat().st_size for path in site.rglob("*") if path.is_file()}
    assert sum(sizes.values()) <= 180e6
    assert len([path for path, size in sizes.items() if size > 20e6]) == 1
    for page in documents(site):
        names = {unquote(name.partition("?")[0]) for name in Links(page.read_text()).loaded}
        loaded = {(page.parent / name).resolve() for name in names if not name.endswith(".html")}
        assert sizes[page] + sum(sizes.get(path, 0) for path in loaded) <= 3e6, page.name


def test_search_from_a_folder_finds_titles_and_names_with_what_stands_there(site: Path, browser: Browser):
    context, page, log = watched(browser, site.as_uri())
    for word, title in (("gates", "Gates"), ("rollout", "bertlens.measures.flow.rollout")):
        page.goto(f"{(site / 'search.html').as_uri()}?q={word}")
        expect(page.locator("#search-results a", has_text=title).first).to_be_visible()
    page.goto(f"{(site / 'search.html').as_uri()}?q=tablet")
    expect(page.locator("#search-results .context", has_text="tablet").first).to_be_visible()
    context.close()
    assert log.outside == [] and log.errors == []


def test_every_live_view_opens(site: Path, browser: Browser):
    folder = site / "_bertlens"
    links = {link for page in documents(site) for link in re.findall(r'_bertlens/(\w+\.html)"', page.read_text())}
    assert len(links) > 35 and links == {path.name for path in folder.glob("*.html")}
    for name in sorted(links):
        context, page, log = watched(browser, folder.as_uri(), viewport={"width": 728, "height": 800})
        page.goto((folder / name).as_uri())
        drawn = "[...document.querySelectorAll('svg, canvas, table, button')].some((part) => part.checkVisibility())"
        page.wait_for_function(drawn, timeout=60_000)
        context.close()
        assert log.problems() == [], name


def test_llms_txt_names_every_page_once_under_the_lists_of_the_front_page(site: Path):
    """And says how it is installed, as the skill does; what it links to is there."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    first, _, lists = text.partition("\n## ")
    assert "Never install it by its bare name." in first and "(SKILL.html)" in first
    links = re.findall(r"\]\((\S+)\)", lists)
    pages = {path.relative_to(site).as_posix() for path in documents(site)}
    assert set(links) == pages - {"index.html", "search.html", "genindex.html", "py-modindex.html"}
    assert len(links) == len(set(links)) > 70
    captions = re.findall(r":caption: (.+)", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[: len(captions)] == captions
    assert "(classifier.html): From a CSV to the head that decides" in text
    assert [line for line in lists.splitlines() if line.startswith("- ") and line.endswith(": ")] == []


PAGE = """# A page

```{bertlens} First
import bertlens as bl

lens = bl.Lens.embedded()
lens.trace("The cat sat.").explore()
```

```python
word = "dog"
```

```{bertlens} <Second>
:hide-code:
:height: 333
:on-scroll:
:page-code:
:state: view="gates", layer=3

lens.trace(f"The {word}.").explore()
```

```{bertlens} Third
:fold-code:


class Plain:  # a report, say: it has no picture
    def to_html(self, path):
        path.write_text("<p>plain</p>")


Plain()
```
"""


def test_the_directive_in_a_project_of_others(tmp_path: Path):
    (tmp_path / "conf.py").write_text('extensions = ["myst_nb", "bertlens.sphinxext"]\nnb_execution_mode = "off"\n')
    (tmp_path / "index.md").write_text(PAGE)
    (tmp_path / "other.md").write_text("---\norphan: true\n---\n# Another\n\n```{bertlens}\n:of: index\n```\n")
    assert built(tmp_path, tmp_path / "out", "-E") == ""
    figure = re.compile(r'<figure class="bertlens".*?</figure>', re.DOTALL)
    first = figure.findall((tmp_path / "out" / "index.html").read_text())[0]
    assert figure.findall((tmp_path / "out" / "other.html").read_text()) == [first]
    text = (tmp_path / "out" / "index.html").read_text()
    assert (
        "The cat sat." in text
        and "The {word}." not in text
        and "&lt;Second&gt;" in text
        and 'style="--height: 333px"' in text
    )
    assert text.count("Open the live view (") == 2 and text.count("Open the page (1 MB)") == 1
    assert text.count("<details><summary>The code</summary>") == 1 and text.count("data-scroll") == 1
    made = tmp_path / "out" / "_bertlens"
    second = next(page.read_text() for page in made.glob("*.html") if '"The dog."' in page.read_text())
    assert re.search(r'"view": ?"gates"', second) and re.search(r'"layer": ?3', second)
    assert [len(list(made.glob(f"*.{kind}"))) for kind in ("html", "png")] == [3, 2]
    (tmp_path / "index.md").write_text(PAGE + "\n```{bertlens}\n1 / 0\n```\n\n```{bertlens}\nx = 1\n```\n")
    (tmp_path / "other.md").write_text("---\norphan: true\n---\n# Another\n\n```{bertlens}\n:of: nowhere\n```\n")
    said = built(tmp_path, tmp_path / "out", "-E")
    assert re.search(
        r"index.md:36: WARNING: this snippet of bertlens failed: ZeroDivisionError: division by zero", said
    )
    assert "its last line has to be a view" in said
    assert "there is no view in nowhere" in said
