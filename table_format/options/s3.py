"""Options of a catalog whose warehouse is in S3 (Java ``S3FileIO``). The keys of other engines are accepted as well."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import boolean, optional, secret, text
from table_format.secrets import Secret

ENDPOINT = Option(
    "s3.endpoint",
    optional(text),
    None,
    "Address of the store, such as 'https://minio.example.com:9000'. By default AWS_ENDPOINT_URL, or Amazon S3.",
    fallback_keys=("fs.s3a.endpoint", "fs.s3.endpoint"),
)
ACCESS_KEY = Option(
    "s3.access-key",
    optional(secret),
    None,
    "Id of the access key. By default the key of the environment or of the machine's role.",
    fallback_keys=("s3.access.key", "fs.s3a.access.key", "fs.s3.accessKeyId"),
)
SECRET_KEY = Option(
    "s3.secret-key",
    optional(secret),
    None,
    "Secret of the access key.",
    fallback_keys=("s3.secret.key", "fs.s3a.secret.key", "fs.s3.accessKeySecret"),
)
SESSION_TOKEN = Option(
    "s3.session-token",
    optional(secret),
    None,
    "Token of temporary keys.",
    fallback_keys=("s3.session.token", "fs.s3a.session.token", "fs.s3.securityToken"),
)
REGION = Option(
    "s3.region",
    optional(text),
    None,
    "Region of the bucket. By default AWS_REGION, or the region that Amazon S3 names.",
    fallback_keys=("s3.endpoint.region", "fs.s3a.endpoint.region", "fs.s3.region"),
)
PATH_STYLE = Option(
    "s3.path-style-access",
    optional(boolean),
    None,
    "Whether the bucket is part of the path of a request instead of its host. By default true with an endpoint.",
    fallback_keys=("s3.path.style.access", "fs.s3a.path.style.access"),
)


@dataclass(frozen=True, slots=True)
class S3Options:
    """How the store is reached."""

    endpoint: str | None = ENDPOINT.field()
    access_key: Secret | None = ACCESS_KEY.field()
    secret_key: Secret | None = SECRET_KEY.field()
    session_token: Secret | None = SESSION_TOKEN.field()
    region: str | None = REGION.field()
    path_style: bool | None = PATH_STYLE.field()

    def __reduce__(self) -> tuple[object, ...]:
        # The tasks of an engine need the keys, which travel with them.
        keys = (self.access_key, self.secret_key, self.session_token)
        revealed = tuple(None if key is None else key.reveal() for key in keys)
        return (_restored, (revealed, (self.endpoint, self.region, self.path_style)))


def _restored(revealed: tuple[str | None, ...], others: tuple[str | None, str | None, bool | None]) -> S3Options:
    access_key, secret_key, session_token = (None if key is None else Secret(key) for key in revealed)
    endpoint, region, path_style = others
    return S3Options(endpoint, access_key, secret_key, session_token, region, path_style)
