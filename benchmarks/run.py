"""Run every engine on the same rows and print the ratios to plain Spark: ``python -m benchmarks.run``.

Each engine runs in a separate process, one after the other; the Python clients of Apache Paimon run in a separate
environment (``--peers``, created on first use). A figure is the median of its repetitions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from pathlib import Path

from benchmarks.make_source import make
from benchmarks.measure import Figure
from benchmarks.source import DYNAMIC, MERGING, MODES, Source

PEERS = ("pypaimon==2.1.0", "pypaimon-rust==0.4.0")
ROOT = Path(__file__).parent.parent
ORACLE = Path(os.environ.get("PAIMON_ORACLE_DIR", ROOT / ".oracle"))
PAIMON = "Apache Paimon 0.9 on Spark"
YARDSTICK = "plain Spark"
Figures = dict[str, dict[str, list[Figure]]]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--engines", default="plain,spark,process,rust,python")
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    arguments.add_argument("--commits", type=int, default=1000, help="one-row commits to measure; 0 leaves them out")
    arguments.add_argument("--write", type=Path, help="also write the table to this Markdown file")
    chosen = arguments.parse_args()
    source = Source(chosen.scratch / f"source-{chosen.rows}", chosen.rows)
    make(source)
    figures: Figures = {}
    for engine in chosen.engines.split(","):
        name, command = _command(engine, chosen.scratch)
        figures[name] = _run(name, command, source, chosen.scratch / "tables", commits=chosen.commits)
    text = report(figures, chosen.rows)
    print(text)
    if chosen.write:
        chosen.write.write_text(text)


def _command(engine: str, scratch: Path) -> tuple[str, list[str]]:
    own = [sys.executable, "-m"]
    match engine:
        case "plain":
            return YARDSTICK, [*own, "benchmarks.engines.plain_spark"]
        case "spark":
            return "this project on Spark", [*own, "benchmarks.engines.lake_spark"]
        case "process":
            return "this project, one process", [*own, "benchmarks.engines.lake_process"]
        case "rust" | "python":
            client = str(ROOT / "benchmarks" / "engines" / "pypaimon_client.py")
            name = "pypaimon-rust 0.4.0" if engine == "rust" else "pypaimon 2.1.0"
            return name, [str(peer_python(scratch / "peers")), client]
        case "paimon":
            python = ORACLE / "spark" / "bin" / "python"
            if not python.exists():
                sys.exit(f"{python} does not exist: create it with python -m tests.oracle.install")
            return PAIMON, [str(python), str(ROOT / "benchmarks" / "engines" / "paimon_spark.py")]
    sys.exit(f"unknown engine '{engine}'; known are plain, spark, process, rust, python, paimon")


def peer_python(directory: Path) -> Path:
    """Return the Python of the environment with the Python clients of Apache Paimon."""
    python = directory / "bin" / "python"
    if not (directory / "ready").exists():
        print(f"installing {', '.join(PEERS)}", flush=True)
        venv.create(directory, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
        (directory / "ready").touch()
    return python


def _run(name: str, command: list[str], source: Source, tables: Path, *, commits: int) -> dict[str, list[Figure]]:
    shutil.rmtree(tables, ignore_errors=True)
    tables.mkdir(parents=True)
    call = [*command, str(source.directory), str(source.rows), str(tables)]
    if "pypaimon" in name:
        call.append("rust" if "rust" in name else "python")
    if name == PAIMON:
        call.append(str(ORACLE / "jars" / "paimon-spark-3.5-0.9.0.jar"))
    found: dict[str, list[Figure]] = defaultdict(list)
    environment = {**os.environ, "BENCH_COMMITS": str(commits)}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        assert process.stdout is not None  # noqa: S101
        for line in process.stdout:
            if line.startswith("FIGURE "):
                figure = Figure(**json.loads(line.removeprefix("FIGURE ")))
                found[figure.workload].append(figure)
                print(f"{name:28} {figure.workload:24} {figure.wall_s:8.2f} s {figure.check}", flush=True)
    if process.returncode:
        print(f"{name} stopped with exit code {process.returncode}", flush=True)
    return found


def report(figures: Figures, rows: int) -> str:
    """Return the Markdown table: wall ratio / CPU ratio to plain Spark, and peak memory."""
    names = [name for name in figures if name != YARDSTICK]
    yard = figures.get(YARDSTICK, {})
    # Workloads of only plain Spark are references for others.
    workloads = list(dict.fromkeys(w for name in names or figures for w in figures[name]))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {rows:,} base rows"
    lines = [
        f"Wall ratio / CPU ratio to plain Spark (peak memory of the process tree in MB). {machine}.",
        "",
        "| workload | plain Spark: wall s / CPU s (MB) | " + " | ".join(names) + " |",
        "|---" * (len(names) + 2) + "|",
    ]
    for workload in workloads:
        # Plain Spark has no modes: its appends and rewrites are the same for all of them.
        base = yard.get(workload) or yard.get(workload.partition(",")[0])
        first = _absolute(base) if base else "-"
        lines.append(
            f"| {workload} | {first} | " + " | ".join(_cell(figures[n].get(workload), base) for n in names) + " |"
        )
    lines += ["", *_beside_fixed_buckets(figures), *_disagreements(figures)]
    return "\n".join(lines) + "\n"


def _absolute(found: list[Figure]) -> str:
    return f"{_median(found, 'wall_s'):.2f} / {_median(found, 'cpu_s'):.2f} ({max(f.peak_mb for f in found):.0f})"


def _cell(found: list[Figure] | None, base: list[Figure] | None) -> str:
    if not found:
        return "cannot"
    if not base:
        return found[-1].check or f"{_median(found, 'wall_s'):.2f} s"
    return f"{_ratio(found, base)} ({max(f.peak_mb for f in found):.0f})"


def _ratio(found: list[Figure] | None, base: list[Figure] | None) -> str:
    """Wall and CPU ratio."""
    if not found or not base:
        return "-"
    wall = _median(found, "wall_s") / _median(base, "wall_s")
    cpu = _median(found, "cpu_s") / max(_median(base, "cpu_s"), 0.01)
    return f"{wall:.2f} / {cpu:.2f}"


def _median(found: list[Figure], member: str) -> float:
    return statistics.median(getattr(f, member) for f in found)


def _beside_fixed_buckets(figures: Figures) -> list[str]:
    """Return the cost of dynamic buckets relative to fixed buckets of the same engine, and to those of Paimon."""
    engines = {name: found for name, found in figures.items() if f"load, {DYNAMIC}" in found}
    if not engines:
        return []
    paimon = engines.get(PAIMON, {})
    lines = [
        f"Dynamic buckets, wall ratio / CPU ratio: to fixed buckets of the same engine; to {PAIMON}.",
        "",
        "| workload | " + " | ".join(engines) + " |",
        "|---" * (len(engines) + 1) + "|",
    ]
    for fixed in ("load", "upsert"):
        dynamic = f"{fixed}, {DYNAMIC}"
        cells = [
            f"{_ratio(found.get(dynamic), found.get(fixed))}; {_ratio(found.get(dynamic), paimon.get(dynamic))}"
            for found in engines.values()
        ]
        lines.append(f"| {dynamic} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _disagreements(figures: Figures) -> list[str]:
    """Return the scans with different results, whose figures mean nothing."""
    lines = []
    compacted = ("scan after compaction", *(f"scan after compaction, {mode}" for mode in MODES))
    for workload in ("merge-on-read scan", "merge-on-read scan, moving keys", *MERGING, *compacted, "append scan"):
        # Plain Spark does not merge. Under another merge engine, it has the same number of rows, but different rows.
        engines = {n: e for n, e in figures.items() if workload in e and not (workload in MERGING and n == YARDSTICK)}
        answers = {name: {f.check for f in engine[workload]} for name, engine in engines.items()}
        if len({a for answer in answers.values() for a in answer}) > 1:
            lines.append(f"**Different answers** to '{workload}': {answers}")
    return lines


if __name__ == "__main__":
    main()
