"""The command line and Dagster open a catalog in a Hive metastore with the same options as the library."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format.cli.program import lakehouse
from tests.support.hive_metastore import HiveMetastore, empty, listed
from tests.support.tables import keyed, rows_of

SETTINGS = """
metastore = "hive"
uri = "{uri}"
warehouse = "{directory}/warehouse"

[lock]
enabled = true
"""


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
    shell("drop", "shop.u", "--yes")
    shell("drop-database", "shop", "--yes")
    assert listed(metastore, "shop.u") is None
    empty(metastore)
