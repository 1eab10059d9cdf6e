"""The code blocks of the tutorial and how-to pages run, and print the text blocks that follow them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.code_blocks import code_blocks, run_block

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["first-table", "schema-evolution", "time-travel", "changes", "migration", "backup", "catalogs"]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    text = (DOCS / f"{page}.md").read_text()
    if "(index.md#the-table-of-the-examples)" in text:
        (prepared,) = code_blocks((DOCS / "index.md").read_text())
        run_block(prepared, names)
    blocks = re.findall(r"```(python|text)\n(.*?)```", text, re.DOTALL)
    printed = ""
    for kind, block in blocks:
        if kind == "python":
            run_block(block, names)
            printed += capsys.readouterr().out
        else:
            assert printed == block
            printed = ""
    assert printed == ""
    assert {kind for kind, _ in blocks} == {"python", "text"}


def test_the_first_example_of_the_readme_and_the_tutorial_run_in_one_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for page in (DOCS.parent / "README.md", DOCS / "first-table.md"):
        run_block(code_blocks(page.read_text())[0], {})


def test_the_readme_names_every_page() -> None:
    named = re.findall(r"\]\(docs/([\w/-]+\.md)", (DOCS.parent / "README.md").read_text())
    assert {path.name for path in DOCS.glob("*.md")} - {"index.md"} <= set(named)


@pytest.mark.parametrize("page", [*PAGES, "tuning", "troubleshooting", "compatibility"])
def test_the_links_and_the_errors_of_a_page_exist(page: str) -> None:
    from table_format import errors

    text = (DOCS / f"{page}.md").read_text()
    assert all((DOCS / link).exists() for link in re.findall(r"\]\(([\w/.-]+\.md)", text))
    for name in re.findall(r"^\| `(\w+)[`:]", text, re.MULTILINE) if page == "troubleshooting" else []:
        assert hasattr(errors, name), name
