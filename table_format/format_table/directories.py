"""The directories and files of a format table: partitions are the directories ``dt=2026-01-01/hh=1`` that exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa

from table_format.errors import InvalidData
from table_format.format_table.text_values import from_text
from table_format.io.file_io import FileIO
from table_format.io.partition_path import check_new_partition, partition_text
from table_format.kernels.predicate import in_partition, normalise
from table_format.kernels.values import values_of
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.model.arrow_calls import arrow_array
from table_format.model.predicate import Literal, Predicate
from table_format.model.types import DataField, InternalValue
from table_format.options.format_table import HIVE_NULL_PARTITION, FormatTableOptions


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """A directory, and the values of the partition columns in it. A table without partitions has one, its own."""

    path: str
    values: tuple[InternalValue, ...]


@dataclass(frozen=True, slots=True)
class Directories:
    """The directories of a table below its ``root``."""

    io: FileIO
    root: str
    partition_fields: Sequence[DataField]
    options: FormatTableOptions

    def find(self, condition: Predicate | None = None) -> Iterator[PartitionDirectory]:
        """Yield the partitions whose values may fulfil a condition, in the order of their names.

        Directories whose names have another form are left out. Those that the condition excludes are not listed.

        Raises:
            InvalidData: the name of a directory is not a value of its column.
        """
        yield from self._below(PartitionDirectory(self.root, ()), None if condition is None else normalise(condition))

    def files(self, directory: str) -> Iterator[str]:
        """Yield the files of a directory and of those in it, except hidden ones, whose names start with ``_`` or a
        dot.
        """
        for child in self.io.list(directory):
            if not is_hidden(child.name) and not child.is_special:
                path = f"{directory}/{child.name}"
                if child.is_directory:
                    yield from self.files(path)
                else:
                    yield path

    def is_in(self, values: Sequence[InternalValue], spec: PartitionSpec) -> bool:
        """Return whether a partition has the values of a specification, which may lack columns."""
        return all(v == spec[f.name] for f, v in zip(self.partition_fields, values, strict=True) if f.name in spec)

    def of_partition(self, values: Sequence[InternalValue]) -> str:
        """Return the name of the directory for new rows of a partition, below the table.

        Raises:
            InvalidData: a value cannot be part of a name.
        """
        options, fields = self.options, self.partition_fields
        text = partition_text(
            fields, values, default_name=options.partition_default_name, legacy=options.partition_legacy_name
        )
        check_new_partition(fields, text)
        if not options.only_values_in_path:
            return text
        return "/".join(part.partition("=")[2] for part in text.split("/"))

    def _below(self, directory: PartitionDirectory, condition: Predicate | None) -> Iterator[PartitionDirectory]:
        depth = len(directory.values)
        if depth == len(self.partition_fields):
            yield directory
            return
        field = self.partition_fields[depth]
        for child in self.io.list(directory.path):
            text = self._value_text(child.name, field) if child.is_directory else None
            if text is None:
                continue
            path = f"{directory.path}/{child.name}"
            value = self._value(text, field, path)
            rest = None if condition is None else in_partition(condition, [field], [value])
            if not (isinstance(rest, Literal) and not rest.value):
                yield from self._below(PartitionDirectory(path, (*directory.values, value)), rest)

    def _value_text(self, name: str, field: DataField) -> str | None:
        """Return the value in the name of a directory; ``None`` if it is not that of a partition."""
        if self.options.only_values_in_path:
            return None if is_hidden(name) and name not in self._names_of_null else unquote(name)
        key, equals, value = name.partition("=")
        return unquote(value) if equals and value and unquote(key).lower() == field.name.lower() else None

    def _value(self, text: str, field: DataField, path: str) -> InternalValue:
        if text in self._names_of_null:
            return None
        try:
            array, misfits = from_text(arrow_array([text], pa.string()), field.type)
        except InvalidData as error:
            message = f"{path}: {error}"
            raise InvalidData(message) from error
        if misfits is not None:
            message = (
                f"{path}: {text!r} is not a value of the partition column '{field.name}', which is {field.type}; "
                "rename or delete the directory"
            )
            raise InvalidData(message)
        return values_of(array, field.type)[0]

    @property
    def _names_of_null(self) -> tuple[str, ...]:
        return (self.options.partition_default_name, HIVE_NULL_PARTITION)


def is_hidden(name: str) -> bool:
    """Return whether readers skip a file or a directory.

    >>> [is_hidden(name) for name in ("_SUCCESS", ".data.csv.crc", "data.csv")]
    [True, True, False]
    """
    return name.startswith(("_", "."))
