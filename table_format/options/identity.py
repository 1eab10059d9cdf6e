"""Options that only exist at CREATE: they become part of the schema or the location of the table."""

from __future__ import annotations

from table_format.options.declare import Option
from table_format.options.values import names, optional, text

PRIMARY_KEY = Option(
    "primary-key", names, (), "Primary key; moved to the schema when the table is created.", immutable=True
)
PARTITION = Option(
    "partition", names, (), "Partition columns; moved to the schema when the table is created.", immutable=True
)
PATH = Option("path", optional(text), None, "Location of the table. The catalog determines it; it is never stored.")
