"""Metadata keys: those of this package, and those of similar integrations, which are supported or refused by name."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon.io.spec import INSTEAD, INSTEAD_FOR_INPUT, ReadSpec, WriteMode, WriteSpec
from table_format.errors import InvalidInputError
from tests.support.dagster_project import Project


def spec(**metadata: Any) -> WriteSpec:
    return WriteSpec.of("lab.t", metadata, WriteMode.append)


@pytest.mark.parametrize("key", sorted(INSTEAD))
def test_an_unsupported_key_is_refused_with_the_alternative(key: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'{key}' has no effect.*{INSTEAD[key][:20]}"):
        spec(**{key: "x"})


@pytest.mark.parametrize("key", sorted(INSTEAD_FOR_INPUT))
def test_an_unsupported_key_of_an_input_is_refused(key: str) -> None:
    with pytest.raises(InvalidInputError, match=f"input 'rows'.*'{key}' has no effect"):
        ReadSpec.of("rows", {key: "x"})


def test_an_unknown_key_of_an_input_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"paimon/raed: expected one of paimon/read"):
        ReadSpec.of("rows", {"paimon/raed": "latest"})


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("write_mod", "write_mode"),
        ("partition_exp", "partition_expr"),
        ("table_property", "table_properties"),
        ("primary_key", "paimon/primary_key"),
        ("row_partitions", "paimon/row_partition"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_likely_key(key: str, meant: str) -> None:
    with pytest.raises(InvalidInputError, match=f"the metadata key '{key}' has no effect; is {meant} meant"):
        spec(**{key: "x"})


def test_a_misspelt_key_of_an_input_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'colums' has no effect; is columns meant"):
        ReadSpec.of("rows", {"colums": ["a"]})


def test_other_metadata_is_ignored() -> None:
    own = dict.fromkeys(
        ["model", "comment", "options", "partition_count", "dashboard", "dagster/uri", "team/mode"], "x"
    )
    assert spec(**own) == spec()


@pytest.mark.parametrize(
    ("metadata", "mode"),
    [
        ({"write_mode": "append"}, WriteMode.append),
        ({"write_mode": "upsert"}, WriteMode.upsert),
        ({"write_mode": "overwrite"}, WriteMode.overwrite_table),
        ({"mode": "overwrite", "partition_expr": "dt"}, WriteMode.overwrite_partition),
        ({"write_mode": "overwrite", "paimon/write_mode": "delete"}, WriteMode.delete),
    ],
)
def test_write_modes_of_other_integrations_are_understood(metadata: dict[str, Any], mode: WriteMode) -> None:
    assert spec(**metadata).mode is mode


@pytest.mark.parametrize("mode", ["error", "ignore", "create_or_replace"])
def test_an_unsupported_write_mode_is_refused(mode: str) -> None:
    with pytest.raises(InvalidInputError, match=f"mode '{mode}': expected append, overwrite or upsert"):
        spec(mode=mode)


def test_upsert_options_are_the_primary_key() -> None:
    options = {"join_cols": ["a", "b"], "when_matched_update_all": True}
    assert spec(write_mode="upsert", upsert_options=options).primary_key == ("a", "b")
    with pytest.raises(InvalidInputError, match=r"when_matched_update_all = False.*first-row"):
        spec(upsert_options={**options, "when_matched_update_all": False})
    with pytest.raises(InvalidInputError, match="join by a, b, paimon/primary_key is a"):
        spec(upsert_options=options, **{"paimon/primary_key": "a"})


def test_table_properties_are_options_and_paimon_options_take_precedence() -> None:
    found = spec(table_properties={"bucket": 3, "file.format": "orc"}, **{"paimon/options": {"bucket": 4}})
    assert found.options == {"bucket": "4", "file.format": "orc"}


@pytest.mark.parametrize(("mode", "widens"), [("error", False), ("update", True)])
def test_the_schema_update_mode_is_that_of_the_asset(mode: str, widens: bool) -> None:
    assert spec(schema_update_mode=mode).widens is widens


def test_custom_metadata_are_properties_of_the_snapshot(project: Project) -> None:
    @dg.asset(
        key=["lab", "t"],
        io_manager_key="paimon_io",
        metadata={"custom_metadata": {"ticket": "LAB-7"}},
        owners=["team:lab"],
        tags={"tier": "gold"},
        code_version="12",
    )
    def t() -> pa.Table:
        return pa.table({"n": [1]})

    result = project.run(t)
    (snapshot,) = project.table("lab.t").snapshots()
    wanted = {
        "ticket": "LAB-7",
        "dagster.owners": "team:lab",
        "dagster.tag.tier": "gold",
        "dagster.code_version": "12",
        "dagster.run_id": result.run_id,
    }
    assert wanted.items() <= snapshot.properties.items()
    (event,) = result.asset_materializations_for_node("lab__t")
    assert event.metadata["paimon/run"] == dg.MetadataValue.dagster_run(result.run_id)
    assert f"/runs/{result.run_id}" in event.metadata["snapshots"].value


def test_the_schema_of_the_metadata_is_the_database(project: Project) -> None:
    seen: list[int] = []

    @dg.asset(key=["raw", "t"], io_manager_key="paimon_io", metadata={"schema": "lab"})
    def t() -> pa.Table:
        return pa.table({"n": [1]})

    @dg.asset(ins={"rows": dg.AssetIn(key=["raw", "t"])})
    def reader(rows: pa.Table) -> None:
        seen.append(rows.num_rows)

    project.run([t, reader])
    assert seen == [1]
    assert len(project.rows("lab.t")) == 1


def keyed(rows: Any, **metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(
        key=["lab", "keyed"],
        io_manager_key="paimon_io",
        metadata={"paimon/primary_key": "id", "paimon/options": {"bucket": "1"}, **metadata},
    )
    def table() -> pa.Table:
        return rows

    return table


def test_delete_removes_the_rows_with_the_keys_of_the_frame(project: Project) -> None:
    project.run(keyed(pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"]}), **{"paimon/write_mode": "upsert"}))
    project.run(keyed(pa.table({"id": [1, 3, 9]}), **{"paimon/write_mode": "delete"}))
    assert project.rows("lab.keyed") == [{"id": 2, "v": "b"}]


def test_a_delete_without_the_sequence_field_is_refused(project: Project) -> None:
    options = {"bucket": "1", "sequence.field": "v"}
    upsert = {"paimon/write_mode": "upsert", "paimon/options": options}
    project.run(keyed(pa.table({"id": [1], "v": [5]}), **upsert))
    with pytest.raises(dg.Failure, match="lacks v; a delete needs the keys and the sequence fields"):
        project.run(keyed(pa.table({"id": [1]}), **{**upsert, "paimon/write_mode": "delete"}))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"paimon/primary_key": (), "paimon/options": {}}, "delete needs a primary key, and the table has none"),
        ({"paimon/options": {"bucket": "1", "merge-engine": "first-row"}}, "rows cannot be deleted"),
    ],
)
def test_a_delete_from_a_table_that_removes_no_rows_is_refused(
    project: Project, metadata: dict[str, Any], message: str
) -> None:
    with pytest.raises(dg.Failure, match=message) as raised:
        project.run(keyed(pa.table({"id": [1], "v": ["a"]}), **{"paimon/write_mode": "delete", **metadata}))
    assert raised.value.allow_retries is False


def test_comments_follow_the_asset(project: Project) -> None:
    mode = {"paimon/write_mode": "upsert"}
    project.run(keyed(pa.table({"id": [1], "v": ["a"]}), **mode, **{"paimon/comments": {"v": "old"}}))
    result = project.run(keyed(pa.table({"id": [1], "v": ["a"]}), **mode, **{"paimon/comments": {"v": "a value"}}))
    assert project.table("lab.keyed").schema.field("v").description == "a value"
    (event,) = result.asset_materializations_for_node("lab__keyed")
    assert event.metadata["paimon/schema_changes"].value == "comment of v: a value"
    comments = {"paimon/comments": {"w": "added"}}  # which waits for its column
    project.run(keyed(pa.table({"id": [1], "v": ["a"]}), **mode, **comments))
    project.run(keyed(pa.table({"id": [1], "v": ["a"], "w": [1]}), **mode, **comments))
    assert project.table("lab.keyed").schema.field("w").description == "added"
    with pytest.raises(dg.Failure, match="branch name 'a/b' is not legal"):
        project.run(keyed(pa.table({"id": [1], "v": ["a"]}), **mode, **{"paimon/branch": "a/b"}))
    project.run(keyed(pa.table({"id": [1], "v": ["a"]}), **mode))
    assert project.table("lab.keyed").schema.field("v").description == "a value"
