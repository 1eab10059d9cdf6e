"""Count the requests of small operations in an object store, and time them: ``python -m benchmarks.object_store``.

Each client works in a process of its own on a bucket of its own, on one local server that waits before it answers. The
Python client of Apache Paimon runs in a separate environment, which is created on first use.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.run import ROOT, peer_python
from tests.support.s3_server import KEY, SECRET, S3Server, running_s3

CLIENT = ROOT / "benchmarks" / "engines" / "object_store_client.py"


@dataclass(frozen=True)
class Step:
    """One operation of a client: how long it took, and what it asked of the store."""

    name: str
    wall_s: float
    requests: int


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--latency-ms", type=float, default=20)
    arguments.add_argument("--times", type=int, default=3)
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    clients = {
        "this project": [sys.executable, str(CLIENT), "own"],
        "pypaimon": [str(peer_python(chosen.scratch / "peers")), str(CLIENT), "pypaimon"],
    }
    found: dict[str, list[list[Step]]] = {name: [] for name in clients}
    with running_s3() as server:
        server.latency_s = chosen.latency_ms / 1000
        for time in range(chosen.times):
            for name, command in clients.items():
                found[name].append([*_steps(server, command, f"{command[-1]}-{time}")])
    print(report(found, chosen.latency_ms))


def _steps(server: S3Server, command: Sequence[str], bucket: str) -> Iterator[Step]:
    """Run a client, which waits for a line before each operation and writes one after it."""
    server.make_bucket(bucket)
    call = [*command, server.endpoint, KEY, SECRET, f"s3://{bucket}/warehouse"]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
        for line in process.stdout:
            if line.startswith("READY"):
                server.requests.clear()
                process.stdin.write("\n")
                process.stdin.flush()
            elif line.startswith("STEP "):
                name, wall_s = json.loads(line.removeprefix("STEP "))
                yield Step(name, wall_s, len(server.requests))
    if process.returncode:
        sys.exit(f"{command[-1]} stopped with exit code {process.returncode}")


def report(found: dict[str, list[list[Step]]], latency_ms: float) -> str:
    """Return the Markdown table: requests and milliseconds, the least of the repetitions."""
    names = [step.name for step in next(iter(found.values()))[0]]
    lines = [
        f"| each request takes {latency_ms:g} ms | " + " | ".join(found) + " |",
        "|---" * (len(found) + 1) + "|",
    ]
    for number, name in enumerate(names):
        cells = []
        for runs in found.values():
            steps = [run[number] for run in runs]
            cells.append(f"{min(s.requests for s in steps)} requests, {1000 * min(s.wall_s for s in steps):.0f} ms")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
