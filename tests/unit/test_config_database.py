"""The location of a history in a database, and its secret, which comes only from the environment."""

import pytest

from perf_culprit.config.database_url import HISTORY_URL, parse_database
from perf_culprit.config.reader import parse_config, with_database
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, ConfigError, UsageError

SECRET = "s3cret@/:%"
QUOTED = "s3cret%40%2F%3A%25"
URL = "postgresql://ada@db.example:5433/perf"
WITH_SECRET = f"postgresql://ada:{QUOTED}@db.example:5433/perf"


def test_the_history_may_be_named_by_its_url_alone() -> None:
    for text in (f"history: {URL}", f"history: {{url: '{URL}'}}"):
        url = parse_config(text.encode(), place="x.yml").history.url
        assert url is not None
        assert (url.shown, url.user, url.password) == ("postgresql://db.example:5433/perf", "ada", None)
    assert parse_config(b"history: {window: 5}", place="x.yml").history.url is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql:///perf?host=/run/postgresql", "postgresql:///run/postgresql/perf"),
        ("postgres://[::1]/perf", "postgresql://::1/perf"),
        ("sqlite:///history.db", "sqlite:///history.db"),
        ("sqlite:////srv/a%20b.db", "sqlite:////srv/a b.db"),
    ],
)
def test_what_is_shown_of_a_place(url: str, shown: str) -> None:
    assert parse_database(url).shown == shown


@pytest.mark.parametrize(
    "url",
    [
        WITH_SECRET,
        f"postgresql://ada:{SECRET}@db.example/perf",  # not quoted, so the beginning of the host is ambiguous
        f"postgresql://ada:{QUOTED}@db.example:99999/perf",
        f"postgresql://db.example/perf?password={QUOTED}",
        f"postgresql://db.example/perf?sslpassword={QUOTED}",
        f"postgresql://ada:{QUOTED}@db.example",
        f"sqlite:///a.db?password={QUOTED}",
        f"mysql://ada:{QUOTED}@db.example/perf",
    ],
)
def test_a_secret_in_a_file_or_an_option_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as filed:
        parse_config(f"suite: x\nhistory: '{url}'".encode(), place="x.yml")
    assert str(filed.value).startswith("x.yml:2: history")
    messages = [str(filed.value)]
    if not url.startswith("mysql"):  # not a supported database, so the URL names a repository
        with pytest.raises(UsageError) as given:
            with_database(Config(), environ={}, option=url)
        messages.append(str(given.value))
    assert all("s3cret" not in text and "Next: " in text for text in messages)


@pytest.mark.parametrize("text", [f"https://ada:{QUOTED}@example.org/x.git", f"postgresql://a:{SECRET}@h/x", QUOTED])
def test_a_variable_that_names_no_database_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BotError) as caught:
        with_database(Config(), environ={HISTORY_URL: text})
    assert HISTORY_URL in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("filed", "option", "expected", "password"),
    [
        (None, None, URL, SECRET),
        ("sqlite:///a.db", None, URL, SECRET),  # a foreign file cannot redirect the connection
        ("postgresql://ada@evil.example:5433/perf", None, URL, SECRET),
        ("sqlite:///a.db", URL, URL, SECRET),
        (None, "postgresql://ada@evil.example:5433/perf", "postgresql://ada@evil.example:5433/perf", None),
        (None, "sqlite:///b.db", "sqlite:///b.db", None),
        (URL, "../other.git", None, None),
    ],
)
def test_the_secret_goes_only_to_its_own_place(
    filed: str | None, option: str | None, expected: str | None, password: str | None
) -> None:
    config = parse_config(f"history: {filed}".encode() if filed else b"", place="x.yml")
    url = with_database(config, environ={HISTORY_URL: WITH_SECRET}, option=option).history.url
    assert (url and url.shown, url and url.password) == (expected and parse_database(expected).shown, password)
    assert "s3cret" not in repr(url)


@pytest.mark.parametrize(
    ("environ", "gets_secrets"),
    [
        ({"PGHOST": "db.example", "PGPORT": "5433", "PGPASSWORD": SECRET}, True),
        ({"PGHOST": "other.example", "PGPORT": "5433"}, False),
        ({"PGHOST": "db.example"}, False),
        ({}, False),
    ],
)
def test_a_server_that_only_the_file_names_gets_no_secret(environ: dict[str, str], *, gets_secrets: bool) -> None:
    config = parse_config(f"history: {URL}".encode(), place="x.yml")
    url = with_database(config, environ=environ).history.url
    assert url is not None
    assert url.gets_secrets is gets_secrets
    option = with_database(config, environ=environ, option=URL).history.url
    assert option is not None
    assert option.gets_secrets


@pytest.mark.parametrize("host", ["db.example,evil.example", "evil.example", "db.example:1"])
def test_another_server_in_a_parameter_is_another_server(host: str) -> None:
    config = parse_config(f"history: 'postgresql://db.example/perf?host={host}'".encode(), place="x.yml")
    with pytest.raises(UsageError, match="PGPASSWORD would go to"):
        with_database(config, environ={"PGHOST": "db.example", "PGPASSWORD": SECRET})


def test_without_the_variable_the_file_decides() -> None:
    config = parse_config(f"history: {URL}".encode(), place="x.yml")
    assert with_database(config, environ={}) == config
    assert with_database(config, environ={}, option="").history.url == config.history.url
