"""What the page on the command line shows is what the commands show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from table_format.cli.program import lakehouse

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
VARIES = (
    (re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]"), ""),
    (re.compile(r"\d+ bytes"), "N bytes"),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def steps() -> Iterator[tuple[str, str]]:
    """Each command of the page with what it shows."""
    for block in blocks("console"):
        for step in block.split("$ ")[1:] if block.startswith("$ ") else []:
            command, _, shown = step.partition("\n")
            yield command, shown


def plain(text: str) -> list[str]:
    for pattern, replacement in VARIES:
        text = pattern.sub(replacement, text)
    # A bar is drawn several times in the same place.
    return [line.rpartition("\r")[2].rstrip() for line in text.splitlines() if line.strip()]


def entries() -> Iterator[tuple[str, str]]:
    """Each command with the first sentence of its help."""
    context = click.Context(lakehouse)
    for name in lakehouse.list_commands(context):
        command = lakehouse.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {each}", str(part.help)) for each, part in command.commands.items())
        else:
            yield name, str(command.help)


def test_the_screens_of_the_page_are_those_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = 0
    for command, shown in steps():
        program, *arguments = shlex.split(command)
        if program == "cat":
            Path(arguments[0]).write_text(shown)
            continue
        on_terminal = {"TTY_COMPATIBLE": "1", "COLUMNS": "100"} if arguments[0] == "compact" else {}
        result = CliRunner().invoke(lakehouse, arguments, prog_name=program, env=on_terminal)
        assert plain(result.stderr)[-1:] + plain(result.stdout) == plain(shown), command
        ran += 1
    assert ran >= 9


def test_every_command_is_in_the_page_with_its_help() -> None:
    rows = dict(re.findall(r"^\| `([\w -]+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert rows == {name: re.sub(r"\s+", " ", text.split("\n\n")[0]).strip() for name, text in entries()}


def test_the_settings_of_the_page_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (text,) = blocks("toml")
    Path("lakehouse.toml").write_text(text.replace("/tmp/test", str(tmp_path / "w")))
    result = CliRunner().invoke(lakehouse, ["--catalog", "test", "init", "shop"])
    assert result.stdout == f"Warehouse {tmp_path / 'w'} has 1 database.\n"


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", PAGE))))
def test_a_link_of_the_page_leads_somewhere(link: str) -> None:
    assert (Path(__file__).parents[2] / "docs" / link).exists()
