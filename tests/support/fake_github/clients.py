"""The bot's client, connected to the fake, with waits that are recorded instead of slept."""

from dataclasses import dataclass, field

from perf_culprit.github.client import create_client
from perf_culprit.github.github_host import GitHub
from perf_culprit.github.job_context import Destination
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.fake_github.state import BOT


@dataclass(kw_only=True, slots=True)
class Waits:
    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)

    @property
    def long(self) -> list[float]:
        return [seconds for seconds in self.seconds if seconds > 0]


def destination(fake: FakeGitHub) -> Destination:
    return Destination(
        repository=fake.repository,
        api_url=fake.api_url,
        server_url="https://github.example",
        token=BOT_TOKEN,
        bot_login=BOT,
    )


def connected(fake: FakeGitHub, *, token: str = BOT_TOKEN, timeout_seconds: int = 5) -> tuple[GitHub, Waits]:
    waits = Waits()
    client = create_client(
        token=token,
        api_url=fake.api_url,
        repository=fake.repository,
        timeout_seconds=timeout_seconds,
        request_pause_seconds=0,
        write_pause_seconds=0,
        sleep=waits,
    )
    return GitHub(repository=client.repository, bot_login=client.bot_login, sleep=client.sleep), waits
