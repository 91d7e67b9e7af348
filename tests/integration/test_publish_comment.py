"""The sticky comment against the fake GitHub: one comment, whatever goes wrong on the way."""

from typing import Any

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.github.bot_texts import comment_marker
from perf_culprit.github.posting import upsert_comment
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import PRIMARY_LIMIT, SECONDARY_LIMIT, Fault
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, Comment

NUMBER = 7
SUITE = "default"
MARK = comment_marker(SUITE)
BODY = f"{MARK}\n### 🔴 2 of 148 benchmarks got slower"
POST = r"POST .*/comments"
PATCH = r"PATCH .*/comments/\d+"


def comments_of(fake: FakeGitHub, author: str = BOT) -> list[Comment]:
    return [comment for comment in fake.state.comments.values() if comment.author == author]


def add_strangers(fake: FakeGitHub, count: int) -> None:
    for index in range(count):
        fake.state.add_comment(issue=NUMBER, author="octocat", body=f"comment {index}")


def test_posts_when_there_is_none(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    url = upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    (comment,) = comments_of(fake)
    assert comment.body == BODY
    assert comment.issue == NUMBER
    assert url == f"{fake.api_url}/octocat/hello/pull/7#issuecomment-{comment.id}"


def test_puts_the_marker_first_where_the_text_lacks_it(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body="text")
    assert comments_of(fake)[0].body == f"{comment_marker(SUITE)}\ntext"


def test_edits_its_own_on_the_third_page(fake: FakeGitHub) -> None:
    add_strangers(fake, 205)
    own = fake.state.add_comment(issue=NUMBER, author=BOT, body=f"{comment_marker(SUITE)}\nold")
    add_strangers(fake, 3)
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert own.body == BODY
    assert comments_of(fake) == [own]
    assert [request.query.get("per_page") for request in fake.requests("GET")] == ["100", "100", "100"]


def test_writes_nothing_when_nothing_changed(fake: FakeGitHub) -> None:
    own = fake.state.add_comment(issue=NUMBER, author=BOT, body=BODY.replace("\n", "\r\n") + "\r\n")
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert own.writes == 1


def test_each_suite_has_its_own(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    for suite in ("default", "Default", "großes Bündel", "a--b", "a-b"):
        upsert_comment(client, number=NUMBER, mark=comment_marker(suite), body=f"about {suite}")
    assert len(comments_of(fake)) == 5


def test_leaves_a_strangers_copy_of_the_marker_alone(fake: FakeGitHub) -> None:
    spoof = fake.state.add_comment(issue=NUMBER, author="mallory", body=f"{comment_marker(SUITE)}\n### 🟢 all fine")
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert spoof.body.endswith("all fine")
    assert len(comments_of(fake)) == 1


def test_leaves_its_own_quotation_of_the_marker_alone(fake: FakeGitHub) -> None:
    other = fake.state.add_comment(issue=NUMBER, author=BOT, body=f"see {comment_marker(SUITE)}")
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert len(comments_of(fake)) == 2
    assert other.writes == 1


def test_reads_comments_of_authors_with_any_login(fake: FakeGitHub) -> None:
    for login in ("ghost-ünï", "日本", "Github-Actions[bot]x"):
        fake.state.add_comment(issue=NUMBER, author=login, body=BODY)
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert [comment.body for comment in comments_of(fake)] == [BODY]


def test_keeps_the_oldest_of_duplicates(fake: FakeGitHub) -> None:
    oldest = fake.state.add_comment(issue=NUMBER, author=BOT, body=BODY)
    fake.state.add_comment(issue=NUMBER, author=BOT, body=BODY)
    fake.state.add_comment(issue=NUMBER, author=BOT, body=f"{comment_marker(SUITE)}\nthird")
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body="new")
    assert comments_of(fake) == [oldest]
    assert oldest.body.endswith("new")


def test_deletes_a_duplicate_whose_first_answer_was_lost(fake: FakeGitHub) -> None:
    oldest = fake.state.add_comment(issue=NUMBER, author=BOT, body=BODY)
    fake.state.add_comment(issue=NUMBER, author=BOT, body=BODY)
    fake.faults.append(Fault(request=r"DELETE .*", status=502, applied=True))
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body="new")
    assert comments_of(fake) == [oldest]


def test_quiet_posts_nothing(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    url = upsert_comment(client, number=NUMBER, mark=MARK, body=BODY, create=False)
    assert url is None
    assert not fake.state.comments


def test_quiet_still_updates_an_earlier_verdict(fake: FakeGitHub) -> None:
    own = fake.state.add_comment(issue=NUMBER, author=BOT, body=BODY)
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body="### 🟢 no change", create=False)
    assert own.body.endswith("🟢 no change")


@pytest.mark.parametrize("lost", [{"status": 502}, {"status": 500}, {"drop": True}], ids=["502", "500", "drop"])
@pytest.mark.parametrize("applied", [True, False])
def test_one_comment_after_a_lost_answer(fake: FakeGitHub, lost: dict[str, Any], *, applied: bool) -> None:
    fake.faults.append(Fault(request=POST, applied=applied, **lost))
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert [comment.body for comment in comments_of(fake)] == [BODY]


@pytest.mark.slow  # a timeout is at least one second
def test_one_comment_after_a_timeout(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=POST, applied=True, delay_seconds=1.2))
    client, _ = connected(fake, timeout_seconds=1)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert len(comments_of(fake)) == 1


def test_waits_longer_and_longer_for_a_comment_that_the_listing_still_hides(fake: FakeGitHub) -> None:
    fake.state.listing_lag = 2
    fake.faults.append(Fault(request=POST, status=502, applied=True))
    client, waits = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert len(comments_of(fake)) == 1
    assert waits.long == [1.0, 2.0, 4.0]


def test_gives_up_after_three_posts(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=POST, status=502, times=99))
    client, _ = connected(fake)
    with pytest.raises(InfrastructureError, match=r"cannot post the comment on #7.*HTTP 502") as raised:
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert raised.value.exit_code == 4
    assert len(fake.requests("POST")) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_edit_survives_server_errors(fake: FakeGitHub, status: int) -> None:
    own = fake.state.add_comment(issue=NUMBER, author=BOT, body=f"{comment_marker(SUITE)}\nold")
    fake.faults.append(Fault(request=PATCH, status=status, times=2))
    client, _ = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert own.body == BODY


LIMITS = [
    pytest.param({"status": 429, "headers": {"retry-after": "7"}}, 7.0, id="429 with Retry-After"),
    pytest.param({"status": 429}, 60.0, id="429 without Retry-After"),
    pytest.param({"status": 403, "headers": {"retry-after": "9"}}, 9.0, id="403 with Retry-After"),
    pytest.param({"status": 403}, 60.0, id="403 secondary limit"),
]


@pytest.mark.parametrize(("fault", "wait_seconds"), LIMITS)
@pytest.mark.parametrize("request_pattern", [POST, PATCH, r"GET .*/comments"])
def test_waits_out_a_rate_limit(
    fake: FakeGitHub, fault: dict[str, Any], *, wait_seconds: float, request_pattern: str
) -> None:
    if request_pattern == PATCH:
        fake.state.add_comment(issue=NUMBER, author=BOT, body=f"{comment_marker(SUITE)}\nold")
    fake.faults.append(Fault(request=request_pattern, message=SECONDARY_LIMIT, **fault))
    client, waits = connected(fake)
    upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert [comment.body for comment in comments_of(fake)] == [BODY]
    assert waits.long == [wait_seconds]


@pytest.mark.parametrize("request_pattern", [POST, r"GET .*/comments"])
@pytest.mark.parametrize("status", [403, 429])
def test_does_not_wait_an_hour_for_the_primary_limit(fake: FakeGitHub, request_pattern: str, status: int) -> None:
    headers = {"x-ratelimit-remaining": "0"}
    fake.faults.append(Fault(request=request_pattern, status=status, message=PRIMARY_LIMIT, headers=headers, times=9))
    client, waits = connected(fake)
    with pytest.raises(InfrastructureError, match=r"rate limit is used up[\s\S]*run the job again after \d\d:\d\d UTC"):
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert waits.long == []


def test_does_not_wait_longer_than_two_minutes(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"GET .*", status=503, headers={"retry-after": "3600"}))
    client, waits = connected(fake)
    with pytest.raises(InfrastructureError, match="servers failed"):
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert waits.long == []


def test_refuses_a_body_that_github_would_refuse(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with pytest.raises(InfrastructureError, match=r"65,569 characters; GitHub takes 65,536"):
        upsert_comment(client, number=NUMBER, mark=MARK, body="x" * 65_536)
    assert not fake.log


def test_takes_a_body_of_exactly_the_limit(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    body = BODY + "ü" * (65_536 - len(BODY))
    upsert_comment(client, number=NUMBER, mark=MARK, body=body)
    assert [comment.body for comment in comments_of(fake)] == [body]


def test_says_that_the_conversation_is_locked(fake: FakeGitHub) -> None:
    fake.state.locked_issues.add(NUMBER)
    client, _ = connected(fake)
    with pytest.raises(InfrastructureError, match="the conversation is locked"):
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)


def test_names_the_missing_permission(fake: FakeGitHub) -> None:
    fake.add_token("read-only", {"contents": "read", "pull-requests": "read", "issues": "read"})
    client, _ = connected(fake, token="read-only")
    with pytest.raises(InfrastructureError) as raised:
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert "the token lacks a permission (HTTP 403)" in raised.value.message
    assert "add `permissions: pull-requests: write` to the job" in str(raised.value.next_step)
    assert "workflow_run" in str(raised.value.next_step)


def test_names_the_missing_permission_to_read(fake: FakeGitHub) -> None:
    fake.add_token("none", {"contents": "read"})
    client, _ = connected(fake, token="none")
    with pytest.raises(InfrastructureError, match="add `permissions: pull-requests: read` to the job"):
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)


def test_says_that_the_token_is_not_accepted_without_showing_it(fake: FakeGitHub) -> None:
    client, _ = connected(fake, token="s3cr3t-t0ken")
    with pytest.raises(InfrastructureError, match="the token is not accepted") as raised:
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert "s3cr3t" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_passes_on_what_github_calls_invalid(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=POST, status=422, message="Body is too long (maximum is 65536 characters)"))
    client, _ = connected(fake)
    with pytest.raises(InfrastructureError, match="request invalid: Body is too long"):
        upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
    assert len(fake.requests("POST")) == 1


def test_works_on_an_enterprise_server() -> None:
    with FakeGitHub(prefix="/api/v3") as fake:
        fake.state.add_comment(issue=NUMBER, author="octocat", body="x")
        client, _ = connected(fake)
        url = upsert_comment(client, number=NUMBER, mark=MARK, body=BODY)
        assert upsert_comment(client, number=NUMBER, mark=MARK, body="new") == url
        assert [comment.body for comment in comments_of(fake)] == [f"{MARK}\nnew"]
        assert not fake.bad


def put(fake: FakeGitHub, findings: str, text: str, *, create: bool = True) -> str | None:
    client, _ = connected(fake)
    return upsert_comment(client, number=NUMBER, mark=MARK, body=f"{MARK}\n{text}", create=create, findings=findings)


def test_other_findings_get_a_new_comment_and_hide_the_old_one(fake: FakeGitHub) -> None:
    put(fake, "a" * 16, "### 🟠 first")
    put(fake, "a" * 16, "### 🟠 edited")
    assert [comment.minimized for comment in comments_of(fake)] == [False]
    url = put(fake, "b" * 16, "### 🔴 proven")
    old, new = comments_of(fake)
    assert (old.minimized, new.minimized) == (True, False)
    assert url is not None
    assert url.endswith(str(new.id))
    assert old.body.startswith(f"<!-- perf-culprit:past:default -->\n> Outdated: [the newer result]({url}).\n\n### 🟠")
    put(fake, "b" * 16, "### 🔴 edited")
    assert len(comments_of(fake)) == 2
    assert "### 🔴 edited" in new.body


def test_silence_edits_what_stands(fake: FakeGitHub) -> None:
    put(fake, "a" * 16, "### 🔴 worse")
    put(fake, "b" * 16, "### 🟢 over", create=False)
    (only,) = comments_of(fake)
    assert "### 🟢 over" in only.body
    assert not only.minimized


def test_a_comment_of_an_older_version_is_edited(fake: FakeGitHub) -> None:
    own = fake.state.add_comment(issue=NUMBER, author=BOT, body=f"{MARK}\nold")
    put(fake, "b" * 16, "new")
    assert comments_of(fake) == [own]


def test_a_job_that_died_after_the_new_comment_is_caught_up(fake: FakeGitHub) -> None:
    put(fake, "a" * 16, "### 🟠 first")
    fake.faults.append(Fault(request=PATCH, status=403))
    with pytest.raises(InfrastructureError):
        put(fake, "b" * 16, "### 🔴 proven")
    fake.faults.clear()
    put(fake, "b" * 16, "### 🔴 proven")
    *old, new = comments_of(fake)
    assert [comment.minimized for comment in old] == [True, True]
    assert (new.minimized, new.body.startswith(MARK)) == (False, True)


def test_where_nothing_may_be_hidden_the_old_comment_says_that_it_is_old(fake: FakeGitHub) -> None:
    put(fake, "a" * 16, "### 🟠 first")
    fake.faults.append(Fault(request=r"POST .*graphql", status=403, message="Resource not accessible by integration"))
    put(fake, "b" * 16, "### 🔴 proven")
    old, new = comments_of(fake)
    assert (old.minimized, "> Outdated:" in old.body) == (False, True)
    assert new.body.startswith(MARK)
