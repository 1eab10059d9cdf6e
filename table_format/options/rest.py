"""Options of a catalog on a REST server (Java ``RESTCatalogOptions``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_format.options.declare import Option, OptionPattern, unsupported
from table_format.options.values import boolean, choice, optional, secret, text
from table_format.secrets import Secret

URI = Option(
    "uri",
    optional(text),
    None,
    "Address of the server, such as 'https://catalog.example.com'; 'http://' if it has no scheme. Required.",
)
TOKEN_PROVIDER = Option(
    "token.provider",
    optional(choice("bear", "dlf")),
    None,
    "How requests are authenticated: 'bear' sends the token. 'dlf' is refused. Required.",
    honoured=("bear",),
)
TOKEN = Option("token", optional(secret), None, "Token that each request carries. Required.")
HEADER = OptionPattern("header.<name>", secret, "A header that each request carries, such as 'header.User-Agent'.")
DLF = OptionPattern("dlf.<option>", secret, "Login at Alibaba Cloud DLF, which is refused.", supported=False)
DATA_TOKEN_ENABLED = unsupported(
    "data-token.enabled", boolean, False, "Keys of the store that the server gives for each table. Must be false."
)
IO_CACHE_ENABLED = unsupported("io-cache.enabled", boolean, False, "Cache of the Java file system.")


@dataclass(frozen=True, slots=True)
class RestOptions:
    """How the server is reached."""

    uri: str | None = URI.field()
    token_provider: str | None = TOKEN_PROVIDER.field()
    token: Secret | None = TOKEN.field()
    headers: Mapping[str, Secret] = HEADER.field()
    dlf: Mapping[str, Secret] = DLF.field()
    data_token_enabled: bool = DATA_TOKEN_ENABLED.field()
    io_cache_enabled: bool = IO_CACHE_ENABLED.field()
