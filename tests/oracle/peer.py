"""The real Apache Paimon as a running peer: one Java process, JSON lines in and out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from tests.oracle.install import DEFAULT_DIRECTORY, class_path
from tests.oracle.json_process import JsonProcess, PeerError
from tests.support.shared_classes import QUICK

__all__ = ["DIRECTORY", "PaimonPeer", "PeerError"]

DIRECTORY = Path(os.environ.get("PAIMON_ORACLE_DIR", DEFAULT_DIRECTORY))
_OPENED = ("java.base/java.nio", "java.base/java.lang", "java.base/java.util")


class PaimonPeer(JsonProcess):
    """``with PaimonPeer("1.4.2") as paimon: paimon.read(warehouse, "db.t")``."""

    def __init__(
        self, version: str, catalog: Mapping[str, str] | None = None, *, libraries: Sequence[Path] = ()
    ) -> None:
        """``catalog`` has options of the catalogs that it opens, such as the keys of a store; ours take the same.

        ``libraries`` are jars of others that a catalog needs.
        """
        path = ":".join(map(str, [DIRECTORY / "classes" / version, *class_path(DIRECTORY, version), *libraries]))
        opens = [f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED]
        options = ["-Xmx2g", *QUICK.split(), "-Duser.timezone=UTC"]
        self.version = version
        self.catalog_options = dict(catalog or {})
        super().__init__(f"the Java process of Paimon {version}", ["java", *options, *opens, "-cp", path, "PaimonPeer"])

    def with_catalog(self, options: Mapping[str, str]) -> PaimonPeer:
        """The same process with other options of catalogs. It keeps a catalog per warehouse, with its first options."""
        other = copy(self)
        other.catalog_options = dict(options)
        return other

    def _call(self, operation: str, warehouse: Path | str, table: str, **request: Any) -> dict[str, Any]:
        request["catalog"] = self.catalog_options
        try:
            return super()._call(operation, warehouse, table, **request)
        except PeerError as error:
            # Threads of version 0.9 that plan a read share a map, which sometimes fails.
            if operation != "read" or "ConcurrentModificationException" not in str(error):
                raise
        return super()._call(operation, warehouse, table, **request)

    def read(self, warehouse: Path | str, table: str, **options: str) -> dict[str, Any]:
        """Columns and rows of the table, with dynamic options such as ``scan.snapshot-id``."""
        return self._call("read", warehouse, table, options={k.replace("_", "-"): v for k, v in options.items()})

    def read_at(self, warehouse: Path | str, table: str, snapshot_id: int) -> dict[str, Any]:
        """Columns and rows at one snapshot."""
        return self._call("read", warehouse, table, options={"scan.snapshot-id": str(snapshot_id)})

    def read_equal(
        self, warehouse: Path | str, table: str, equal: dict[str, Any], options: dict[str, str] | None = None
    ) -> list[list[Any]]:
        """The rows of a table with these values, and other rows of the files that are read for them."""
        return self._call("read", warehouse, table, options=options or {}, equal=equal)["rows"]

    def read_where(
        self, warehouse: Path | str, table: str, condition: list[Any], options: dict[str, str] | None = None
    ) -> list[list[Any]]:
        """The rows that meet a condition: ``[operator, column, value...]`` or ``["and", condition...]``."""
        return self._call("read", warehouse, table, options=options or {}, filter=condition)["rows"]

    def read_first(
        self, warehouse: Path | str, table: str, column: str, direction: str, nulls: str, count: int
    ) -> dict[str, Any]:
        """What it reads for the first rows in an order, such as ``"DESCENDING", "NULLS_LAST"``: the engine cuts them.

        ``rows`` has all that its reader gives, ``files`` how many files are in its plan.
        """
        return self._call("read", warehouse, table, options={}, first=[column, direction, nulls, count])

    def read_limited(self, warehouse: Path | str, table: str, count: int) -> dict[str, Any]:
        """What it reads for a limit, as ``read_first``."""
        return self._call("read", warehouse, table, options={}, limit=count)

    def changes(self, warehouse: Path | str, table: str, options: dict[str, str] | None = None) -> list[list[Any]]:
        """Rows of a batch read of a table or system table, each ``[kind, values]``."""
        return self._call("changes", warehouse, table, options=options or {})["rows"]

    def system_table(self, warehouse: Path | str, table: str, options: dict[str, str] | None = None) -> dict[str, Any]:
        """``columns``, ``types`` and ``rows`` of a system table."""
        answer = self._call("changes", warehouse, table, options=options or {})
        return {**answer, "rows": [values for _, values in answer["rows"]]}

    def stream(self, warehouse: Path | str, table: str, options: dict[str, str]) -> list[dict[str, Any]]:
        """The plans of a streaming read so far: ``snapshot`` and ``rows``, each ``[kind, values]``."""
        return self._call("stream", warehouse, table, options=options)["plans"]

    def consume(self, warehouse: Path | str, table: str, options: dict[str, str], most: int) -> list[dict[str, Any]]:
        """At most so many plans of a streaming read, as ``stream``; its consumer then records that they were read."""
        return self._call("stream", warehouse, table, options=options, most=most, acknowledge=True)["plans"]

    def expire_partitions(self, warehouse: Path | str, table: str, options: dict[str, str]) -> None:
        """Drop the partitions that are older than 'partition.expiration-time'."""
        self._call(
            "expire_partitions", warehouse, table, options={"partition.expiration-check-interval": "0 ms", **options}
        )

    def snapshot_ids(self, warehouse: Path | str, table: str) -> list[int]:
        """The ids of the snapshots that exist."""
        return self._call("snapshots", warehouse, table)["ids"]

    def write(
        self, warehouse: Path | str, table: str, rows: list[list[Any]], *, watermark: int | None = None, **options: str
    ) -> None:
        """Commit ``[[kind, [values]], ...]`` in one batch."""
        self._call("write", warehouse, table, rows=rows, options=options, watermark=watermark)

    def write_apart(self, warehouse: Path | str, table: str, *batches: list[list[Any]]) -> None:
        """Write batches as jobs that do not see each other, and then commit one after the other.

        The table has dynamic buckets, or keys that move between partitions.
        """
        self._call("write", warehouse, table, apart=batches)

    def write_files(
        self, warehouse: Path | str, table: str, rows: list[list[Any]], *, overwrite: dict[str, str] | None = None
    ) -> None:
        """Append rows to a format table, or replace a partition; ``{}`` replaces what the rows are written to."""
        listed = [["+I", row] for row in rows]
        self._call("write", warehouse, table, rows=listed, options={}, overwrite=overwrite)

    def compact(
        self, warehouse: Path | str, table: str, options: dict[str, str] | None = None, *, full: bool = True
    ) -> None:
        """Compact every bucket, in full or what is due, with dynamic options."""
        self._call("compact", warehouse, table, options=options or {}, full=full)

    def write_moved(self, warehouse: Path | str, table: str, rows: list[list[Any]]) -> None:
        """Commit rows of a table with row tracking that end with their ids and sequence numbers, or ``None``.

        So does an UPDATE on Spark, which writes a row that it changes with its id and without a number.
        """
        self._call("write", warehouse, table, rows=rows, options={}, moved=True)

    def compact_append(self, warehouse: Path | str, table: str) -> None:
        """Compact an append table without buckets, as the jobs of Flink and Spark do. Not of 0.9.0."""
        self._call("compact_append", warehouse, table, options={"compaction.min.file-num": "2"})

    def history(self, warehouse: Path | str, table: str, *step: str | int) -> None:
        """A step on tags, branches, consumers or the history, such as ``"create_tag", "t1"``."""
        self._call("history", warehouse, table, step=[str(part) for part in step])

    def kept(self, warehouse: Path | str, table: str) -> dict[str, Any]:
        """``tags`` with their snapshot ids, ``branches``, and ``consumers`` with the ids they read next."""
        return self._call("kept", warehouse, table)

    def create_table(self, warehouse: Path | str, table: str, **request: Any) -> None:
        """Create a table: ``columns`` [[name, type]], ``primary_keys``, ``partition_keys``, ``options``."""
        self._call("create_table", warehouse, table, **request)

    def catalog(self, warehouse: Path | str, *step: str) -> list[str]:
        """A step on databases and tables: ``"create_database", "db"``, ``"rename_table", "db.t", "db.u"`` ...

        ... ``"drop_table", "db.t"``, ``"drop_database", "db"``. The names that ``"databases"`` or ``"tables", "db"``
        list.
        """
        names: list[str] = self._call("catalog", warehouse, "", step=list(step))["names"]
        return names

    def views(self, warehouse: Path | str, name: str, action: str, **step: Any) -> dict[str, Any]:
        """A step on a view: ``create``, ``load``, ``set``, ``rename``, ``drop``; ``list`` those of the database."""
        return self._call("views", warehouse, name, step={"action": action, **step})

    def alter_options(self, warehouse: Path | str, table: str, options: dict[str, str]) -> None:
        """Set options of a table."""
        self._call("alter_table", warehouse, table, options=options)

    def alter_columns(self, warehouse: Path | str, table: str, *changes: list[Any]) -> None:
        """Change columns: ``["type", path, type]``, ``["nullable", path, flag]``, ``["add", path, type]`` ...

        ... ``["drop", path]`` or ``["rename", path, name]``. Not of 0.9.0.
        """
        self._call("alter_table", warehouse, table, changes=list(changes))
