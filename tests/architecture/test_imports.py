"""How modules may import one another, where the import contracts of pyproject.toml cannot say it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

LATE_IMPORTS = {
    "numba": "small inputs must not pay for the compiler",
    "datasketches": "only columns with sketches need it",
    "pyspark.logger": "the command line starts Spark for one of its commands",
    "pyspark.errors": "the command line starts Spark for one of its commands",
    "pyspark.sql": "the command line starts Spark for one of its commands",
    "pyarrow.dataset": "few ORC files need it, and importing it takes longer than opening a table",
    "pyarrow.ArrowException": "the help of the command line needs no Arrow",
    "pyspark.daemon": "the archive of PySpark must leave the path before",
    "table_format.FormatTable": "the help of the command line needs no tables",
    "table_format.Table": "the help of the command line needs no tables",
    "table_format.ViewCatalog": "the help of the command line needs no catalog",
    "table_format.load_catalog": "the help of the command line needs no catalog",
    "table_format.catalog.jdbc.lock_rows": "SQLAlchemy is an optional extra",
    "table_format.catalog.jdbc.rows": "SQLAlchemy is an optional extra",
    "table_format.catalog.jdbc.tables": "SQLAlchemy is an optional extra",
    "table_format.cli.program": "click and rich are an optional extra",
    "table_format.codecs.expression_sql": "the SQL parser takes longer to import than the rest of the library",
    "table_format.codecs.filter_sql": "the SQL parser takes longer to import than the rest of the library",
    "table_format.catalog.hive.type_text": "the SQL parser takes longer to import than the rest of the library",
    "table_format.codecs.spark_columns": "the SQL parser takes longer to import than the rest of the library",
    "table_format.duckdb_sql": "the command line starts DuckDB for one of its commands",
    "table_format.engine.support": "the help of the command line needs no catalog",
    "table_format.metastore.expiry.orphans": "only a writer whose commits have left the history needs it",
    "table_format.spark": "the command line starts Spark for one of its commands",
    "table_format.spark.write.cross_partition": "only keys that move between partitions need DuckDB",
    "table_format.table.read.polars_source": "only frames of polars need it, and Arrow's datasets take long to import",
    "table_format.table.read.scan_dataset": "Arrow's datasets take longer to import than a table takes to open",
    "table_format.table.placement.cross_partition": "only keys that move between partitions need DuckDB",
}
"""What functions of the library may import, and why their module does not."""


def contracts() -> dict[str, list[str]]:
    """The layers of each package that has a contract for its subpackages, from the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {
        container: contract["layers"]
        for contract in settings["contracts"]
        for container in contract.get("containers", [])
    }


def test_the_subpackages_of_the_table_lie_in_at_most_eight_layers() -> None:
    assert len(contracts()["table_format.table"]) <= 8


def test_functions_import_only_what_few_programs_need_and_what_is_slow_to_import() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "table_format").rglob("*.py")):
        for line, name in imports_in_functions(ast.parse(path.read_text())):
            found.setdefault(name, []).append(f"{path.relative_to(ROOT)}:{line}")
    assert {name: where for name, where in found.items() if name not in LATE_IMPORTS} == {}
    assert sorted(found) == sorted(LATE_IMPORTS), "a listed import is no longer in a function: take it off the list"


def imports_in_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of each module that a function imports."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in {inner: None for function in functions for inner in ast.walk(function)}:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "."
            # ``from pyarrow import dataset`` imports a module, ``from a.b import name`` most often a name of one.
            yield from ((node.lineno, f"{module}.{a.name}" if "." not in module else module) for a in node.names)
