"""Resources and secrets: no field accepts a secret that Dagster would store, and secrets in errors are masked."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pydantic import ValidationError

import definitions
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.resources.lakehouse import LakehouseCatalog, without_credentials
from dagster_paimon.resources.secrets import HIDES_INPUT, Guarded, redact_error, redacted_errors, without_wire_logs
from dagster_paimon.resources.spark import SparkMode, SparkResource, masking
from resources.landing import LandingZone
from table_format.errors import InvalidInputError
from table_format.secrets import Secret
from tests.secrets.test_patterns import SECRET_KEYS, TEXTS
from tests.support.canaries import canary, leaks, pickled, texts_of

# What is beta is filtered by definitions.py; pytest sets filters of its own for each test.
pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

HUSH = canary("hush")
URI = f"s3://key:{HUSH}@bucket/warehouse"
CONNECT = f"sc://host:15002/;token={HUSH};user_id=7"
REQUIRED: dict[type, dict[str, Any]] = {
    LakehouseCatalog: {"warehouse": "/w"},
    LandingZone: {"path": "/w"},
    SparkResource: {"mode": SparkMode.connect},
}


def kinds(of: type[Guarded] = Guarded) -> Iterator[type[Guarded]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


FIELDS = [(kind, name) for kind in kinds() for name in kind.model_fields]


def refusal(kind: type[Guarded], **given: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        kind(**{**REQUIRED.get(kind, {}), **given})
    return texts_of(refused.value)


def test_every_resource_of_the_project_keeps_secrets_out() -> None:
    resources = definitions.defs.resources or {}
    for name, resource in resources.items():
        guarded = isinstance(resource, Guarded)
        assert guarded or isinstance(resource, PaimonIOManager), name
        assert resource.model_config["hide_input_in_errors"] == HIDES_INPUT["hide_input_in_errors"]


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_no_field_of_a_resource_accepts_a_literal_secret(kind: type[Guarded], name: str) -> None:
    annotation = kind.model_fields[name].annotation
    given: list[Any] = [text.format(HUSH) for text in TEXTS]
    if annotation == dict[str, str]:
        given = [{"note": text} for text in given] + [{key: HUSH} for key in SECRET_KEYS]
        given += [{f"s3://k:{HUSH}@b": "x"}]
    for value in given:
        assert not leaks(refusal(kind, **{name: value}), HUSH)


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k, n in FIELDS if k.model_fields[n].annotation is str])
def test_a_secret_from_the_environment_is_not_stored(
    kind: type[Guarded], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", CONNECT)
    if name not in kind.may_hold_secret:
        assert not leaks(refusal(kind, **{name: CONNECT}), HUSH)
        return
    # Dagster creates the resource again with the value of the variable.
    made = kind(**{**REQUIRED.get(kind, {}), name: CONNECT})
    again = made._with_updated_values({name: CONNECT})
    for resource in (made, again, copy.copy(again)):
        shown = repr(resource) + str(resource.model_dump()) + repr(getattr(resource, name))
        assert not leaks(shown, HUSH)
        assert not leaks(pickled(dict(vars(resource))), HUSH)
        assert getattr(resource, name).get_value() == CONNECT


@pytest.mark.parametrize("value", [HUSH, "hunter2", "AKIAIOSFODNN7EXAMPLE", f"A={HUSH}", "lower_case"])
@pytest.mark.parametrize(("kind", "name"), [(LakehouseCatalog, "secret_options"), (SparkResource, "secret_conf")])
def test_a_secret_in_place_of_the_name_of_a_variable_is_not_repeated(
    kind: type[Guarded], name: str, value: str
) -> None:
    shown = refusal(kind, **{name: {"jdbc.password": value}})
    assert "jdbc.password: expected the NAME of an environment variable" in shown
    assert value not in shown


def test_secret_options_of_the_catalog_are_of_type_secret() -> None:
    lakehouse = LakehouseCatalog(warehouse="/w", secret_options={"jdbc.password": "SHOP_PASSWORD"})
    options = lakehouse.catalog_options({"SHOP_PASSWORD": HUSH})
    assert options["jdbc.password"] == Secret(HUSH)
    assert not leaks(repr(options), HUSH)


def test_the_connect_url_is_logged_without_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_URL", CONNECT)
    spark = SparkResource(mode=SparkMode.connect, remote=dg.EnvVar("SHOP_URL"))
    said: list[str] = []
    asked: list[str] = []

    def fail(resource: SparkResource) -> None:
        asked.append(resource.remote.get_value())  # type: ignore[attr-defined]
        try:
            raise OSError(2, f"cannot reach {CONNECT}", CONNECT)
        except OSError as error:
            message = f"the server said {HUSH.encode().hex()}"
            raise RuntimeError(message) from error

    monkeypatch.setattr(SparkResource, "_make", fail)
    with pytest.raises(RuntimeError, match="the server said") as failed:
        spark.session(said.append)
    assert asked == [CONNECT]
    assert said[0].startswith("starting Spark (connect: sc://host:15002/;token=******;user_id=7)")
    assert not leaks(texts_of(failed.value) + "".join(said), HUSH)
    assert isinstance(failed.value.__cause__, OSError)


def test_an_error_while_opening_a_catalog_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(options: dict[str, Any]) -> None:
        raise OSError(13, f"the store refused {options['jdbc.password'].reveal().encode().hex()}")

    monkeypatch.setenv("SHOP_PASSWORD", HUSH)
    monkeypatch.setattr("dagster_paimon.resources.lakehouse.load_catalog", fails)
    lakehouse = LakehouseCatalog(warehouse="/w", secret_options={"jdbc.password": "SHOP_PASSWORD"})
    with pytest.raises(OSError, match="the store refused") as failed:
        lakehouse.catalog()
    assert not leaks(texts_of(failed.value), HUSH)


class FromElsewhere(Exception):
    """An error that builds its text itself, like errors of a JVM."""

    def __str__(self) -> str:
        return f"no access to {URI}"


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    url: str


def errors() -> list[BaseException]:
    group = ExceptionGroup("several", [ValueError(URI), KeyError(URI)])
    noted = ValueError("bad")
    noted.add_note(f"while opening {URI}")
    ours = InvalidInputError("bad")
    ours.args = (URI,)
    carrying = RuntimeError("bad")
    carrying.parameters = {"url": [URI, (URI,)]}  # type: ignore[attr-defined]
    return [
        ValueError(URI),
        KeyError(URI),
        OSError(2, URI, URI),
        FileNotFoundError(2, "no such file", f"/tmp/token={HUSH}"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, URI),
        FromElsewhere(),
        group,
        noted,
        ours,
        carrying,
        ValueError("reply", [{"x": HUSH}]),
    ]


@pytest.mark.parametrize("number", range(len(errors())))
@pytest.mark.parametrize("place", ["itself", "cause", "context"])
def test_secrets_in_an_error_are_masked_and_its_class_is_kept(number: int, place: str) -> None:
    error = errors()[number]
    kind, raised = type(error), error
    if place != "itself":
        raised = RuntimeError("around it")
        raised.__cause__, raised.__context__ = (error, None) if place == "cause" else (None, error)
    with pytest.raises(type(raised)) as failed, redacted_errors([Secret(HUSH)]):
        raise raised
    assert failed.value is raised
    assert isinstance(error, kind)
    assert not leaks(texts_of(failed.value), HUSH)


def test_secrets_in_an_immutable_error_are_masked() -> None:
    error = Frozen(URI)
    redact_error(error)
    assert not leaks(texts_of(error), HUSH)
    assert isinstance(error, Frozen)


def test_an_error_without_a_secret_is_not_changed() -> None:
    error = ValueError("plain", 1, None)
    error.__cause__ = KeyError("plain")
    redact_error(error, (Secret(HUSH),))
    assert (error.args, str(error.__cause__), type(error)) == (("plain", 1, None), "'plain'", ValueError)


def test_a_cyclic_chain_of_errors_is_handled() -> None:
    first, second = ValueError(URI), ValueError(URI)
    first.__context__, second.__context__ = second, first
    redact_error(first)
    assert not leaks(f"{first} {second}", HUSH)


def test_data_sent_to_the_jvm_is_not_logged() -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    wire = logging.getLogger("py4j.clientserver")
    wire.addHandler(handler)
    wire.setLevel(logging.DEBUG)
    try:
        with without_wire_logs():
            wire.debug("Command to send: %s", HUSH)
            wire.warning("the connection was lost")
        wire.debug("and on")
    finally:
        wire.removeHandler(handler)
        wire.setLevel(logging.NOTSET)
    assert lines == ["the connection was lost", "and on"]


def test_masking_patterns_are_added_to_those_of_the_user() -> None:
    ours = masking({})
    joined = masking({"spark.redaction.regex": "(?i)shop"})
    assert joined["spark.redaction.regex"] == f"(?:(?i)shop)|{ours['spark.redaction.regex']}"
    assert SparkResource().settings({}).items() >= ours.items()


def test_a_location_is_shown_without_credentials(tmp_path: Path) -> None:
    assert not leaks(without_credentials(f"{URI}?token={HUSH}"), HUSH)
    assert without_credentials(str(tmp_path)) == str(tmp_path)
