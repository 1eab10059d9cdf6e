"""Checks that partitions and buckets that somebody names exist.

Methods of a table and procedures pass over partitions without files, as in Apache Paimon: a partition may be dropped
while a job works. A command and the configuration of a job are written by hand, and a wrong value there is a mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from table_format.counted import listed
from table_format.errors import InvalidInputError
from table_format.metastore.references.expired_reads import on_latest
from table_format.model.manifest import ManifestEntry
from table_format.table.facts import HasFacts, TableFacts
from table_format.table.rows.partition_values import partition_spec

_SHOWN: Final = 8


def require_partitions(
    table: HasFacts, partitions: Sequence[Mapping[str, object]], buckets: Sequence[int] = ()
) -> None:
    """Refuse partitions and buckets without files, because work on them would change nothing.

    Raises:
        InvalidInputError: a column is not a partition column, or a partition or bucket has no live file.
        InvalidData: a value does not fit its column.
    """
    if not partitions and not buckets:
        return
    facts = table.current_facts
    specs = [partition_spec(facts.schema, partition) for partition in partitions]
    entries = on_latest(facts.snapshots, lambda snapshot: tuple(facts.live_files(snapshot).entries))
    chosen = list(entries) if not specs else []
    for given, spec in zip(partitions, specs, strict=True):
        inside = [entry for entry in entries if _is_in(facts, entry, spec)]
        if not inside:
            message = f"{facts.name} has no partition {_shown(given)}; its partitions are {_partitions(facts, entries)}"
            raise InvalidInputError(message)
        chosen += inside
    present = sorted({entry.bucket for entry in chosen})
    missing = sorted(set(buckets) - set(present))
    if missing:
        where = " in these partitions" if specs else ""
        message = f"{facts.name} has no bucket {_listed(map(str, missing))}{where}; found {_listed(map(str, present))}"
        raise InvalidInputError(message)


def _is_in(facts: TableFacts, entry: ManifestEntry, spec: Mapping[str, object]) -> bool:
    values = dict(zip(facts.schema.partition_keys, facts.partitions.values(entry.partition), strict=True))
    return all(values[name] == value for name, value in spec.items())


def _partitions(facts: TableFacts, entries: Sequence[ManifestEntry]) -> str:
    return _listed(sorted({facts.partitions.spec_text(entry.partition) for entry in entries}))


def _shown(partition: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in partition.items())


def _listed(names: Iterable[str]) -> str:
    return listed(names, _SHOWN) or "none"
