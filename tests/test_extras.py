"""The library works with its core dependencies alone, and names the extra that brings what is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from table_format.errors import PackageMissing
from table_format.extras import EXTRAS, require

ROOT = Path(__file__).parents[1]

WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import pyarrow as pa
from table_format import Schema, load_catalog
from table_format.errors import PackageMissing

def refused(call):
    try:
        call()
    except PackageMissing as error:
        print(error)

catalog = load_catalog({{"warehouse": sys.argv[1]}})
catalog.create_database("shop")
columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("day", pa.string(), nullable=False)])
table = catalog.create_table("shop.a", Schema.from_arrow(columns, primary_keys=["id"], options={{"bucket": "1"}}))
rows = pa.table({{"id": [1, 2], "day": ["x", "y"]}}, schema=columns)
table.append(rows)
table.append(rows)
table.compact(full=True)
print(table.scan(filter="id = 1").to_arrow().to_pylist())
for method in ("to_pandas", "to_polars", "to_polars_lazy", "to_duckdb"):
    refused(getattr(table.scan(), method))
moving = catalog.create_table("shop.b", Schema.from_arrow(columns, primary_keys=["id"], partition_keys=["day"]))
refused(lambda: moving.append(rows))
refused(lambda: __import__("table_format.spark"))
refused(lambda: __import__("dagster_paimon"))
refused(lambda: load_catalog({{"warehouse": "s3://bucket/warehouse"}}))
refused(lambda: load_catalog({{"warehouse": sys.argv[1], "metastore": "jdbc", "uri": "jdbc:sqlite:names.db"}}))
refused(lambda: load_catalog({{"warehouse": sys.argv[1], "metastore": "hive", "uri": "thrift://127.0.0.1:1"}}))
rest = {{"metastore": "rest", "uri": "http://127.0.0.1:1", "token.provider": "bear", "token": "x"}}
refused(lambda: load_catalog({{"warehouse": "lake", **rest}}))
"""

PRINTED = """\
[{'id': 1, 'day': 'x'}]
pandas is not installed: pip install 'paimon-lakehouse[pandas]'
polars is not installed: pip install 'paimon-lakehouse[polars]'
polars is not installed: pip install 'paimon-lakehouse[polars]'
duckdb is not installed: pip install 'paimon-lakehouse[duckdb]'
duckdb is not installed: pip install 'paimon-lakehouse[duckdb]'
pyspark is not installed: pip install 'paimon-lakehouse[spark]'
dagster is not installed: pip install 'paimon-lakehouse[dagster]'
obstore is not installed: pip install 'paimon-lakehouse[s3]'
sqlalchemy is not installed: pip install 'paimon-lakehouse[jdbc]'
thriftpy2 is not installed: pip install 'paimon-lakehouse[hive]'
urllib3 is not installed: pip install 'paimon-lakehouse[rest]'
"""


def test_without_extras_tables_are_written_compacted_and_read_and_each_missing_package_is_one_line(
    tmp_path: Path,
) -> None:
    code = WITHOUT_EXTRAS.format(extras=set(EXTRAS))
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == PRINTED, done.stderr


def test_each_extra_that_an_error_names_is_declared_and_brings_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert any(requirement.startswith(package) for requirement in declared[extra])


def test_no_extra_is_among_the_core_dependencies() -> None:
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert not [requirement for requirement in core if requirement.startswith(tuple(EXTRAS))]


def test_a_package_that_is_installed_and_lacks_another_one_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "polars.py").write_text("import not_there")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    with pytest.raises(ModuleNotFoundError, match="not_there") as found:
        require("polars")
    assert not isinstance(found.value, PackageMissing)
