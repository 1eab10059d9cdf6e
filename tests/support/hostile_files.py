"""What can lie where a file of a table should be, and what the operations of the table make of it.

Run as a program, in a process of its own: what waits for a pipe or fills memory must not take the tests with it. Each
line it prints is one trial: place, kind, operation, what came of it, seconds and megabytes.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.errors import TableFormatError

FUTURE = 1 << 60
SECONDS = 20
"""After which an operation counts as hanging."""

MEGABYTES = 2_000
"""What the process may take beyond what it has after its imports."""

SPARSE_BYTES = 60 << 30

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])


def peak_megabytes() -> int:
    """The most memory this program has had at once, without that of the process it was started from."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) // 1024


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, SPARSE_BYTES)


def listening(path: Path) -> None:
    # A path of a socket is short: it is made here and moved there.
    made = Path(f"socket-{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(made))
    shutil.move(made, path)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "socket": listening,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "directory": Path.mkdir,
    "60 GB of nothing": sparse,
    "empty file": Path.touch,
    "link to itself": lambda path: path.symlink_to(path),
    "link to nothing": lambda path: path.symlink_to("/no/such/file"),
}

PLACES: dict[str, Callable[[Path], Path]] = {
    "latest hint": lambda root: root / "snapshot/LATEST",
    "earliest hint": lambda root: root / "snapshot/EARLIEST",
    "latest snapshot": lambda root: root / "snapshot/snapshot-4",
    "earlier snapshot": lambda root: root / "snapshot/snapshot-2",
    "next snapshot": lambda root: root / "snapshot/snapshot-5",
    "far snapshot": lambda root: root / "snapshot/snapshot-99",
    "schema": lambda root: root / "schema/schema-0",
    "next schema": lambda root: root / "schema/schema-1",
    "manifest list": lambda root: named(root, "manifest", "baseManifestList"),
    "delta list": lambda root: named(root, "manifest", "deltaManifestList"),
    "index manifest": lambda root: named(root, "manifest", "indexManifest"),
    "manifest": lambda root: first(root / "manifest", "manifest-[!l]*"),
    "hash index": lambda root: first(root / "index", "*"),
    "data file": lambda root: first(root / "bucket-0", "data-*"),
    "tag": lambda root: root / "tag/tag-kept",
    "further tag": lambda root: root / "tag/tag-further",
    "consumer": lambda root: root / "consumer/consumer-c",
    "branch": lambda root: root / "branch/branch-further",
    "changelog": lambda root: root / "changelog/changelog-1",
    "stray data file": lambda root: root / "bucket-0/data-stray-0.parquet",
    "stray manifest": lambda root: root / "manifest/manifest-stray-0",
    "temporary file": lambda root: root / "manifest/.manifest-stray-0.uuid.tmp",
}

OPERATIONS: dict[str, Callable[[Table], object]] = {
    "scan": lambda table: check_rows(table),
    "append": lambda table: table.append(pa.table({"k": [9], "v": [9]}, schema=SCHEMA)),
    "compact": lambda table: table.compact(full=True),
    "expire": lambda table: table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0),
    "orphans": lambda table: table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True),
}


def named(root: Path, directory: str, member: str) -> Path:
    snapshot = json.loads((root / "snapshot/snapshot-4").read_text())
    return root / directory / snapshot[member]


def first(directory: Path, pattern: str) -> Path:
    return min(directory.glob(pattern))


def check_rows(table: Table) -> None:
    found = table.scan().to_arrow().sort_by("k").to_pydict()
    assert found == {"k": [1, 2, 3, 4, 5, 6], "v": [3, 3, 0, 1, 2, 3]}, found


def make_table(base: Path) -> None:
    catalog = load_catalog({"warehouse": str(base / "warehouse")})
    catalog.create_database("db")
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "100", "write-only": "true"}
    table = catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options=options))
    for value in range(4):
        table.append(pa.table({"k": [1, 2, value + 3], "v": [value] * 3}, schema=SCHEMA))
    table.create_tag("kept", snapshot_id=2)
    table.reset_consumer("c", 2)


def trials(base: Path, kind: str) -> Iterator[dict[str, object]]:
    for place, find in PLACES.items():
        copy = base / "copy"
        shutil.copytree(base / "warehouse", copy)
        root = copy / "db.db/t"
        path = find(root)
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        for operation, act in {**OPERATIONS, "drop": None}.items():
            if not os.path.lexists(path):
                KINDS[kind](path)  # what came before has replaced it
            begun = time.monotonic()
            outcome = outcome_of(copy, act)
            yield {
                "place": place,
                "kind": kind,
                "operation": operation,
                "outcome": outcome,
                "seconds": time.monotonic() - begun,
                "megabytes": peak_megabytes(),
                "is_gone": not root.exists(),
            }
        shutil.rmtree(copy)


def outcome_of(warehouse: Path, act: Callable[[Table], object] | None) -> str:
    """``done``, ``named`` for an error of the library or the system that names a path, or whatever else it was."""
    signal.alarm(SECONDS)
    try:
        catalog = load_catalog({"warehouse": str(warehouse)})
        if act is None:
            catalog.drop_table("db.t")
        else:
            table = catalog.load_table("db.t")
            assert isinstance(table, Table)
            act(table)
    except (TableFormatError, OSError) as error:
        return "named" if str(warehouse) in str(error) else f"nameless: {error!r}"
    except BaseException as error:  # noqa: BLE001 - a hang, a full memory and every raw error are findings
        return f"raw: {error!r}"
    finally:
        signal.alarm(0)
    return "done"


def give_up(*_: object) -> None:
    message = "the operation hangs"
    raise TimeoutError(message)


def main(base: Path, kinds: list[str]) -> None:
    os.chdir(base)
    signal.signal(signal.SIGALRM, give_up)
    patch.object(os, "fsync", lambda _handle: None).start()  # as in the tests themselves
    make_table(base)
    limit = (int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()) + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for kind in kinds:
        for trial in trials(base, kind):
            print(json.dumps(trial), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(KINDS))
