"""``python -m tests.versions``: a part of the tests with the lowest and the highest declared versions of all packages.

For each Python that is found, for the lowest and the highest versions that pyproject.toml allows, and for the library,
object stores and catalogs in databases, Spark, and Dagster: make an environment from the package index, and run tests
that touch each dependency. ``uv python install 3.12`` brings a Python that is not found. The exit code is 1 when an
environment fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from uv import find_uv_bin

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = ("pytest>=9", "pytest-xdist>=3.6", "hypothesis>=6.130", "greenlet>=3.1")
S3_SERVER: Final = ("moto[s3]>=5.1", "flask>=3", "flask-cors>=5")
PREFIX: Final = "Programming Language :: Python :: "


@dataclass(frozen=True)
class Part:
    """Extras that are resolved together, the arguments of pytest, and the packages that only these tests need."""

    extras: Sequence[str]
    tests: Sequence[str]
    tools: Sequence[str] = ()


PARTS: Final[Mapping[str, Part]] = {
    "library": Part(
        ["pandas", "polars", "duckdb", "cli", "spark", "connect", "jdbc"],
        [
            "tests/catalog/test_all_catalogs.py",
            "tests/cli",
            "--ignore=tests/cli/test_object_stores.py",
            "tests/codecs",
            "tests/docs/test_engines.py",
            "tests/formats",
            "tests/indexes",
            "tests/kernels/aggregates",
            "tests/kernels/test_compiled.py",
            "tests/kernels/test_predicate.py",
            "tests/lsm/test_engines.py",
            "tests/metastore/snapshot",
            "tests/model/test_types.py",
            "tests/table/read",
            "tests/table/test_read_and_write.py",
            "tests/test_duckdb_sql.py",
            "tests/test_extras.py",
            "tests/test_readme.py",
        ],
    ),
    "stores": Part(
        ["s3", "azure", "gcs", "oss", "jdbc", "rest", "cli"],
        [
            "tests/catalog/jdbc",
            "tests/catalog/rest",
            "tests/catalog/test_all_catalogs.py",
            "tests/catalog/test_load_catalog.py",
            "tests/cli/test_object_stores.py",
            "tests/io",
            "tests/table/test_object_stores.py",
        ],
        S3_SERVER,
    ),
    "spark": Part(
        ["spark", "connect", "duckdb", "pandas", "polars", "hive", "hdfs", "jdbc", "s3"],
        [
            "tests/catalog/hive",
            "--ignore=tests/catalog/hive/test_entry_points.py",
            "tests/spark/source",
            "tests/spark/test_connect.py",
            "tests/spark/test_merge_engines.py",
            "tests/spark/test_types.py",
        ],
    ),
    "dagster": Part(
        ["dagster", "spark", "pandas", "polars", "duckdb"],
        [
            "tests/dagster_paimon/checks",
            "tests/dagster_paimon/components",
            "tests/dagster_paimon/io/test_frames.py",
            "tests/dagster_paimon/io/test_io_manager.py",
            "tests/dagster_paimon/sensors",
        ],
    ),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("--python", nargs="*", default=declared_pythons(), help="versions or paths")
    parser.add_argument("--resolution", nargs="*", default=["lowest-direct", "highest"])
    parser.add_argument("--part", nargs="*", default=list(PARTS), choices=list(PARTS))
    options = parser.parse_args(arguments)
    pythons = [python for python in options.python if is_here(python)]
    failed = [
        (python, resolution, name)
        for python in pythons
        for resolution in options.resolution
        for name in options.part
        if not passes(python, resolution, name)
    ]
    for python in options.python:
        if python not in pythons:
            print(f"Python {python}: NOT TESTED, it is not found here", flush=True)
    return 1 if failed or not pythons else 0


def declared_pythons() -> list[str]:
    """The minor versions of Python that pyproject.toml names."""
    names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]
    return [version for version in versions if re.fullmatch(r"\d+\.\d+", version)]


def is_here(python: str) -> bool:
    command = [find_uv_bin(), "python", "find", "--no-python-downloads", "--quiet", python]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def passes(python: str, resolution: str, name: str) -> bool:
    """Whether the tests of a part pass with those versions; prints what failed and a line."""
    part, began = PARTS[name], time.monotonic()
    where = f"Python {python}, {resolution} versions, {name}"
    with tempfile.TemporaryDirectory(prefix="lakehouse-versions-") as directory:
        root = Path(directory) / "environment"
        try:
            make(root, python, resolution, part)
        except subprocess.CalledProcessError as error:
            print(f"{where}: cannot be installed\n{error.stderr}", flush=True)
            return False
        command = [str(root / "bin" / "python"), "-m", "pytest", "-n", "2", "--dist", "loadfile", *part.tests]
        plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        # The library is not installed there, and not every process of the tests starts in its directory.
        plain |= {"PATH": f"{root / 'bin'}:{plain['PATH']}", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    outcome = "FAILED" if done.returncode else "passed"
    last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
    print(f"{where}: {outcome} ({time.monotonic() - began:.0f} s; {last})", flush=True)
    return not done.returncode


def make(root: Path, python: str, resolution: str, part: Part) -> None:
    """An environment with what the core and the extras of a part need, and the tools of the tests."""
    uv, chosen = find_uv_bin(), root.with_name("chosen.txt")
    made = {**os.environ, "VIRTUAL_ENV": str(root)}
    extras = [word for extra in part.extras for word in ("--extra", extra)]
    resolve = ["pip", "compile", "--resolution", resolution, "--python", str(root / "bin" / "python"), *extras]
    # Of the lowest versions, some have no wheels for a newer Python. PySpark never has one.
    resolve += ["--only-binary", ":all:", "--no-binary", "pyspark"]
    for step in (
        ["venv", "--python", python, str(root)],
        [*resolve, "pyproject.toml", "--output-file", str(chosen)],
        ["pip", "install", "--requirement", str(chosen), *TOOLS, *part.tools],
    ):
        subprocess.run([uv, *step, "--quiet"], cwd=ROOT, env=made, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
