"""Options of a catalog whose warehouse is in Google Cloud Storage. The keys are those of Hadoop's connector."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from table_format.options.declare import Option
from table_format.options.values import one_of, optional, secret, text
from table_format.secrets import Secret


class Authentication(StrEnum):
    """Who makes the requests. The connector knows more words."""

    APPLICATION_DEFAULT = "application-default"
    SERVICE_ACCOUNT_JSON_KEYFILE = "service-account-json-keyfile"
    UNAUTHENTICATED = "unauthenticated"


AUTHENTICATION = Option(
    "fs.gs.auth.type",
    optional(one_of(Authentication)),
    None,
    "Who makes the requests. By default the service account whose key the options have. Without a key, it is the "
    "application: its credentials are in the file that GOOGLE_APPLICATION_CREDENTIALS names, in that of the gcloud "
    "command, or belong to the machine.",
)
KEY_FILE = Option(
    "fs.gs.auth.service.account.json.keyfile",
    optional(text),
    None,
    "Path of the JSON key file of a service account, on every machine that reads or writes.",
)
EMAIL = Option(
    "fs.gs.auth.service.account.email",
    optional(text),
    None,
    "Name of a service account, 'client_email' in its key file. Needs its private key.",
)
PRIVATE_KEY_ID = Option(
    "fs.gs.auth.service.account.private.key.id",
    optional(secret),
    None,
    "Id of the private key, 'private_key_id' in the key file of the account.",
)
PRIVATE_KEY = Option(
    "fs.gs.auth.service.account.private.key",
    optional(secret),
    None,
    "The private key, 'private_key' in the key file of the account. It is sent to the tasks of an engine.",
)
ENDPOINT = Option(
    "fs.gs.storage.root.url",
    optional(text),
    None,
    "Address of a store that is not Google's, such as 'http://localhost:4443' of an emulator.",
)


@dataclass(frozen=True, slots=True)
class GcsOptions:
    """How the store is reached."""

    authentication: Authentication | None = AUTHENTICATION.field()  # noqa: RUF009 - a field, and its default is frozen
    key_file: str | None = KEY_FILE.field()
    email: str | None = EMAIL.field()
    private_key_id: Secret | None = PRIVATE_KEY_ID.field()
    private_key: Secret | None = PRIVATE_KEY.field()
    endpoint: str | None = ENDPOINT.field()

    def __reduce__(self) -> tuple[object, ...]:
        # The tasks of an engine need the key, which travels with them.
        revealed = tuple(None if key is None else key.reveal() for key in (self.private_key_id, self.private_key))
        return (_restored, (revealed, (self.authentication, self.key_file, self.email, self.endpoint)))


def _restored(
    revealed: tuple[str | None, str | None],
    others: tuple[Authentication | None, str | None, str | None, str | None],
) -> GcsOptions:
    key_id, key = (None if part is None else Secret(part) for part in revealed)
    authentication, key_file, email, endpoint = others
    return GcsOptions(authentication, key_file, email, key_id, key, endpoint)
