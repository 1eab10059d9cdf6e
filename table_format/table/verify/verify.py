"""Verification of a table: the history of every branch, then the files of each bucket, in this process or in tasks.

Other processes continue to work, and what they delete during the check is not a finding. So findings in the history
are checked twice, and findings about a file count only while the file is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from table_format.errors import CorruptionError, TableFormatError
from table_format.indexes.deletion_vectors import index_file_path
from table_format.indexes.hash_index import hash_entries
from table_format.io.paths import base_name
from table_format.lsm.keys import key_ranges
from table_format.metastore.references.branch_list import branch_names
from table_format.metastore.scan.file_plan import by_bucket
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.arguments import flag, mappings
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.manifest import IndexManifestEntry
from table_format.model.split import DeletionFile
from table_format.options.declare import Operation
from table_format.options.table_options import TableOptions
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.rows.partition_values import partition_spec
from table_format.table.upkeep.threads import in_threads
from table_format.table.verify.buckets import BucketFiles, check_bucket
from table_format.table.verify.chain import Chain, read_chain
from table_format.table.verify.hint_files import check_hints, repair_hints
from table_format.table.verify.key_places import find_doubled_keys
from table_format.table.verify.report import Checked, Depth, Finding, Severity, VerifyReport, ordered
from table_format.table.verify.structure import State, check_structure


@dataclass(frozen=True, slots=True)
class BucketWork:
    """The files of a bucket of a branch. Can be sent to other processes."""

    branch: str
    files: BucketFiles


Performer: TypeAlias = Callable[[Sequence[BucketWork]], Iterable[Checked]]
"""Checks buckets, in any process and order."""


@reporting_drops
def verify_table(
    table: HasFacts,
    *,
    depth: str = "files",
    partitions: Sequence[Mapping[str, object]] | None = None,
    repair: bool = False,
) -> VerifyReport:
    """See ``Table.verify``."""
    return verify(table.current_facts, depth=depth, partitions=partitions, repair=repair)


def verify(
    facts: TableFacts,
    *,
    depth: str,
    partitions: Sequence[Mapping[str, object]] | None = None,
    repair: bool = False,
    perform: Performer | None = None,
) -> VerifyReport:
    """Verify like ``verify_table``. ``perform`` checks the buckets; by default this process does, in parallel."""
    flag(repair, "repair")
    facts = facts.as_files_say
    wanted_depth = Depth.of(depth)
    if wanted_depth is Depth.ROWS:
        facts.require(Operation.READ)
    wanted = _partition_test(facts, partitions)
    branches, findings = _branches(facts)
    chains = {name: read_chain(branch) for name, branch in branches.items()}
    findings += [finding for name, branch in branches.items() for finding in _of_chain(branch, chains[name], wanted)]
    if findings:
        findings = _still_found(facts, findings, wanted)
    pieces = [] if wanted_depth is Depth.METADATA else list(_pieces(branches, chains, wanted))
    checked = list((perform or _in_this_process(facts, wanted_depth))(pieces)) if pieces else []
    of_files = [finding for each in checked for finding in each.findings]
    if wanted_depth is not Depth.METADATA:
        of_files += [f for name, branch in branches.items() for f in _index_files(branch, chains[name], wanted)]
    if of_files:
        of_files = _still_reached(facts, of_files)
    of_files += _doubled_keys(facts, checked, is_damaged=bool(findings or of_files))
    repaired = tuple(path for branch in branches.values() for path in repair_hints(branch)) if repair else ()
    return VerifyReport(
        table=facts.name,
        depth=wanted_depth,
        findings=ordered([*findings, *of_files]),
        snapshots=sum(chain.snapshots for chain in chains.values()),
        manifests=len(frozenset[str]().union(*(chain.manifests for chain in chains.values()))),
        files=sum(each.files for each in checked),
        rows=sum(each.rows for each in checked),
        repaired=repaired,
    )


def _doubled_keys(facts: TableFacts, checked: Sequence[Checked], *, is_damaged: bool) -> list[Finding]:
    """Return findings about keys in several buckets; none if their rows cannot be read, which is a finding already.

    Raises:
        CorruptionError: the rows cannot be read, although no file is damaged, also at a second attempt.
    """
    hashes = [each.key_hashes for each in checked if each.key_hashes is not None]
    try:
        return list(find_doubled_keys(facts, hashes))
    except CorruptionError:
        # An expiry may have removed the snapshot during the read.
        return [] if is_damaged else list(find_doubled_keys(replace(facts), hashes))


def check_work(facts: TableFacts, work: BucketWork, depth: Depth) -> Checked:
    """Check the files of a bucket of a branch; ``facts`` are those of the table that is verified."""
    checked = check_bucket(branch_facts(facts, work.branch), work.files, depth)
    # The work of another branch lacks the files that it shares with this one.
    return checked if work.branch == facts.store.paths.branch else replace(checked, key_hashes=None)


def branch_facts(facts: TableFacts, branch: str) -> TableFacts:
    """Return the facts of a branch of the table.

    Raises:
        TableNotFound: the branch has no schema.
        CorruptionError: its schema cannot be read.
    """
    if branch == facts.store.paths.branch:
        return facts
    store = replace(facts.store, paths=facts.store.paths.for_branch(branch))
    schema = SchemaStore(store).latest()
    return TableFacts(f"{facts.name}$branch_{branch}", store, schema, TableOptions.parse(schema.options))


def _branches(facts: TableFacts) -> tuple[dict[str, TableFacts], list[Finding]]:
    """Return the branches to check, and findings about those that cannot be opened."""
    own = facts.store.paths.branch
    found, findings = {own: facts}, list[Finding]()
    for name in sorted(branch_names(facts.store)) if own == MAIN_BRANCH else ():
        try:
            found[name] = branch_facts(facts, name)
        except TableFormatError as error:
            path = error.path if isinstance(error, CorruptionError) else facts.store.paths.branch_root(name)
            findings.append(Finding(Severity.ERROR, "branch", path, "a branch with a schema", str(error)))
    return found, findings


def _of_chain(facts: TableFacts, chain: Chain, wanted: Callable[[bytes], bool]) -> Iterator[Finding]:
    yield from chain.findings
    yield from check_hints(facts)
    yield from check_structure(_state(facts, chain, wanted))


def _state(facts: TableFacts, chain: Chain, wanted: Callable[[bytes], bool]) -> State:
    def path_of(bucket_id: BucketId, file: DataFileMeta) -> str:
        try:
            return facts.store.paths.data_file(facts.partitions.text(bucket_id.partition), bucket_id.bucket, file)
        except TableFormatError:
            return file.external_path or file.file_name

    return State(
        files=by_bucket(entry for entry in chain.live if wanted(entry.partition)),
        index=[entry for entry in chain.index if wanted(entry.partition)],
        bucket_mode=facts.bucket_mode,
        key_range_of=key_ranges(facts.schema) if facts.schema.is_primary_key_table else None,
        text_of=facts.partitions.text,
        path_of=path_of,
        index_path=lambda entry: _index_path(facts, entry),
    )


def _index_path(facts: TableFacts, entry: IndexManifestEntry) -> str:
    try:
        return index_file_path(entry, facts.index_path)
    except TableFormatError:
        return entry.index_file.external_path or entry.index_file.file_name


def _index_files(facts: TableFacts, chain: Chain, wanted: Callable[[bytes], bool]) -> Iterator[Finding]:
    """Return findings about index files that do not exist or have another size, in any state."""
    for entry in chain.index_files.values():
        if not wanted(entry.partition):
            continue
        path = _index_path(facts, entry)
        status = facts.store.io.status(path)
        size = entry.index_file.file_size
        if status is None or status.size != size:
            found = "none" if status is None else f"{status.size} bytes"
            text = facts.partitions.text(entry.partition)
            yield Finding(Severity.ERROR, "index file", path, f"a file of {size} bytes", found, text, entry.bucket)


def _pieces(
    branches: Mapping[str, TableFacts], chains: Mapping[str, Chain], wanted: Callable[[bytes], bool]
) -> Iterator[BucketWork]:
    """Return the buckets of all branches; a file that branches share is checked once."""
    seen: set[tuple[BucketId, str]] = set()
    for name, branch in branches.items():
        chain = chains[name]
        live = by_bucket(chain.live)
        deletions = _deletions(branch, chain)
        hashes = hash_entries(chain.index)
        for bucket_id, files in chain.files.items():
            if not wanted(bucket_id.partition):
                continue
            own = {file_name: file for file_name, file in files.items() if (bucket_id, file_name) not in seen}
            entries = live.get(bucket_id, ())
            names = frozenset(entry.file.file_name for entry in entries)
            if not own:
                continue
            seen.update((bucket_id, file_name) for file_name in own)
            yield BucketWork(
                name,
                BucketFiles(
                    bucket_id=bucket_id,
                    files=own,
                    live=names & own.keys(),
                    total_buckets=entries[0].total_buckets if entries else 0,
                    deletions=deletions.get(bucket_id, {}),
                    hash_index=hashes.get(bucket_id.partition, {}).get(bucket_id.bucket),
                ),
            )


def _deletions(facts: TableFacts, chain: Chain) -> Mapping[BucketId, Mapping[str, DeletionFile]]:
    """Return the deletion files of the latest state, even if some contradict each other."""
    found: dict[BucketId, dict[str, DeletionFile]] = {}
    for entry in chain.index:
        for vector in entry.index_file.deletion_vector_ranges or ():
            deletion = DeletionFile(_index_path(facts, entry), vector, entry.index_file.file_size)
            found.setdefault(entry.bucket_id, {})[vector.data_file] = deletion
    return found


def _in_this_process(facts: TableFacts, depth: Depth) -> Performer:
    return lambda pieces: in_threads(pieces, lambda work: (check_work(facts, work, depth),))


def _still_found(facts: TableFacts, findings: Sequence[Finding], wanted: Callable[[bytes], bool]) -> list[Finding]:
    """Return the findings that occur again: the others were caused by a concurrent change."""
    again, found = _branches(replace(facts))
    found += [finding for branch in again.values() for finding in _of_chain(branch, read_chain(branch), wanted)]
    return [finding for finding in findings if finding in set(found)]


def _still_reached(facts: TableFacts, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings whose files are still referenced. Names contain UUIDs, so a name identifies a file."""
    branches, _ = _branches(replace(facts))
    names: set[str] = set()
    for branch in branches.values():
        chain = read_chain(branch)
        names |= chain.index_files.keys()
        names |= {name for files in chain.files.values() for file in files.values() for name in _names(file)}
    return [finding for finding in findings if base_name(finding.path) in names]


def _names(file: DataFileMeta) -> tuple[str, ...]:
    return (file.file_name, *file.extra_files)


def _partition_test(facts: TableFacts, partitions: Sequence[Mapping[str, object]] | None) -> Callable[[bytes], bool]:
    if partitions is None:
        return lambda _partition: True
    specs = [partition_spec(facts.schema, partition) for partition in mappings(partitions, "partitions")]
    return facts.partitions.test(specs)
