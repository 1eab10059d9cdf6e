"""Options of a catalog whose warehouse is in Alibaba Cloud OSS (Java ``OSSFileIO``). The keys are those of Hadoop."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import boolean, optional, secret, text
from table_format.secrets import Secret

ENDPOINT = Option(
    "fs.oss.endpoint",
    optional(text),
    None,
    "Address of the store without the bucket, such as 'oss-cn-hangzhou.aliyuncs.com'. It is required.",
)
ACCESS_KEY = Option(
    "fs.oss.accessKeyId",
    optional(secret),
    None,
    "Id of the access key. By default OSS_ACCESS_KEY_ID, with the other variables of the environment.",
    fallback_keys=("fs.oss.accesskeyid",),
)
SECRET_KEY = Option(
    "fs.oss.accessKeySecret",
    optional(secret),
    None,
    "Secret of the access key. By default OSS_ACCESS_KEY_SECRET.",
    fallback_keys=("fs.oss.accesskeysecret",),
)
SESSION_TOKEN = Option(
    "fs.oss.securityToken",
    optional(secret),
    None,
    "Token of temporary keys. By default OSS_SESSION_TOKEN, if the keys are those of the environment.",
    fallback_keys=("fs.oss.securitytoken",),
)
REGION = Option(
    "fs.oss.region",
    optional(text),
    None,
    "Region by which requests are signed, such as 'cn-hangzhou'. By default that of the endpoint.",
)
SECOND_LEVEL_DOMAIN = Option(
    "fs.oss.sld.enabled",
    boolean,
    False,
    "Whether the bucket is part of the path of a request instead of its host. It always is if the endpoint is an IP "
    "address.",
)
CNAME = Option(
    "fs.oss.cname.enabled",
    boolean,
    True,
    "Whether an endpoint that is not one of Alibaba's is the domain of the bucket. If false, the name of the bucket is "
    "put before it.",
)


@dataclass(frozen=True, slots=True)
class OssOptions:
    """How the store is reached."""

    endpoint: str | None = ENDPOINT.field()
    access_key: Secret | None = ACCESS_KEY.field()
    secret_key: Secret | None = SECRET_KEY.field()
    session_token: Secret | None = SESSION_TOKEN.field()
    region: str | None = REGION.field()
    second_level_domain: bool = SECOND_LEVEL_DOMAIN.field()
    cname: bool = CNAME.field()

    def __reduce__(self) -> tuple[object, ...]:
        # The tasks of an engine need the keys, which travel with them.
        keys = (self.access_key, self.secret_key, self.session_token)
        revealed = tuple(None if key is None else key.reveal() for key in keys)
        return (_restored, (revealed, (self.endpoint, self.region, self.second_level_domain, self.cname)))


def _restored(revealed: tuple[str | None, ...], others: tuple[str | None, str | None, bool, bool]) -> OssOptions:
    access_key, secret_key, session_token = (None if key is None else Secret(key) for key in revealed)
    endpoint, region, second_level_domain, cname = others
    return OssOptions(endpoint, access_key, secret_key, session_token, region, second_level_domain, cname)
