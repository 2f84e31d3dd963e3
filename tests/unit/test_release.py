"""What stands ready for a release: workflows, the recipe, the skill for agents; nothing claims to be published."""

from __future__ import annotations

import ast
import importlib
import json
import re
import runpy
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.cli import command_line as cli
from bertlens.measures import attribution, sources
from unit.test_project import ROOT
from unit.test_wheel import Empty

yaml = pytest.importorskip("yaml")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SYSTEMS = {"ubuntu-latest", "macos-latest", "windows-latest"}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(name: str) -> dict[str, Any]:
    return read(ROOT / ".github" / "workflows" / f"{name}.yml")["jobs"]


def systems(job: dict[str, Any]) -> set[str]:
    return set(job.get("strategy", {}).get("matrix", {}).get("system", [job["runs-on"]]))


def test_actions_are_named_by_commit_each_by_one():
    lines = [line for path in WORKFLOWS for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    named = [re.fullmatch(r" +- uses: ([\w/-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line) for line in lines]
    assert len(lines) > 10 and all(named), [line for line, name in zip(lines, named, strict=True) if not name]
    commits = {(name[1], name[2], name[3]) for name in named if name}
    assert len(commits) == len({action for action, *_ in commits})


def test_checks_run_on_three_systems():
    checks = jobs("checks")
    assert {"lint", "unit", "browser", "docs"} <= checks.keys()
    assert systems(checks["unit"]) == systems(checks["browser"]) == SYSTEMS
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    lines = [step.get("run", "") for job in checks.values() for step in job["steps"]]
    makes = {word for line in lines for word in re.findall(r"^make ([\w-]+)$", line)}
    assert makes == {"check", "docs", "test-oldest"} <= targets


def test_a_release_is_by_trusted_publishing():
    """One job may ask for the token of the index, and it runs nothing but what the build left."""
    release = jobs("release")
    rights = {name: job["permissions"] for name, job in release.items()}
    assert rights == {"build": {"contents": "read"}, "install": {}, "publish": {"id-token": "write"}}
    assert not any("run" in step for step in release["publish"]["steps"])
    assert set(release["publish"]["needs"]) == {"build", "install"} and systems(release["install"]) == SYSTEMS
    assert release["publish"]["environment"]["name"] == "pypi"
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert "secrets." not in text and "password" not in text.replace("no password", "")
        assert read(path)["permissions"] == {}


@pytest.mark.slow
def test_zizmor_finds_nothing():
    program = shutil.which("zizmor")
    if program is None:
        pytest.skip("zizmor is not installed: pip install zizmor")
    done = subprocess.run(
        [program, "--offline", "--no-progress", str(ROOT / ".github")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_recipe_asks_for_what_the_package_does():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = read(ROOT / "packaging" / "recipe.yaml")
    names = {
        "huggingface-hub": "huggingface_hub",
        "torch": "pytorch",
        "typing-extensions": "typing_extensions",
    }  # on conda-forge
    wanted = {"python": project["requires-python"]}
    for requirement in project["dependencies"]:
        if ";" not in requirement:
            name, bounds = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()
            wanted[names.get(name, name)] = bounds
    assert dict(line.split(" ", 1) for line in recipe["requirements"]["run"]) == wanted
    [script] = recipe["build"]["python"]["entry_points"]
    assert script == f"bertlens = {project['scripts']['bertlens']}"


@pytest.mark.parametrize("address", ["https://example.org/bertlens", "https://example.org/bertlens/"])
def test_all_addresses_are_made_of_one(address: str):
    assert addresses(address) == {
        "Repository": "https://example.org/bertlens",
        "Issues": "https://example.org/bertlens/issues",
        "Changelog": "https://example.org/bertlens/blob/main/CHANGELOG.md",
        "Documentation": "https://example.org/bertlens/tree/main/docs",
    }


def test_a_release_without_an_address_is_refused(monkeypatch: pytest.MonkeyPatch):
    assert addresses("") == {}
    for address in ("OWNER/bertlens", "TODO"):
        with pytest.raises(SystemExit, match="names its repository"):
            addresses(address)
    monkeypatch.setenv("BERTLENS_RELEASE", "1")
    with pytest.raises(SystemExit, match="names its repository"):
        addresses("")
    [build] = [step for step in jobs("release")["build"]["steps"] if step.get("run") == "python -m build"]
    assert build["env"] == {"BERTLENS_RELEASE": "1"}


def test_the_kinds_that_an_index_sorts_by_exist():
    kinds = pytest.importorskip("trove_classifiers").classifiers
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["classifiers"]) <= set(kinds)


def addresses(repository: str) -> dict[str, str]:
    """What the build writes of `repository`."""
    pytest.importorskip("hatchling")
    build = importlib.import_module("hatch_build")
    metadata: dict[str, Any] = {}
    build.MetadataHook(str(ROOT), {"repository": repository, "papers": {}}).update(metadata)
    return metadata["urls"]


def test_lines_for_lists_of_others_are_made_of_the_same_address():
    """Badges, anywidget's gallery with its picture, two lists of notebooks; without an address there are none."""
    part = runpy.run_path(str(ROOT / "packaging" / "listings.py"))
    listings, picture = part["listings"], part["PICTURE"]
    for address in (
        "",
        part["repository"]() or "TODO",
        "https://example.org/o/bertlens",
        "https://github.com/bertlens",
    ):
        with pytest.raises(SystemExit, match=r"repository.*pyproject\.toml"):
            listings(address)
    lines = listings("https://github.com/o-o/bertlens/")
    assert [place.split(":")[0] for place in lines] == [
        "README.md, below the title", "notebooks/*.ipynb, the first line of the first cell, for Colab", "anywidget",
        "marimo", "JupyterLab",
    ]  # fmt: skip
    badges, colab, anywidget, *entries = lines.values()
    number = importlib.import_module("bertlens").__version__
    home = "https://github.com/o-o/bertlens"
    assert colab == f'WHEEL = "{home}/releases/download/v{number}/bertlens-{number}-py3-none-any.whl"'
    assert json.loads(anywidget) == {"repo": "o-o/bertlens", "image": "assets/o-o__bertlens.png"}
    assert picture.stat().st_size <= 100_000 and picture.read_bytes()[:4] == b"\x89PNG"
    assert set(entries) == {f"- [bertlens]({home}) - {part['SAYS']}"}
    notebook, workflow = re.findall(r"blob/main/(\S+)\)$|workflows/(\w+\.yml)\)", badges, re.MULTILINE)[::-1]
    assert (ROOT / notebook[0]).is_file() and (ROOT / ".github" / "workflows" / workflow[1]).is_file()


def test_what_only_a_release_can_fill_is_marked():
    marked = {path.name for path in [*WORKFLOWS, ROOT / "SECURITY.md", ROOT / "packaging" / "recipe.yaml"]
              if "Only a release can fill" in path.read_text(encoding="utf-8")}  # fmt: skip
    assert marked == {"release.yml", "SECURITY.md", "recipe.yaml"}
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8")
    assert "It is in no channel yet." in recipe and 'sha256: "' + "0" * 64 in recipe
    citation = read(ROOT / "CITATION.cff")
    assert not {"doi", "url", "repository-code", "date-released"} & citation.keys()  # there are none yet
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"conda install|img\.shields\.io|zenodo\.org", text), path.name


@pytest.mark.long
def test_the_citation_is_valid_by_its_own_tool(tmp_path: Path):
    """Which asks for older libraries than ours, so it has an environment of its own."""
    place = Empty(tmp_path, held=False)
    place.run("python", "-m", "pip", "install", "-q", "cffconvert==2.0.0")
    assert "valid according to schema" in place.run("cffconvert", "--validate", "-i", str(ROOT / "CITATION.cff"))
    assert "The bertlens developers" in place.run("cffconvert", "-f", "bibtex", "-i", str(ROOT / "CITATION.cff"))


def test_issue_forms_have_what_github_asks_for():
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert {form.stem for form in forms} == {"config", "fault", "question"}
    for form in map(read, forms):
        if "blank_issues_enabled" in form:
            continue
        assert form["name"] and form["description"]
        names = [field["id"] for field in form["body"]]
        assert len(names) == len(set(names)) and all(field["attributes"]["label"] for field in form["body"])
        assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_skill_is_printed_as_it_stands_in_the_documentation(capsys):
    assert cli.main(["skill"]) == 0
    text = capsys.readouterr().out
    assert text == (ROOT / "docs" / "SKILL.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["name"] == "bertlens" and 100 < len(front["description"]) < 1024
    assert len(text.split()) < 1000


def test_the_commands_of_the_skill_are_there():
    text = (ROOT / "docs" / "SKILL.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^In a shell: .*$", text, re.MULTILINE)
    commands = [name for name in re.findall(r"`(?:bertlens )?([a-z][\w-]*)`", line) if name != "--help"]
    assert len(commands) == 7
    for whole in re.findall(r"`bertlens (\w+ [^`]+)`", text):
        cli.parser().parse_args(shlex.split(whole))
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            cli.parser().parse_args([command, "--help"])
        assert stop.value.code == 0


def test_every_name_that_the_skill_calls_is_there():
    """In its table too, whose calls no block runs: before each point stands a module, or an object of a class."""
    text = re.sub(r"^```.*?^```", "", (ROOT / "docs" / "SKILL.md").read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    classes = {
        bl.Lens.trace: bl.Trace, bl.Trace.rerun: bl.Trace, bl.Trace.explore: bl.Explorer, bl.Lens.embedded: bl.Lens,
        bl.Lens.from_pretrained: bl.Lens, bl.Lens: bl.Lens, bl.compare: bl.Comparison, bl.similarity: bl.Similarity,
        bl.retrieval: bl.Retrieval, bl.task: bl.Task, bl.report: bl.Report, bl.parity: bl.Parity,
    }  # fmt: skip
    known = {"bl": bl, "lens": bl.Lens, "trace": bl.Trace, "task": bl.Task, "r": bl.Retrieval, "before": bl.Lens}
    known |= {"after": bl.Lens, "whatif": whatif, "attribution": attribution, "sources": sources}
    seen = set()

    def of(node: ast.AST) -> Any:
        """What an expression is, or a class that it is an object of; None where nobody says."""
        if isinstance(node, ast.Name):
            return known.get(node.id)
        if isinstance(node, ast.Call):
            called = of(node.func)
            return classes.get(called) if callable(called) else None
        if isinstance(node, ast.Attribute) and (owner := of(node.value)) is not None:
            fields = getattr(owner, "__annotations__", {})
            assert hasattr(owner, node.attr) or node.attr in fields, ast.unparse(node)
            seen.add(ast.unparse(node))
            return getattr(owner, node.attr, None)
        return None

    for code in re.findall(r"`([^`\n]+)`", text):
        try:
            tree = ast.parse(code.lstrip("."))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            of(node)
    assert {"bl.task", "task.metrics", "bl.similarity", "r.contrast", "sources.score", "trace.rerun"} <= seen
    assert len(seen) > 30


def test_the_paper_cites_what_its_bibliography_has():
    """And has the sections and the length that the Journal of Open Source Software asks for."""
    folder = ROOT / "packaging" / "joss"
    _, head, body = (folder / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(head)
    bibliography = (folder / about["bibliography"]).read_text(encoding="utf-8")
    entries = re.findall(r"@\w+\{(\w+),\n((?:.*\n)+?)\}", bibliography)
    assert set(re.findall(r"@(\w+)", body)) == {key for key, _ in entries} and len(entries) == 13
    assert all(
        {"title", "author", "year"} <= set(re.findall(r"^  (\w+) = ", text, re.MULTILINE)) for _, text in entries
    )
    assert {"Summary", "Statement of need", "State of the field", "References"} <= {
        *re.findall(r"^# (.+)$", body, re.M)
    }
    assert 250 <= len(body.split()) <= 1_000
    assert about["authors"] and about["affiliations"] and about["title"].startswith("bertlens")
