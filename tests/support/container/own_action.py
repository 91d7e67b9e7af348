"""Our action as a step of a workflow, in its container."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.container.runner import Step, run_action
from tests.support.fake_github.server import FakeGitHub
from tests.support.workflows.runner import Place

ACTION_FILE: Final = Path(__file__).parents[3] / "action.yml"


@dataclass(frozen=True, kw_only=True, slots=True)
class InContainer:
    image: str
    fake: FakeGitHub

    def __call__(self, place: Place, inputs: Mapping[str, str], environment: Mapping[str, str]) -> tuple[bool, str]:
        step = Step(
            event_name=place.event.name,
            event=place.event.payload,
            api_url=self.fake.api_url,
            token=place.token,
            inputs=inputs,
            environment={"GITHUB_RUN_ID": str(place.event.run_id), **environment},
            repository=self.fake.repository,
            sha=place.event.sha,
            ref=place.event.ref,
            network="host",
        )
        result = run_action(self.image, action_file=ACTION_FILE, workspace=place.workspace, step=step)
        return result.exit_code == 0, f"{result.stdout}{result.stderr}\n{result.summary}"
