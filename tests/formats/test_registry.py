"""File formats by name: those of the library, and one that a program registers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import table_format
from table_format.errors import AlreadyExistsError, BadEncoding, InvalidInputError, UnsupportedFeature
from table_format.formats.protocol import FormatReader, FormatWriter, RowGroupFilter, WrittenFile
from table_format.formats.registry import FORMATS, register_format
from table_format.kernels.statistics import column_bounds
from table_format.model.types import DataField
from table_format.options.file_formats import FILE_FORMATS, FileFormatFacts
from table_format.options.files import FileOptions
from tests.support.registries import forgotten_again
from tests.support.tables import keyed, memory_warehouse, rows_of

FACTS = FileFormatFacts("feather", "Feather", ("zstd", "none"))


class FeatherWriter:
    """Rows as an Arrow IPC file, written when it is closed."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField]) -> None:
        self._sink, self._fields = sink, fields
        self._batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)

    def reaches(self, target_bytes: int) -> bool:
        return sum(batch.nbytes for batch in self._batches) >= target_bytes

    def close(self) -> WrittenFile:
        rows = pa.Table.from_batches(self._batches)
        with pa.ipc.new_file(self._sink, rows.schema) as file:
            file.write_table(rows)
        bounds = tuple(
            column_bounds(rows.column(i).combine_chunks(), field.type) for i, field in enumerate(self._fields)
        )
        return WrittenFile(rows.num_rows, self._sink.tell(), bounds)

    def discard(self) -> None:
        self._batches.clear()


class FeatherReader:
    """Rows of an Arrow IPC file."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        try:
            self._rows = pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid as error:
            raise BadEncoding(path, "not a Feather file") from error

    @property
    def row_count(self) -> int:
        return self._rows.num_rows

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(self._rows.schema.names)

    def batches(
        self, fields: Sequence[DataField], *, row_groups: RowGroupFilter | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        yield from self._rows.select([f.name for f in fields]).to_batches(max_chunksize=batch_rows)


class Feather:
    """A format that this library does not have."""

    identifier = "feather"

    def open_writer(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> FormatWriter:
        return FeatherWriter(sink, fields)

    def open_reader(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> FormatReader:
        return FeatherReader(source, path)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with forgotten_again(FORMATS, FILE_FORMATS):
        yield


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "primary key"])
def test_tables_of_a_registered_format_are_written_read_and_compacted(keys: tuple[str, ...]) -> None:
    register_format(Feather(), FACTS)
    warehouse = memory_warehouse()
    table = warehouse.table("t", primary_keys=keys, options={"file.format": "feather"})
    table.append(keyed([(1, "a", 1), (2, "a", 2)]))
    table.append(keyed([(3, "a", 3)]))
    table.compact(full=True)
    assert rows_of(table, filter="v > 1") == [(2, "a", 2), (3, "a", 3)]
    data = [name for name in warehouse.files(table) if "bucket-" in name]
    assert all(name.endswith(".feather") for name in data)


def test_a_compression_that_the_format_lacks_is_refused() -> None:
    register_format(Feather(), FACTS)
    with pytest.raises(UnsupportedFeature, match="compression of feather files = 'snappy' is not supported"):
        memory_warehouse().table("t", options={"file.format": "feather", "file.compression": "snappy"})


def test_files_of_a_format_that_is_not_registered_here_are_refused_by_its_name() -> None:
    warehouse = memory_warehouse()
    with forgotten_again(FORMATS, FILE_FORMATS):
        register_format(Feather(), FACTS)
        table = warehouse.table("t", options={"file.format": "feather"})
        table.append(keyed([(1, "a", 1)]))
    with pytest.raises(UnsupportedFeature, match="file format 'feather' is not supported by this version; supported"):
        rows_of(table)
    with pytest.raises(UnsupportedFeature, match=r"'file\.format' = 'feather' is not supported"):
        table.append(keyed([(2, "a", 1)]))


def test_a_format_is_registered_once_and_under_its_own_name() -> None:
    register_format(Feather(), FACTS)
    with pytest.raises(AlreadyExistsError, match="file format 'feather' already exists"):
        register_format(Feather(), FACTS)
    with pytest.raises(InvalidInputError, match="expected facts of this name, found those of 'avro'"):
        register_format(Feather(), FILE_FORMATS["avro"])


def test_options_and_code_know_the_same_formats() -> None:
    assert list(FORMATS) == list(FILE_FORMATS)


KNOWS_A_NAME = {
    "options/files.py",  # the options of single formats, and the default
    "options/file_formats.py",  # the declarations
    "options/preconditions.py",  # what the options of single formats need
    "options/manifest.py",  # formats of manifests, which are no data files
    "options/changelog.py",  # an example
    "codecs/schema_json.py",  # the default of tables of the first schema version
    "io/paths.py",  # examples
    "options/format_table.py",  # the files of format tables, which have formats of their own
    "catalog/hive/format_entries.py",  # the names that Hive has for these
}


def test_only_formats_and_options_depend_on_the_name_of_a_format() -> None:
    root = Path(table_format.__file__).parent
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).as_posix()
        if inside.startswith(("formats/", "format_table/", "spark/", "cli/")) or inside in KNOWS_A_NAME:
            continue
        texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert not texts & set(FILE_FORMATS), f"{inside} names a file format"
