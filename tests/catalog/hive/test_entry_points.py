"""The command line and Dagster open a catalog in a Hive metastore with the same options as the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from click.testing import CliRunner

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.selection import TableSelection
from table_format import Schema
from table_format.cli.program import lakehouse
from table_format.procedures.operations import InProcess
from table_format.procedures.run import run_procedure
from tests.support.hive_metastore import HiveMetastore, empty, listed
from tests.support.tables import keyed, rows_of

SETTINGS = """
metastore = "hive"
uri = "{uri}"
warehouse = "{directory}/warehouse"

[lock]
enabled = true
"""


def check_work_on_all_tables(shell: Callable[..., str], resource: LakehouseCatalog) -> None:
    """What does the same for all tables leaves out a format table, which has no snapshots."""
    catalog = resource.catalog()
    columns = pa.schema([("a", pa.int32())])
    catalog.create_table("shop.plain", Schema.from_arrow(columns, options={"type": "format-table"}))
    assert catalog.list_tables("shop") == ("plain", "u")
    assert shell("doctor").startswith("shop.u: ")
    assert shell("tables", "-l", "-f", "csv").splitlines()[1:] == [
        '"shop.plain",,,,,"format table"',
        '"shop.u","","",2,2,"table"',
    ]
    compacted = run_procedure(InProcess(catalog), "compact_database").to_pylist()
    assert compacted == [{"result": "Compact database finished. Success: 1, Failed: 0"}]
    run_procedure(InProcess(catalog), "remove_orphan_files", {"table": "shop.*"})
    assert TableSelection.of(["shop.*"]).existing(catalog) == ("shop.u",)
    catalog.drop_table("shop.plain")


def test_a_table_of_the_command_line_is_that_of_dagster(metastore: HiveMetastore, tmp_path: Path) -> None:
    config = tmp_path / "lakehouse.toml"
    config.write_text(SETTINGS.format(uri=metastore.uri, directory=tmp_path))

    def shell(*arguments: str) -> str:
        result = CliRunner().invoke(lakehouse, ["--config", str(config), *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    (tmp_path / "rows.csv").write_text("id,dt,v\n1,a,1\n")
    shell("init", "shop")
    columns = [part for column in ("id:BIGINT NOT NULL", "dt:STRING", "v:INT") for part in ("--column", column)]
    shell("create", "shop.t", *columns)
    shell("load", "shop.t", str(tmp_path / "rows.csv"))
    shell("rename", "shop.t", "shop.u")
    options = {"uri": metastore.uri}
    resource = LakehouseCatalog(warehouse=f"{tmp_path}/warehouse", metastore="hive", options=options)
    table = resource.table("shop.u")
    table.append(keyed([(2, "b", 2)]))
    assert rows_of(table) == [(1, "a", 1), (2, "b", 2)]
    assert listed(metastore, "shop.u").parameters["table_type"] == "PAIMON"
    check_work_on_all_tables(shell, resource)
    shell("drop", "shop.u", "--yes")
    shell("drop-database", "shop", "--yes")
    assert listed(metastore, "shop.u") is None
    empty(metastore)
