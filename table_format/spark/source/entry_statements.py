"""Refuses statements of plain ``spark.sql`` that Spark would run on an entry of its catalog instead of on the table.

Spark does not ask the data source about them: the table would not change, or two entries would share one table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.spark.names import quoted
from table_format.spark.source.entries import names_table
from table_format.sql.reader import Reader, SqlName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BEGINNING: Final = re.compile(r"\b(ALTER\s+TABLE|COMMENT\s+ON|CREATE\b.*\bLIKE)\b", re.IGNORECASE | re.DOTALL)


def check_entry_statement(session: SparkSession, text: str) -> None:
    """Refuse a statement that would change or copy an entry.

    Raises:
        UnsupportedFeature: the message names the statement and the alternative.
    """
    found = entry_statement(text)
    if found is None:
        return
    clause, name = found
    try:
        columns = session.table(".".join(map(quoted, name.parts))).schema
    except AnalysisException:
        return  # Spark reports the error.
    if not names_table(columns):
        return
    feature = f"{clause} by spark.sql for the attached table '{name}'"
    message = f"{feature} is not supported: Spark would change only its own entry; use lake.sql with the same text"
    raise UnsupportedFeature(feature, message)


def entry_statement(text: str) -> tuple[str, SqlName] | None:
    """Return the first words of a statement on an entry, and the table that it names; ``None`` for other statements.

    >>> entry_statement("ALTER TABLE shop.t ADD COLUMN a INT")
    ('ALTER TABLE', SqlName(parts=('shop', 't'), start=12, end=18))
    >>> entry_statement("SELECT 'ALTER TABLE t'") is None
    True
    """
    if not isinstance(text, str) or _BEGINNING.search(text) is None:
        return None
    try:
        return _statement(Reader.of(text))
    except InvalidSql:
        return None  # Spark reports the error.


def _statement(reader: Reader) -> tuple[str, SqlName] | None:
    for clause in ("ALTER TABLE", "COMMENT ON TABLE"):
        if reader.take(*clause.split()):
            return clause, reader.qualified_name()
    if not reader.take("CREATE", "TABLE"):
        return None
    reader.take("IF", "NOT", "EXISTS")
    reader.qualified_name()
    if not reader.take("LIKE"):
        return None
    source = reader.qualified_name()
    # A statement with USING creates a table of another format.
    return None if any(word.says("USING") for word in reader.words) else ("CREATE TABLE ... LIKE", source)
