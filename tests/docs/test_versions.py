"""The versions and extras that the documents name are those of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from table_format.java import OLDEST

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text() for path in PAGES}
TEXTS |= {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for package in ("table_format", "dagster_paimon")
    for path in (ROOT / package).rglob("*.py")
}
README = TEXTS["README.md"]
OF_ITSELF = re.compile(r"paimon-lakehouse\[([\w,]+)\]")

PREFIX = "Programming Language :: Python :: 3."
MINORS = sorted(int(name.removeprefix(PREFIX)) for name in PROJECT["classifiers"] if name.startswith(PREFIX))


def listed() -> dict[str, set[str]]:
    """README's table: what each extra needs; none is the core."""
    section = README.partition("\n## Install\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (none|`\[\w+\]`) \|[^|]*\|([^|]*)\|$", section, re.MULTILINE)
    return {
        name.strip("`[]"): {text for text in re.findall(r"`([^`]+)`", needs) if not text.startswith("[")}
        for name, needs in rows
    }


def test_readme_lists_each_extra_with_what_it_needs() -> None:
    declared = {"none": set(PROJECT["dependencies"])}
    for extra, needs in EXTRAS.items():
        declared[extra] = {text for text in needs if not OF_ITSELF.match(text)}
    del declared["frames"]  # the earlier name of polars
    assert listed() == declared


def test_the_extra_all_has_each_other_one_but_java() -> None:
    (text,) = EXTRAS["all"]
    (found,) = OF_ITSELF.findall(text)
    assert {*found.split(","), "java", "frames", "all"} == set(EXTRAS)


def test_the_extras_that_documents_and_errors_name_are_declared() -> None:
    named = {(where, extra) for where, found in all_found(OF_ITSELF) for extra in found.split(",")}
    assert {where: extra for where, extra in named if extra not in EXTRAS} == {}


def all_found(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    """In which files a pattern is found, with what its group holds."""
    return {(where, found) for where, text in TEXTS.items() for found in pattern.findall(text)}


def test_all_places_agree_on_the_oldest_python() -> None:
    assert PROJECT["requires-python"] == f">=3.{MINORS[0]}"
    assert SETTINGS["tool"]["mypy"]["python_version"] == f"3.{MINORS[0]}"
    assert SETTINGS["tool"]["ruff"]["target-version"] == f"py3{MINORS[0]}"
    assert f"sys.version_info < (3, {MINORS[0]})" in (ROOT / "Makefile").read_text()
    named = all_found(re.compile(r"Python (\d\.\d+) or newer"))
    assert {where: version for where, version in named if version != f"3.{MINORS[0]}"} == {}
    assert "README.md" in {where for where, _ in named}


def test_readme_names_the_pythons_that_are_tested() -> None:
    *others, last = (f"3.{minor}" for minor in MINORS)
    assert f"on Python {', '.join(others)} and {last}" in " ".join(README.split())


def test_the_documents_name_the_spark_and_the_java_that_are_needed() -> None:
    (pyspark,) = (Requirement(text).specifier for text in EXTRAS["spark"] if text.startswith("pyspark"))
    (needed,) = re.findall(r"PySpark (\d+\.\d+) is needed", TEXTS["CHANGELOG.md"])
    assert SpecifierSet(f">={needed},<{next_minor(needed)}") == pyspark
    (older,) = re.findall(r"Spark (\d+\.\d+) and older lack", README)
    assert next_minor(older) == needed
    named = all_found(re.compile(r"Java (\d+) or newer"))
    assert {where: version for where, version in named if version != str(OLDEST)} == {}


def next_minor(version: str) -> str:
    major, _, minor = version.partition(".")
    return f"{major}.{int(minor) + 1}"


def test_the_page_on_clusters_lists_what_tasks_may_need() -> None:
    sentence = re.split(r"\*\*A Python of the driver's version\*\*", TEXTS["docs/cluster.md"])[1].partition(":")[0]
    core = {Requirement(requirement).name for requirement in PROJECT["dependencies"]}
    assert set(re.findall(r"`([\w-]+)`", sentence)) == core | {"duckdb", "pandas"}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_the_locked_versions_are_among_the_declared_ones(extra: str) -> None:
    locked = {}
    for line in (ROOT / "requirements" / "locked.txt").read_text().splitlines():
        requirement = Requirement(line)
        locked.setdefault(requirement.name, []).append(next(iter(requirement.specifier)).version)
    if extra == "java":
        assert EXTRAS[extra] == (ROOT / "requirements" / "java.txt").read_text().split()
        return
    for requirement in map(Requirement, [*PROJECT["dependencies"], *EXTRAS[extra]]):
        if requirement.name != PROJECT["name"]:
            assert all(requirement.specifier.contains(version) for version in locked[requirement.name]), requirement
