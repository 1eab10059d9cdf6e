"""A project of somebody else: it has the wheel and what the wheel depends on, and nothing of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_COMMANDS = {"dagster": "dagster._cli:main", "dg": "dagster_dg_cli.cli:main"}


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


def build_wheel(target: Path) -> Path:
    """The wheel of this repository, built as `pip wheel` does."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def environment_with(wheel: Path, root: Path) -> ForeignEnvironment:
    """A new environment with the wheel installed, and with the packages of this one.

    Those are on the path as a plain directory, whose ``.pth`` files Python does not read: the editable install of this
    repository is one of them.
    """
    venv.create(root, with_pip=False, symlinks=True)
    (packages,) = root.glob("lib/python*/site-packages")
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(packages), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    environment = ForeignEnvironment(root)
    for name, target in _COMMANDS.items():
        module, _, function = target.partition(":")
        script = root / "bin" / name
        script.write_text(f"#!{environment.python}\nfrom {module} import {function}\n{function}()\n")
        script.chmod(0o755)
    return environment
