"""The file formats by name. The extension of a file names its format; options only choose the format of new files.

A new built-in format needs a module in this package, a line in ``_BUILT_IN``, and its facts in
``options/file_formats``. A program adds its own format with ``register_format``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Final, TypeGuard

import pyarrow as pa

from table_format.errors import InvalidData, InvalidInputError, UnsupportedFeature
from table_format.formats.avro import AvroFormat
from table_format.formats.orc import OrcFormat
from table_format.formats.parquet import ParquetFormat
from table_format.formats.protocol import ChecksValues, FileFormat
from table_format.model.types import DataField
from table_format.options.file_formats import FILE_FORMATS, FileFormatFacts
from table_format.registry import Registry

_BUILT_IN: Final[tuple[FileFormat, ...]] = (ParquetFormat(), OrcFormat(), AvroFormat())
FORMATS: Final = Registry("file format", _BUILT_IN, name_of=lambda file_format: file_format.identifier)


def register_format(file_format: FileFormat, facts: FileFormatFacts) -> None:
    """Register a file format for the tables of this process.

    Raises:
        AlreadyExistsError: a format of this name exists.
        InvalidInputError: the facts are those of another format.
    """
    if facts.name != file_format.identifier:
        message = f"file format '{file_format.identifier}': expected facts of this name, found those of '{facts.name}'"
        raise InvalidInputError(message)
    FORMATS.register(file_format)
    FILE_FORMATS.register(facts)


def format_of(name: str) -> FileFormat:
    """Return the format of a file name or identifier.

    >>> format_of("data-7f60b530-0.zstd.parquet").identifier, format_of("parquet").identifier
    ('parquet', 'parquet')

    Raises:
        UnsupportedFeature: this version neither reads nor writes the format.
    """
    identifier = name.rpartition(".")[2].lower()
    found = FORMATS.get(identifier)
    if found is None:
        feature = f"file format '{identifier}'"
        message = f"{name}: {feature} is not supported by this version; supported: {', '.join(sorted(FORMATS))}"
        raise UnsupportedFeature(feature, message)
    return found


def check_values(array: pa.Array, field: DataField, formats: Collection[str]) -> None:
    """Refuse a column with a value that files of one of the formats cannot store.

    Raises:
        InvalidData: names the column, the value and the format.
    """
    for name in formats:
        checking = FORMATS.get(name)
        if checking is not None and _checks_values(checking):
            try:
                checking.check_values(array, field.type)
            except InvalidData as error:
                message = f"column '{field.name}': {error}"
                raise InvalidData(message) from error


def _checks_values(file_format: FileFormat) -> TypeGuard[ChecksValues]:
    return _has_values_checked(type(file_format))


@cache
def _has_values_checked(kind: type) -> bool:
    # Comparing a type with a protocol takes longer than most checks, and this is asked for each column of each batch.
    return issubclass(kind, ChecksValues)
