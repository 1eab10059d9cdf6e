"""The wheel alone is enough for README's example; each extra brings what it is for, and nothing of the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from table_format.extras import EXTRAS
from tests.support.foreign_project import ForeignEnvironment, declared_extras, environment_with, link_extra
from tests.support.s3_server import running_s3
from tests.wheel.examples import LIBRARY, MISSING, ROWS, SHOW, USES

BROUGHT = {
    "": frozenset[str](),
    "cli": frozenset({"click", "rich"}),
    "connect": frozenset({"pyspark", "pandas", "grpc"}),
    "dagster": frozenset({"dagster", "click", "rich", "grpc", "sqlalchemy", "urllib3"}),
    "duckdb": frozenset({"duckdb"}),
    "hive": frozenset({"thriftpy2"}),
    "hdfs": frozenset({"urllib3"}),
    "jdbc": frozenset({"psycopg", "pymysql", "sqlalchemy"}),
    "pandas": frozenset({"pandas"}),
    "polars": frozenset({"polars"}),
    "rest": frozenset({"urllib3"}),
    "s3": frozenset({"obstore"}),
    "spark": frozenset({"pyspark", "pandas"}),
}
"""The packages of extras that each extra installs."""


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> ForeignEnvironment:
    """An environment with the core dependencies, in which README's example has run."""
    environment = environment_with(wheel, tmp_path_factory.mktemp("core"), extras=[])
    environment.run(str(environment.python), "-c", LIBRARY, cwd=environment.root)
    return environment


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    with running_s3() as server:
        server.make_bucket("wheel")
        yield server.endpoint


def test_each_extra_has_a_use_here(wheel: Path) -> None:
    assert set(BROUGHT) == set(USES)
    assert {*USES, "all", "azure", "frames", "gcs", "java", "oss"} - {""} == declared_extras(wheel)


@pytest.mark.parametrize("extra", sorted(USES))
def test_after_readmes_example_an_extra_brings_its_use_and_errors_name_the_extras_that_are_missing(
    core: ForeignEnvironment, wheel: Path, tmp_path: Path, s3_endpoint: str, extra: str
) -> None:
    link_extra(wheel, extra, tmp_path)
    uses = [use.code for use in USES[extra] if use.brief]
    program = "\n".join([SHOW, *uses, MISSING])
    shown = core.root / "shown.jsonl"
    shown.unlink(missing_ok=True)
    core.run(str(core.python), "-c", program, cwd=core.root, PYTHONPATH=str(tmp_path), S3_ENDPOINT=s3_endpoint)
    *rows, errors = shown.read_text().splitlines()
    assert rows == [json.dumps(ROWS)] * len(uses)
    assert json.loads(errors) == {
        package: f"{package} is not installed: pip install 'paimon-lakehouse[{brings}]'"
        for package, brings in EXTRAS.items()
        if package not in BROUGHT[extra]
    }
