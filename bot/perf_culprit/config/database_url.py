"""The URL of a history in a database: `postgresql://user@host/name` or `sqlite:///file.db`.

Many people can read a file or a command line, so a password there is refused. It comes from PERF_CULPRIT_HISTORY_URL,
or by libpq's own ways (PGPASSWORD, ~/.pgpass) if the environment names the server, too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import parse_qsl, unquote

from pydantic import BeforeValidator, WithJsonSchema

from perf_culprit.errors import UsageError

HISTORY_URL: Final = "PERF_CULPRIT_HISTORY_URL"
PORT: Final = "5432"
# The parameters of libpq that contain no secret and name no file with one.
OPEN_PARAMETERS: Final = frozenset({"application_name", "connect_timeout", "host", "port", "sslmode", "sslrootcert"})
_SCHEME: Final = re.compile(r"(postgres(?:ql)?|sqlite)://")
_POSTGRESQL: Final = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:/?#@]*)(?::(?P<password>[^/?#@]*))?@)?"
    r"(?:(?P<host>[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?)?"
    r"/(?P<database>[^/?#@]+)(?:\?(?P<query>[^#]*))?"
)
_SQLITE: Final = re.compile(r"sqlite:///(?P<database>[^?#]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseUrl:
    """`database` is a name, or SQLite's file. Neither `repr` nor `shown` contains a secret.

    `gets_secrets` is False for a server that only a configuration file names.
    """

    dialect: str
    database: str
    user: str | None = None
    host: str | None = None
    port: int | None = None
    password: str | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    gets_secrets: bool = field(default=True, compare=False)

    @property
    def server(self) -> str:
        return self.parameters.get("host") or self.host or ""

    @property
    def shown(self) -> str:
        if self.dialect == "sqlite":
            return f"sqlite:///{self.database}"
        return f"postgresql://{self.server}{f':{self.port}' if self.port else ''}/{self.database}"

    @property
    def place(self) -> tuple[str | int | None, ...]:
        """A key that is equal for two URLs of the same user and database."""
        return (self.dialect, self.database, self.user, self.host, self.port, self.parameters.get("host"))


def is_database(text: str) -> bool:
    return _SCHEME.match(text) is not None


def parse_database(text: str, *, with_secret: bool = False) -> DatabaseUrl:
    """Parse the URL of a database. A ValueError repeats nothing of the text, because it may hold a secret."""
    if match := _SQLITE.fullmatch(text):
        return DatabaseUrl(dialect="sqlite", database=unquote(match["database"]))
    if (match := _POSTGRESQL.fullmatch(text)) is None or int(match["port"] or 1) not in range(1, 65536):
        raise ValueError(
            "no URL of a database: write postgresql://USER@HOST/NAME or sqlite:///FILE, and special characters as %40"
        )
    parameters = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    if not with_secret:
        if match["password"] is not None or "password" in parameters:
            raise ValueError(f"holds a password, which others can read: give it in {HISTORY_URL} or PGPASSWORD")
        if foreign := sorted(parameters.keys() - OPEN_PARAMETERS):
            raise ValueError(f"the parameter {foreign[0][:40]!r} belongs into {HISTORY_URL}")
    return DatabaseUrl(
        dialect="postgresql",
        database=unquote(match["database"]),
        user=unquote(match["user"]) if match["user"] else None,
        host=match["host"].strip("[]") if match["host"] else None,
        port=int(match["port"]) if match["port"] else None,
        password=unquote(match["password"]) if match["password"] else None,
        parameters=parameters,
    )


def filed(url: DatabaseUrl, *, environ: Mapping[str, str], folder: Path) -> DatabaseUrl:
    """Return the URL as a file in `folder` may use it: SQLite files inside that folder, and servers without secrets.

    The file may be a stranger's. A secret goes only to PGHOST and PGPORT, or is part of the whole URL in HISTORY_URL.
    """
    if url.dialect == "sqlite":
        path = (folder / url.database).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UsageError(
                f"{url.shown} lies outside the repository",
                place="history.url",
                next_step=f"name it in {HISTORY_URL} or --history: a configuration file may only name files next to it",
            )
        return replace(url, database=str(path))
    port = str(url.parameters.get("port") or url.port or PORT)
    if not url.server or (url.server, port) == (environ.get("PGHOST"), environ.get("PGPORT", PORT)):
        return url
    if "PGPASSWORD" in environ:
        raise UsageError(
            f"PGPASSWORD would go to {url.server[:100]!r}, which only the configuration file names",
            place="history.url",
            next_step=f"set PGHOST (and PGPORT) to what the password is for, or keep the whole URL in {HISTORY_URL}",
        )
    return replace(url, gets_secrets=False)


DatabaseSetting = Annotated[
    DatabaseUrl,
    BeforeValidator(lambda value: parse_database(value) if isinstance(value, str) else value),
    WithJsonSchema({"type": "string", "pattern": _SCHEME.pattern, "maxLength": 500}),
]
