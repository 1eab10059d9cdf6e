"""``python -m tests.wheel WHEEL``: install a wheel from the package index into an empty environment for each extra.

Each environment runs README's example of the library, then what the extra is for, Spark sessions included. A line for
each says how many packages and megabytes it has. The exit code is 1 when one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from uv import find_uv_bin

from tests.support.foreign_project import ForeignEnvironment
from tests.support.s3_server import running_s3
from tests.wheel.examples import LIBRARY, ROWS, SHOW, USES


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wheel", description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the Python of the environments")
    parser.add_argument("--extras", nargs="*", default=[*USES, "all"], help="'' is the core alone")
    options = parser.parse_args(arguments)
    with running_s3() as server:
        server.make_bucket("wheel")
        os.environ["S3_ENDPOINT"] = server.endpoint
        failed = [extra for extra in options.extras if not works(options.wheel.resolve(), extra, options.python)]
    return 1 if failed else 0


def works(wheel: Path, extra: str, python: str) -> bool:
    """Whether an installation with that extra does what it is for; prints a line."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lakehouse-wheel-") as directory:
        root = Path(directory) / "environment"
        try:
            installed = install(wheel, extra, python, root)
            environment = ForeignEnvironment(root)
            environment.run(str(environment.python), "-c", LIBRARY, cwd=Path(directory))
            for programs in uses_of(extra):
                use(environment, programs, Path(directory))
        except (AssertionError, subprocess.CalledProcessError) as error:
            shown = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
            print(f"[{extra}] FAILED\n{shown}", flush=True)
            return False
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    seconds = time.monotonic() - began
    print(f"[{extra}] works: {len(installed)} packages, {size / 1e6:.0f} MB, {seconds:.0f} s", flush=True)
    return True


def install(wheel: Path, extra: str, python: str, root: Path) -> Sequence[str]:
    """Create an environment with the wheel and that extra. Return the installed packages."""
    command = [find_uv_bin(), "venv", "--quiet", "--python", python, str(root)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    target = {**os.environ, "VIRTUAL_ENV": str(root)}
    requirement = f"paimon-lakehouse[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    for step in (["install", "--quiet", requirement], ["check", "--quiet"]):
        command = [find_uv_bin(), "pip", *step]
        subprocess.run(command, check=True, capture_output=True, text=True, env=target)
    listed = [find_uv_bin(), "pip", "freeze", "--quiet"]
    return subprocess.run(listed, check=True, capture_output=True, text=True, env=target).stdout.split("\n")[:-1]


def uses_of(extra: str) -> list[list[str]]:
    """The codes that run in one process each: all brief ones in one, each session of Spark in its own."""
    uses = [use for name in (USES if extra == "all" else [extra]) for use in USES[name]]
    return [[use.code for use in uses if use.brief], *([use.code] for use in uses if not use.brief)]


def use(environment: ForeignEnvironment, codes: Sequence[str], directory: Path) -> None:
    """Run codes in one process, and compare what each shows with the rows of README's example."""
    shown = directory / "shown.jsonl"
    shown.unlink(missing_ok=True)
    environment.run(str(environment.python), "-c", "\n".join([SHOW, *codes]), cwd=directory)
    assert shown.read_text().splitlines() == [json.dumps(ROWS)] * len(codes), shown.read_text()


if __name__ == "__main__":
    sys.exit(main())
