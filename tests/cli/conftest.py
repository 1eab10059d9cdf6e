"""A shell for tests: runs ``lakehouse`` in this process on a warehouse in a directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from table_format import Catalog, Schema, Table, load_catalog
from table_format.cli.program import lakehouse


@dataclass(frozen=True)
class Shell:
    """Runs commands on one warehouse."""

    warehouse: Path

    @property
    def catalog(self) -> Catalog:
        return load_catalog({"warehouse": str(self.warehouse)})

    def run(self, *arguments: str, input: str | bytes | None = None) -> Result:
        """Run a command and return its result, whether it succeeded or failed."""
        return CliRunner().invoke(lakehouse, ["--warehouse", str(self.warehouse), *arguments], input=input)

    def __call__(self, *arguments: str, input: str | bytes | None = None) -> str:
        """Run a command that must succeed, and return its standard output."""
        result = self.run(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def error(self, *arguments: str, code: int = 1, input: str | None = None) -> str:
        """Run a command that must fail, and return its one line of error."""
        result = self.run(*arguments, input=input)
        assert result.exit_code == code, result.output
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: ")
        return line

    def table(self, name: str) -> Table:
        table = self.catalog.load_table(name)
        assert isinstance(table, Table)
        return table


ORDERS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("state", pa.string()), ("amount", pa.decimal128(10, 2))]
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A warehouse with the database ``shop``."""
    found = Shell(tmp_path / "warehouse")
    load_catalog({"warehouse": str(found.warehouse)}).create_database("shop")
    return found


@pytest.fixture
def orders(shell: Shell) -> Callable[..., Table]:
    """Return a function that creates ``shop.orders``, a table with a primary key, from the row count of each commit."""

    def made(*counts: int) -> Table:
        schema = Schema.from_arrow(ORDERS, primary_keys=["id"], options={"bucket": "1"})
        table = shell.catalog.create_table("shop.orders", schema)
        first = 0
        for count in counts:
            ids = list(range(first, first + count))
            table.append(pa.table({"id": ids, "state": ["new"] * count, "amount": [None] * count}, schema=ORDERS))
            first += count
        return table

    return made
