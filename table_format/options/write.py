"""How rows are buffered before they become files."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MIB
from table_format.options.declare import Option
from table_format.options.values import size

BUFFER_SIZE = Option(
    "write-buffer-size",
    size(1),
    256 * MIB,
    "Bytes of rows kept in memory before they are sorted and written.",
)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How much a writer buffers; sizes are bytes."""

    buffer_size: int = BUFFER_SIZE.field()
