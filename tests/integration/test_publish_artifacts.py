"""Artifacts against the fake GitHub: the right one, whole, and never with our credentials."""

import hashlib

import pytest

from perf_culprit.errors import DataError, InfrastructureError
from perf_culprit.github.host import ArtifactFile
from perf_culprit.github.workflow_runs import fetch_artifacts
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS, ArtifactLimits
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import Artifact

RUN = 55
HEAD = "a" * 40
NAME = "perf-culprit"
ZIP = b"PK\x05\x06" + bytes(18)


def add(fake: FakeGitHub, *, name: str = NAME, run_id: int = RUN, head_sha: str = HEAD, **more: object) -> Artifact:
    content = more.pop("zip_bytes", ZIP)
    assert isinstance(content, bytes)
    return fake.state.add_artifact(name=name, run_id=run_id, head_sha=head_sha, zip_bytes=content, **more)


def fetch(
    fake: FakeGitHub, *, name: str | None = NAME, limits: ArtifactLimits | None = None
) -> tuple[ArtifactFile, ...]:
    client, _ = connected(fake)
    return fetch_artifacts(client, run_id=RUN, head_sha=HEAD, name=name, limits=limits)


def test_fetches_the_named_artifact(fake: FakeGitHub) -> None:
    add(fake)
    add(fake, name="logs")
    assert fetch(fake) == (ArtifactFile(name=NAME, zip_bytes=ZIP),)
    assert len(fake.log) == 2


def test_a_name_that_ends_with_an_asterisk_names_those_that_begin_so(fake: FakeGitHub) -> None:
    for name in ("report", "report-a", "reports.[a]", "a-report"):
        add(fake, name=name)
    assert [file.name for file in fetch(fake, name="report*")] == ["report", "report-a", "reports.[a]"]
    assert [file.name for file in fetch(fake, name="reports.[a]")] == ["reports.[a]"]


def test_fetches_all_artifacts_without_a_name(fake: FakeGitHub) -> None:
    for name in ("linux", "mäc"):
        add(fake, name=name)
    assert [file.name for file in fetch(fake, name=None)] == ["linux", "mäc"]


def test_finds_the_name_among_many(fake: FakeGitHub) -> None:
    for index in range(230):
        add(fake, name=f"part-{index}")
    with pytest.raises(DataError, match="230 artifacts; at most 50 are read"):
        fetch(fake, name=None)
    assert [request.query["page"] for request in fake.requests("GET")] == ["1", "2", "3"]


def test_takes_the_newest_of_one_name(fake: FakeGitHub) -> None:
    add(fake, zip_bytes=b"old", created_at="2026-01-01T00:00:00Z")
    add(fake, zip_bytes=b"new", created_at="2026-01-03T00:00:00Z")
    add(fake, zip_bytes=b"middle", created_at="2026-01-02T00:00:00Z")
    assert [file.zip_bytes for file in fetch(fake)] == [b"new"]


def test_ignores_artifacts_of_another_commit(fake: FakeGitHub) -> None:
    add(fake, head_sha="e" * 40)
    with pytest.raises(DataError, match="no artifact 'perf-culprit' for aaaaaaaaaa"):
        fetch(fake)


def test_ignores_artifacts_of_another_run(fake: FakeGitHub) -> None:
    add(fake, run_id=56)
    with pytest.raises(DataError, match="actions/upload-artifact"):
        fetch(fake, name=None)


def test_keeps_the_token_from_the_artifact_store(
    fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine localhost login octocat password s3cr3t\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    add(fake)
    assert fetch(fake)
    assert not fake.bad


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://localhost/a.zip", "/relative", "", "https://"])
def test_follows_web_addresses_only(fake: FakeGitHub, location: str) -> None:
    add(fake, redirect=location or " ")
    with pytest.raises(InfrastructureError, match="the artifact's address is not a web address"):
        fetch(fake)


@pytest.mark.parametrize("status", [301, 302, 307])
def test_follows_one_redirect_only(fake: FakeGitHub, status: int) -> None:
    elsewhere = add(fake, name="elsewhere")
    location = f"{fake.store_url}/{elsewhere.id}/archive.zip"
    add(fake, store_status=status, store_headers={"location": location})
    with pytest.raises(InfrastructureError, match="cannot download artifact 'perf-culprit'"):
        fetch(fake)


def test_refuses_bytes_that_differ_from_the_digest(fake: FakeGitHub) -> None:
    add(fake, digest="sha256:" + hashlib.sha256(b"other").hexdigest())
    with pytest.raises(DataError, match="differ from the digest"):
        fetch(fake)


def test_takes_artifacts_of_servers_without_digests(fake: FakeGitHub) -> None:
    add(fake, with_digest=False)
    assert fetch(fake)


def test_refuses_an_announced_size_over_the_limit(fake: FakeGitHub) -> None:
    add(fake, zip_bytes=bytes(2_000_000))
    with pytest.raises(DataError, match=r"1\.9 MiB zipped or more; the limit is 1\.0 MiB"):
        fetch(fake, limits=ArtifactLimits(zip_bytes=1 << 20))
    assert not any(request.path.endswith("/zip") for request in fake.requests("GET"))


def test_stops_reading_at_the_limit_when_the_announced_size_lies(
    fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(fake, zip_bytes=bytes(3_000_000))
    honest = fake.shapes.__class__.artifact
    monkeypatch.setattr(
        fake.shapes.__class__, "artifact", lambda shapes, item: honest(shapes, item) | {"size_in_bytes": 10}
    )
    with pytest.raises(DataError, match=r"the limit is 1\.0 MiB"):
        fetch(fake, limits=ArtifactLimits(zip_bytes=1 << 20))


def test_refuses_too_much_in_all(fake: FakeGitHub) -> None:
    for name in ("one", "two", "three"):
        add(fake, name=name, zip_bytes=bytes(400_000))
    with pytest.raises(DataError, match=r"workflow run 55: 1\.1 MiB"):
        fetch(fake, name=None, limits=ArtifactLimits(artifacts_bytes=1 << 20))


def test_says_that_the_artifact_has_expired(fake: FakeGitHub) -> None:
    add(fake, expired=True)
    with pytest.raises(DataError, match=r"has expired[\s\S]*run the benchmarks again"):
        fetch(fake)
    assert len(fake.log) == 1


def test_says_that_the_artifact_expired_meanwhile(fake: FakeGitHub) -> None:
    add(fake)
    fake.faults.append(Fault(request=r"GET .*/zip", status=410, message="Artifact has expired"))
    with pytest.raises(DataError, match="has expired"):
        fetch(fake)


def test_asks_for_a_new_address_after_a_failed_download(fake: FakeGitHub) -> None:
    artifact = add(fake, redirect="http://127.0.0.1:9/closed")
    client, waits = connected(fake)

    def mend(seconds: float) -> None:
        waits(seconds)
        artifact.redirect = None

    mending = type(client)(repository=client.repository, bot_login=client.bot_login, sleep=mend)
    assert fetch_artifacts(mending, run_id=RUN, head_sha=HEAD, name=NAME)
    assert waits.seconds == [2.0]


def test_gives_up_on_a_store_that_keeps_failing(fake: FakeGitHub) -> None:
    add(fake, store_status=503)
    with pytest.raises(InfrastructureError, match="cannot download artifact 'perf-culprit'"):
        fetch(fake)
    assert sum(request.path.endswith("/zip") for request in fake.requests("GET")) == 3


def test_gives_up_on_a_slow_store(fake: FakeGitHub) -> None:
    add(fake)
    with pytest.raises(InfrastructureError, match="no answer in time"):
        fetch(fake, limits=ArtifactLimits(download_s=-1))


def test_names_the_missing_permission(fake: FakeGitHub) -> None:
    fake.add_token("no-actions", {"contents": "read"})
    client, _ = connected(fake, token="no-actions")
    with pytest.raises(InfrastructureError, match="`permissions: actions: read`"):
        fetch_artifacts(client, run_id=RUN, head_sha=HEAD, name=NAME)


def test_an_artifact_that_vanished(fake: FakeGitHub) -> None:
    add(fake)
    fake.faults.append(Fault(request=r"GET .*/zip", status=404, message="Not Found"))
    with pytest.raises(InfrastructureError, match="not found, or not visible"):
        fetch(fake)


def test_lists_ten_pages_at_most(fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ARTIFACT_LIMITS), "artifact_pages", 2)
    for _ in range(250):
        add(fake)
    assert len(fetch(fake)) == 1
    assert [request.query["page"] for request in fake.requests("GET") if "page" in request.query] == ["1", "2"]
