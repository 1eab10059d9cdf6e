"""Secrets: how to recognize them in texts, and how to keep them out of everything that people read.

A ``Secret`` is masked wherever it is shown; only ``reveal`` returns its value. ``redact`` masks the parts of a text
that look like secrets; every error message of this library passes through it. All patterns are in this module. The
patterns for Spark are built from the same words (``SPARK_KEY_PATTERN``, ``SPARK_TEXT_PATTERN``).
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn
from urllib.parse import quote, quote_plus

MASK: Final = "******"
"""The text that is shown in place of a secret."""

_SHORTEST_KNOWN: Final = 4
"""Shorter secrets are not searched for by value, because they occur within ordinary words."""


class Secret:
    """A text whose value is never shown.

    A secret equals a ``str`` of the same value, so it can be compared and looked up. It cannot be pickled: give other
    processes the name of an environment variable instead.

    >>> Secret("hush"), f"{Secret('hush')}", Secret("hush").reveal()
    (Secret('******'), '******', 'hush')
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        object.__setattr__(self, "_Secret__value", value)

    def reveal(self) -> str:
        """Return the value. Use it only in the call that needs it."""
        value: str = self.__value  # type: ignore[attr-defined]  # ``__init__`` sets it
        return value

    def __repr__(self) -> str:
        return f"Secret('{MASK}')"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Secret):
            return self.reveal() == other.reveal()
        return self.reveal() == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.reveal())

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: Mapping[int, object]) -> Secret:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = "a Secret cannot be changed"
        raise AttributeError(message)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        message = "a Secret cannot be sent to another process; pass the name of an environment variable instead"
        raise TypeError(message)


# --- the list of patterns ---------------------------------------------------------------------------------------------

_GAP: Final = r"[._\-]{0,2}"
_WORDS: Final = (
    "passw(?:or)?d",
    "passphrase",
    "secret",
    "token(?!iz)",
    "credential",
    "authori[sz]ation",
    *(
        _GAP.join(parts)
        for parts in (
            ("access", "key"),
            ("account", "key"),
            ("api", "key"),
            ("encryption", "key"),
            ("private", "key"),
            ("service", "key"),
            ("session", "key"),
            ("shared", "key"),
            ("signing", "key"),
            ("storage", "key"),
            ("auth", "params"),
            ("basic", "auth"),
            ("http", "headers"),
            ("jaas", "config"),
            ("key", "pass"),
            ("store", "pass"),
        )
    ),
)
"""Parts of keys that indicate a secret. They cover the lists of Spark (``spark.redaction.regex``), of Hadoop
(``hadoop.security.sensitive-config-keys``) and of the engines Paimon runs on."""

_WHOLE_WORDS: Final = ("pass", "pwd", "sas", "sig", "signature")
"""Words that indicate a secret only as whole words."""

_FIRST, _SECOND = ("".join(sorted({word[place] for word in (*_WORDS, *_WHOLE_WORDS)})) for place in (0, 1))
_KEY: Final = rf"(?=[{_FIRST}][{_SECOND}])(?:{'|'.join(_WORDS)}|(?<![A-Za-z])(?:{'|'.join(_WHOLE_WORDS)})(?![a-z]))"
"""Looks at two letters first: Spark searches the text of each plan for it, and Java would try word after word."""
_SECRET_KEY: Final = re.compile(_KEY, re.IGNORECASE)
_ACCOUNT_KEY: Final = re.compile(rf"account{_GAP}key", re.IGNORECASE)
_ABOUT_A_SECRET: Final = re.compile(
    r"(?:[._\-]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:algorithm|bits|class|enabled|expiration|file|interval|length|path|provider|size|timeout|type)s?$"
)
"""Ends of keys that describe a secret without holding it, such as ``fs.s3a.aws.credentials.provider``."""

_OF_A_COLUMN: Final = re.compile(r"(?:table-default\.)?(?:fields|file-index)\.")
"""Prefixes of table options that contain a column name, which can be any word."""

_NAME: Final = _KEY + r"[\w.\-]{0,80}"
_QUOTED: Final = r"(?:\\.|[^'\"\\])*"
_UNQUOTED: Final = r"[^\s&;]+?(?=[)'\"\],.:}]*(?:[\s&;]|$))"
_LONG: Final = "{0,512}"
"""Limits how far a pattern searches from one position, so that no text takes long."""
_PORT: Final = r"\d{1,5}(?:[/?#;,'\")\s]|$)"
_NO_USER: Final = "s3[an]?|oss|cosn?|obs|gs|https?"
"""Schemes whose URIs have a key before the @. Other schemes have a container or a user there."""

_Patterns = tuple[tuple[re.Pattern[str], str], ...]

_ADDRESSES: Final[_Patterns] = (
    # s3://key:secret@bucket; a secret may hold slashes, and host:port is none
    (re.compile(rf"(?<=://)[^\s/?#@:]{_LONG}:(?!{_PORT})\S{_LONG}@"), f"{MASK}@"),
    (re.compile(rf"(?i)(?<=://)[^\s/?#@]{_LONG}?%3A\S{_LONG}@"), f"{MASK}@"),
    (re.compile(rf"(?i)(?<=%3A%2F%2F)(?:(?!%2F)\S){_LONG}?%3A\S{_LONG}%40"), f"{MASK}%40"),
    (re.compile(rf"(?i)\b({_NO_USER})://[^\s/@]{_LONG}@"), rf"\1://{MASK}@"),
    (re.compile(r"(?i)\b(jdbc:oracle:\w+:)[^\s@]{1,512}@"), rf"\1{MASK}@"),
)
_NAMED: Final[_Patterns] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"), MASK),
    (re.compile(r"(?i)(\bauthorization\\*['\"]?\s{0,3}[:=]\s{0,3}\\*['\"]?)(?:[a-z]+ )?[^\s'\"]+"), rf"\1{MASK}"),
    (re.compile(r"(?i)(\bbearer\s+)[\w.~+/=\-]+"), rf"\1{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    # 'jdbc.password': 'x', "token" = "x"
    (re.compile(rf"(?i)({_NAME}\\*['\"]\s{{0,3}}[:=]\s{{0,3}}\\*['\"]){_QUOTED}"), rf"\1{MASK}"),
    # password=x, password='x', token%3Dx, password -> x, --password x
    (re.compile(rf"(?i)({_NAME}(?:=|%3D|\s->\s)\\*['\"]){_QUOTED}"), rf"\1{MASK}"),
    (re.compile(rf"(?i)({_NAME}(?:=|%3D|\s->\s)){_UNQUOTED}"), rf"\1{MASK}"),
    (re.compile(rf"(?i)((?:^|\s)--{_NAME}\s+)[^\s\-]\S*"), rf"\1{MASK}"),
)
_STEMS: Final = (
    *("akia", "asia", "auth", "bearer", "credential", "header", "jaas"),
    *("key", "pass", "pwd", "sas", "secret", "sig", "token"),
)
"""Every text that ``_NAMED`` matches contains one of these words in lower case."""

_SPARK_MORE: Final = "(?i)(?<=://)[^\\s/?#@:]*:(?![0-9]{1,5}(?:[/?#;,\\s]|$))\\S*@"
SPARK_KEY_PATTERN: Final = f"(?i){_KEY}"
"""For ``spark.redaction.regex`` and ``spark.sql.redaction.options.regex``: keys whose values Spark masks."""

SPARK_TEXT_PATTERN: Final = (
    rf"{_SPARK_MORE}|(?i){_NAME}(?:=|%3D)[^\s&;,\])]+|\b(?:AKIA|ASIA)[A-Z0-9]{{16}}\b|(?i)\bbearer\s+[\w.~+/=\-]+"
)
"""For ``spark.redaction.string.regex``: what Spark masks in the texts of plans and command lines."""


# --- what is shown ----------------------------------------------------------------------------------------------------


def is_secret_key(key: str) -> bool:
    """Return whether a key of options, settings or properties indicates a secret.

    >>> [is_secret_key(k) for k in ("fs.s3a.secret.key", "fs.azure.account.key.shop", "bucket-key", "token-path")]
    [True, True, False, False]
    >>> is_secret_key("fields.password.aggregate-function")
    False
    """
    if _SECRET_KEY.search(key) is None or _OF_A_COLUMN.match(key) is not None:
        return False
    return _ACCOUNT_KEY.search(key) is not None or _ABOUT_A_SECRET.search(key) is None


def redact(text: str, secrets: Iterable[Secret] = ()) -> str:
    """Return the text with secrets masked: everything that looks like one, and ``known`` ones in all usual encodings.

    >>> redact("s3://key:hush@bucket/w?token=hush: no such store"), redact("hdfs://host:8020/w")
    ('s3://******@bucket/w?token=******: no such store', 'hdfs://host:8020/w')
    >>> redact("the reply was aHVzaC1odXNo", [Secret("hush-hush")])
    'the reply was ******'
    """
    for secret in secrets:
        for form in _forms(secret.reveal()):
            text = text.replace(form, MASK)
    lowered = text.lower()
    if "@" in lowered or "%40" in lowered:
        for pattern, masked in _ADDRESSES:
            text = pattern.sub(masked, text)
    if any(stem in lowered for stem in _STEMS):
        for pattern, masked in _NAMED:
            text = pattern.sub(masked, text)
    return text


def holds_secret(text: str) -> bool:
    """Return whether a text holds something that ``redact`` would mask."""
    return redact(text) != text


def shown_option(key: str, value: object) -> str:
    """Return the value of an option for display: masked if the key indicates a secret, otherwise redacted.

    >>> shown_option("fs.s3a.access.key", "AKIA"), shown_option("warehouse", "s3://k:s@b"), shown_option("bucket", "4")
    ('******', 's3://******@b', '4')
    """
    if isinstance(value, Secret) or is_secret_key(key):
        return MASK
    return redact(str(value))


def shown_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Return all options for display, with secrets masked."""
    return {key: shown_option(key, value) for key, value in options.items()}


def masked_repr(value: Any) -> str:  # noqa: ANN401 - any dataclass
    """A ``__repr__`` for a dataclass whose mappings are options, with secrets masked."""
    shown = []
    for member in dataclasses.fields(value):
        if member.repr:
            held = getattr(value, member.name)
            named = isinstance(held, Mapping) and all(isinstance(key, str) for key in held)
            text = repr(shown_options(held)) if named else redact(repr(held))
            shown.append(f"{member.name}={text}")
    return f"{type(value).__qualname__}({', '.join(shown)})"


def _forms(value: str) -> Iterator[str]:
    """Return the forms of a secret in a text: plain, escaped for URLs, JSON and Python, Base64 and hexadecimal.

    The longest forms come first, so that no part of one remains.
    """
    if len(value) < _SHORTEST_KNOWN:
        return
    data = value.encode("utf-8", "surrogatepass")
    forms = {
        value,
        quote(value, safe="", errors="surrogatepass"),
        quote(value, errors="surrogatepass"),
        quote_plus(value, errors="surrogatepass"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        data.hex(),
        data.hex().upper(),
        *(form for offset in range(3) for form in _in_base64(data, offset)),
    }
    yield from sorted(forms, key=len, reverse=True)


def _in_base64(data: bytes, offset: int) -> Iterator[str]:
    """Return the Base64 letters that depend only on these bytes, with ``offset`` bytes before them."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        letters = encode(bytes(offset) + data).decode()
        whole = letters[(8 * offset + 5) // 6 : 8 * (offset + len(data)) // 6]
        if len(whole) > _SHORTEST_KNOWN:
            yield whole
