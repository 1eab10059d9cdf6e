"""Requests to a REST server: repetitions, errors, and what they carry."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import urllib3
from urllib3.exceptions import NewConnectionError, ProtocolError, ReadTimeoutError

from table_format.catalog.rest.client import RestClient
from table_format.catalog.rest.errors import RequestRefused, Unanswered
from table_format.errors import MetastoreUnavailable
from table_format.runtime import Runtime
from table_format.secrets import Secret
from tests.support.metastore_table import ManualClock

TOKEN = "hush-hush"  # noqa: S105 - of no server


def answer(status: int, body: str = "", **headers: str) -> urllib3.HTTPResponse:
    return urllib3.HTTPResponse(body.encode(), {k.replace("_", "-"): v for k, v in headers.items()}, status)


@dataclass
class Pool:
    """Connections to a server that gives these answers, in order, and records the requests."""

    answers: list[urllib3.HTTPResponse | Exception]
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def request(self, method: str, url: str, *, headers: dict[str, str], **_: Any) -> urllib3.HTTPResponse:
        self.requests.append((method, url))
        self.headers = headers
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client(clock: ManualClock) -> RestClient:
    return RestClient(
        "http://server:80/base", Secret(TOKEN), (("x-name", Secret("lake")),), "a/b", Runtime(clock=clock)
    )


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Pool]:
    def begin(*answers: urllib3.HTTPResponse | Exception) -> Pool:
        pool = Pool(list(answers))
        monkeypatch.setattr(RestClient, "_pool", pool)
        return pool

    return begin


def reset() -> Exception:
    return ProtocolError("Connection aborted.", ConnectionResetError(104, "Connection reset by peer"))


def test_a_request_carries_the_headers_and_names_have_any_characters(
    client: RestClient, answering: Callable[..., Pool]
) -> None:
    pool = answering(answer(200, '{"name": "x"}'), answer(204))
    assert client.get("databases", "a b/c", pageToken="x&y") == {"name": "x"}
    assert client.post("tables", "rename", body={}) == {}
    assert pool.requests == [
        ("GET", "http://server:80/base/v1/a%2Fb/databases/a+b%2Fc?pageToken=x%26y"),
        ("POST", "http://server:80/base/v1/a%2Fb/tables/rename"),
    ]
    assert pool.headers == {
        "Authorization": f"Bearer {TOKEN}",
        "x-name": "lake",
        "Content-Type": "application/json",
    }


def test_a_list_is_read_to_its_last_page(client: RestClient, answering: Callable[..., Pool]) -> None:
    pages = [
        '{"tables": ["a", "b"], "nextPageToken": "b"}',
        '{"tables": ["c"], "nextPageToken": "c"}',
        '{"tables": []}',
    ]
    pool = answering(*(answer(200, page) for page in pages))
    assert list(client.listed("tables", "tables")) == ["a", "b", "c"]
    assert [url.partition("?")[2] for _, url in pool.requests] == ["", "pageToken=b", "pageToken=c"]
    answering(answer(200, '{"tables": null, "nextPageToken": null}'))
    assert list(client.listed("tables", "tables")) == []


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_busy_server_is_asked_again_after_the_time_that_it_says(
    client: RestClient, clock: ManualClock, answering: Callable[..., Pool], method: str
) -> None:
    answering(answer(503, Retry_After="7"), answer(429, Retry_After="soon"), answer(503), answer(200, "{}"))
    assert client.send(method, ("databases",)) == {}
    assert clock.slept[0] == 7000
    assert 2000 <= clock.slept[1] <= 2200
    assert 4000 <= clock.slept[2] <= 4400


def test_a_server_that_stays_busy_is_asked_six_times(
    client: RestClient, clock: ManualClock, answering: Callable[..., Pool]
) -> None:
    pool = answering(*(answer(503, '{"message": "later", "code": 503}') for _ in range(7)))
    with pytest.raises(Unanswered, match=r"GET http://server:80/base/v1/a%2Fb/databases: 503 Unavailable: later$"):
        client.get("databases")
    assert (len(pool.requests), len(clock.slept)) == (6, 5)


def test_a_request_is_not_repeated_after_the_time_at_which_it_is_given_up(
    client: RestClient, clock: ManualClock, answering: Callable[..., Pool]
) -> None:
    pool = answering(*(answer(503) for _ in range(3)))
    with pytest.raises(Unanswered, match="503"):
        client.send("POST", ("commit",), body={}, give_up_ms=clock.monotonic_ms() + 2500)
    assert (len(pool.requests), len(clock.slept)) == (2, 1)


def test_only_a_question_is_repeated_after_a_lost_connection(
    client: RestClient, answering: Callable[..., Pool]
) -> None:
    answering(reset(), answer(200, '{"a": 1}'))
    assert client.get("databases") == {"a": 1}
    pool = answering(reset(), answer(200, "{}"))
    with pytest.raises(Unanswered, match=r"POST \S+/databases: the server did not answer: .*reset by peer"):
        client.post("databases", body={})
    assert len(pool.requests) == 1


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (answer(500, '{"message": "it broke", "code": 500}'), Unanswered, "500 Server error: it broke"),
        (answer(502, "<html>\nbad gateway"), Unanswered, "502 Server error: <html> bad gateway"),
        (answer(401), RequestRefused, "401 Unauthorized: no reason is given"),
        (answer(403, f'{{"message": "not {TOKEN}", "code": 403}}'), RequestRefused, r"403 Forbidden: not \*\*\*\*\*\*"),
        (answer(307), RequestRefused, "307 Refused: no reason is given"),
        (answer(404, '{"message": "x", "code": 501}'), RequestRefused, "501 Not supported: x"),
        (answer(200, "[1]"), Unanswered, "expected a JSON object, found 3 other bytes"),
        (ReadTimeoutError(None, "/", f"slow {TOKEN}"), Unanswered, r"the server did not answer: .*slow \*\*\*\*\*\*"),
        (NewConnectionError(None, "refused"), MetastoreUnavailable, "the server cannot be reached: .*refused"),
    ],
)
def test_an_error_is_one_line_with_the_address_and_without_the_token(
    client: RestClient, answering: Callable[..., Pool], given: Any, kind: type[Exception], text: str
) -> None:
    answering(given)
    with pytest.raises(MetastoreUnavailable, match=rf"^the REST catalog: POST http://server:80/\S+: {text}$") as raised:
        client.post("databases", body={})
    assert type(raised.value) is kind
    assert TOKEN not in str(raised.value)


def test_a_client_is_sent_with_its_token_and_does_not_show_it(client: RestClient) -> None:
    received = pickle.loads(pickle.dumps(client))  # noqa: S301 - our own bytes
    assert received == client
    assert repr(received) == "RestClient('http://server:80/base')"
