"""The pages are true for this repository: links lead somewhere, make targets exist, locks name no registry."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from shunter.sdk.client import Client, Job

ROOT = Path(__file__).parents[2]
FOLDERS = ("*.md", "docs/**/*.md", "examples/*.md", "examples/*/*.md", "benchmarks/*.md", "proto/**/*.md")
PAGES = sorted(page for pattern in FOLDERS for page in ROOT.glob(pattern))
FOLDERS_NAMED = ("src", "tests", "docs", "proto", "scripts", "examples")  # by the checklists
PICTURE_MAX_BYTES = 65_000
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    inner = [link for link in links if "://" not in link]
    assert [link for link in inner if not (page.parent / link).exists()] == []


@each_page
def test_every_link_to_a_section_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    inner = [(page.parent / path if path else page, section) for path, section in links if "://" not in path]
    assert [(path.name, section) for path, section in inner if section not in sections(path)] == []


def test_every_picture_is_small_and_on_a_page() -> None:
    pictures = set((ROOT / "docs" / "images").iterdir())
    shown = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert pictures == shown
    assert [path.name for path in pictures if path.stat().st_size > PICTURE_MAX_BYTES] == []


def sections(page: Path) -> set[str]:
    """By the names under which a page's headings can be linked to."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@each_page
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE))
    assert named <= make_targets()


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[0] for line in listed.splitlines()} == make_targets()


def test_the_map_has_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "shunter"
    packages = [f"{path.parent.name}/" for path in source.glob("*/__init__.py")]
    modules = [path.name for path in source.glob("*.py") if path.name != "__init__.py"]
    adapters = [path.parent.name for path in source.glob("adapters/*/__init__.py")]
    assert [name for name in (*packages, *modules, *adapters) if name not in text] == []


def test_every_folder_on_the_map_exists() -> None:
    """The indentation says in which folder each one is."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {0: ROOT}
    for indent, name in re.findall(r"^( *)([a-z_/]+)/(?=\s)", text[text.index("\nsrc/shunter/\n") :], re.MULTILINE):
        folders[len(indent) + 2] = folders[len(indent)] / name
        assert folders[len(indent) + 2].is_dir(), f"{name}/ is on the map, and not in the tree"
    assert len(folders) > 3


def test_every_file_that_a_checklist_names_exists() -> None:
    """A path may lack its beginning: those of the package always do."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:[a-z_0-9.-]+/)*[a-z_0-9.-]+(?:/|\.(?:py|md|proto|toml|json)))`", text)
    tree = [f"/{path.relative_to(ROOT)}" for folder in FOLDERS_NAMED for path in (ROOT / folder).rglob("*")]
    assert len(named) > 50
    assert {name for name in named if not any(path.endswith(f"/{name.rstrip('/')}") for path in tree)} == set()


def test_the_index_of_documents_has_every_page() -> None:
    docs = ROOT / "docs"
    text = (docs / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(docs) for page in docs.glob("*/*.md")]
    assert [page for page in pages if f"({page})" not in text] == []


def test_the_page_on_simulation_has_every_module_of_it() -> None:
    text = (ROOT / "docs" / "development" / "simulation.md").read_text(encoding="utf-8")
    modules = [path.stem for path in (ROOT / "src" / "shunter" / "simulation").glob("[a-z]*.py")]
    assert [name for name in modules if f"`{name}`" not in text] == []


def test_the_page_on_the_client_has_everything_that_it_can_be_asked() -> None:
    text = (ROOT / "docs" / "reference" / "python-client.md").read_text(encoding="utf-8")
    calls = {name for kind in (Client, Job) for name in vars(kind) if not name.startswith("_")}
    assert [name for name in sorted(calls) if not re.search(rf"\b{name}\b", text)] == []


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(page.name[:4]) for page in sorted((ROOT / "docs" / "development" / "adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-bench.lock"])
def test_a_lock_pins_everything_by_hash_and_names_no_registry(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = re.findall(r"^(\S+)==\S+.*\\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, flags=re.MULTILINE)
    assert len(entries) == len(re.findall(r"^[a-z]", text, flags=re.MULTILINE)) > 0
    assert "://" not in text
    assert "index-url" not in text


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    everyday = project["project"]["dependencies"] + groups["dev"]
    assert names(everyday) <= locked("requirements.lock")
    assert names(groups["bench"]) <= locked("requirements-bench.lock")
    assert not names(groups["bench"]) & locked("requirements.lock"), "peers are not part of the everyday set-up"


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower() for requirement in requirements}


def locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE))
