"""A project of somebody else: it has the wheel and what the wheel depends on, and nothing of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement

from tests.support.linked_packages import closure, link_packages
from tests.support.one_process import in_one_process, printed_by_each

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ForeignEnvironment:
    """A virtual environment with the wheel."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    def run(self, *command: str, cwd: Path, **variables: str) -> str:
        """What a command prints. An error shows the end of what it printed."""
        inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        for name in [key for key in inherited if key.startswith(("DAGSTER_", "LAKEHOUSE_", "PYSPARK_", "COV_"))]:
            del inherited[name]
        variables = {"PATH": f"{self.root / 'bin'}:{inherited['PATH']}", "NO_COLOR": "1", "COLUMNS": "200", **variables}
        done = subprocess.run(command, cwd=cwd, env={**inherited, **variables}, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def run_all(self, main: str, *commands: Sequence[str], cwd: Path, **variables: str) -> list[str]:
        """What each of some commands of one program prints; ``main`` is the entry point of the program."""
        return printed_by_each(self.run(str(self.python), *in_one_process(main, commands), cwd=cwd, **variables))


def build_wheel(target: Path) -> Path:
    """The wheel of this repository, built as `pip wheel` does."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def build_sdist(target: Path) -> Path:
    """The source distribution of this repository."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (sdist,) = target.glob("*.tar.gz")
    return sdist


def environment_with(wheel: Path, root: Path, *, extras: Sequence[str], also: Sequence[str] = ()) -> ForeignEnvironment:
    """A new environment with the wheel, what its core and some extras need, and ``also`` other requirements.

    The wheel is installed; the other packages are links to those of this environment.
    """
    venv.create(root, with_pip=False, symlinks=True)
    (site,) = root.glob("lib/python*/site-packages")
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(wheel)], check=True, capture_output=True)
    packages = closure([*_requirements(_metadata(wheel), extras), *also])
    link_packages(packages, site)
    environment = ForeignEnvironment(root)
    for distribution in (*distributions(path=[str(site)], name="paimon-lakehouse"), *packages):
        for script in distribution.entry_points.select(group="console_scripts"):
            path = root / "bin" / script.name
            path.write_text(f"#!{environment.python}\nfrom {script.module} import {script.attr}\n{script.attr}()\n")
            path.chmod(0o755)
    return environment


def link_extra(wheel: Path, extra: str, directory: Path) -> None:
    """Link what an extra needs, and the core does not, into a directory that a test puts on the path."""
    core = {found.name for found in closure(_requirements(_metadata(wheel), []))}
    packages = closure(_requirements(_metadata(wheel), [extra]))
    link_packages((found for found in packages if found.name not in core), directory)


def declared_extras(wheel: Path) -> frozenset[str]:
    """The extras of the wheel."""
    return frozenset(_metadata(wheel).get_all("Provides-Extra"))


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def _requirements(metadata: Message, extras: Sequence[str]) -> list[str]:
    """What the distribution needs with those extras."""
    needed: list[str] = []
    for text in metadata.get_all("Requires-Dist", ()):
        requirement = Requirement(text)
        marker, requirement.marker = requirement.marker, None
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed.append(str(requirement))
    return needed
