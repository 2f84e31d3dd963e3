"""The documentation as `make docs` builds it, opened from its folder without a network; the directive {bertlens}."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, expect

from bertlens.base.vocabulary import Word
from bertlens.widgets.tabs import TABS
from browser.harness import watched
from browser.views import Seen

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
pytest.importorskip("sphinx_book_theme", reason="the documentation's packages are not installed: make docs")
DOCS = Path(__file__).parents[2] / "docs"
SIZES = [(width, theme) for width in (1400, 480) for theme in ("light", "dark")]


def built(source: Path, folder: Path, *options: str) -> str:
    """What Sphinx says on the error stream."""
    run = [sys.executable, "-m", "sphinx", "--keep-going", "-q", *options, "-b", "html", str(source), str(folder)]
    return subprocess.run(run, capture_output=True, text=True).stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert built(DOCS, folder, "-E") == ""
    return folder


class Links(HTMLParser):
    """Names and addresses of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.names |= {told[name] for name in ("id", "name") if name in told}
        if tag == "a" and "href" in told:
            self.addresses.append(told["href"])
        elif tag in ("img", "script", "link", "iframe"):
            self.loaded.append(told.get("src") or told.get("href", ""))


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


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_every_kind_of_page_fits_and_loads_nothing(site: Path, browser: Browser, width: int, theme: str):
    size = {"width": width, "height": 900}
    context, page, log = watched(browser, site.as_uri(), viewport=size, color_scheme=theme)
    for name in (
        "views/head",
        "api/measures",
        "api/views",
        "measures",
        "models",
        "questions",
        "peers",
        "changes",
        "report",
    ):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (theme == "dark"), name
    context.close()
    assert log.problems() == []


def test_search_from_a_folder_finds_titles_and_names(site: Path, browser: Browser):
    context, page, log = watched(browser, site.as_uri())
    for asked, found in (("gates", "Gates"), ("rollout", "bertlens.measures.flow.rollout")):
        page.goto(f"{(site / 'search.html').as_uri()}?q={asked}")
        expect(page.locator("#search-results a", has_text=found).first).to_be_visible()
    context.close()
    assert log.outside == []


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_the_front_page_opens_a_view_and_the_model(site: Path, browser: Browser, width: int, theme: str):
    size = {"width": width, "height": 900}
    context, page, log = watched(browser, site.as_uri(), viewport=size, color_scheme=theme)
    page.goto((site / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    first, second = page.locator("figure.bertlens").all()
    first.locator(".bertlens-open").focus()
    page.keyboard.press("Enter")
    seen = Seen(page, first.frame_locator("iframe").locator(".bertlens"))
    seen.thumb(3, 7).click()
    expect(seen.root.locator(".bl-row-label", has_text="cat")).to_be_visible()
    if (width, theme) == SIZES[0]:
        second.locator("img").click()  # 40 MB
        live = Seen(page, second.frame_locator("iframe").locator(".bertlens"))
        box = live.root.get_by_label("Sentence A")
        expect(box).to_be_enabled(timeout=60_000)
        box.fill("A horse ran.")
        box.press("Enter")
        expect(live.root.locator(".bl-row-label", has_text="horse")).to_be_visible()
    context.close()
    assert log.outside == [] and log.errors == []


@pytest.mark.parametrize(
    ("clicks", "found"),
    [
        (["Your own model"], "bl.Lens(model, tokenizer)"),
        (["Glossary"], "The length of the vector that is really passed from a key to a query"),
        (["How to cite"], "CITATION.cff"),
        (["Figures and numbers for a paper"], "plots.save("),
        (["Similarity"], "number as a sum over pairs of words"),
        (["Sentence encoders"], "Why are two texts similar?"),
        (["Beside other tools"], "does better"),
        (["Which question, which view"], "look at cat from it"),
    ],
)
def test_a_newcomer_finds_it_from_the_front_page(site: Path, browser: Browser, clicks: list[str], found: str):
    context, page, log = watched(browser, site.as_uri())
    page.goto((site / "index.html").as_uri())
    assert len(clicks) <= 3
    for name in clicks:
        page.locator("article").get_by_role("link", name=name).first.click()
    expect(page.locator("article")).to_contain_text(found)
    context.close()
    assert log.problems() == []


PAGE = """# A page

```{bertlens} First
import bertlens as bl

lens = bl.Lens.embedded()
lens.trace("The cat sat.").explore()
```

```{bertlens} <Second>
:hide-code:
:height: 333

lens.trace("The dog.").explore()
```

```{bertlens} Third
:hide-code:


class Plain:  # a report, say: it has no picture
    def to_html(self, path):
        path.write_text("<p>plain</p>")


Plain()
```
"""


def test_the_directive_in_a_project_of_others(tmp_path: Path):
    (tmp_path / "conf.py").write_text('extensions = ["myst_nb", "bertlens.sphinxext"]\nnb_execution_mode = "off"\n')
    (tmp_path / "index.md").write_text(PAGE)
    assert built(tmp_path, tmp_path / "out", "-E") == ""
    text = (tmp_path / "out" / "index.html").read_text()
    assert (
        "The cat sat." in text and "The dog." not in text and "&lt;Second&gt;" in text and 'data-height="333"' in text
    )
    assert text.count("Open the live view (") == 2 and text.count("Open the page (1 MB)") == 1
    made = tmp_path / "out" / "_bertlens"
    assert [len(list(made.glob(f"*.{kind}"))) for kind in ("html", "png")] == [3, 2]
    (tmp_path / "index.md").write_text(PAGE + "\n```{bertlens}\n1 / 0\n```\n\n```{bertlens}\nx = 1\n```\n")
    said = built(tmp_path, tmp_path / "out", "-E")
    assert re.search(
        r"index.md:29: WARNING: this snippet of bertlens failed: ZeroDivisionError: division by zero", said
    )
    assert "its last line has to be a view" in said
