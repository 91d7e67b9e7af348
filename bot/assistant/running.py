"""The tools that run the repository's own code: listed with --allow-run, and only the configured commands."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import anyio
from pydantic import Field

from bot.assistant.answer import Answered, answer
from bot.assistant.place import Place
from bot.assistant.process import run_json, run_text
from bot.assistant.reading import Call, Name, Revision, judged, named, teller

Direction = Literal["any", "worse", "better"]
Minutes = Annotated[float, Field(gt=0, le=24 * 60, description="Then the answer so far is given.")]


@dataclass(frozen=True, slots=True)
class Running:
    """As `Reading`. One measurement at a time: side by side each would slow the others down."""

    TOOLS: ClassVar = ("measure", "bisect")
    place: Place
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    async def measure(
        self,
        call: Call,
        *,
        base: Revision,
        head: Revision = "HEAD",
        rounds: Annotated[int, Field(ge=1, le=100)] = 7,
        trace: Annotated[bool, Field(description="Then trace Python commands: files for `diagnose`.")] = False,
    ) -> Answered:
        """Measure two commits side by side with the configured command, and judge them: a report.

        Uncommitted changes are not measured. The answer names the files for `report`, `why` and `diagnose`.
        """
        commits = [self.place.own_commit(revision) for revision in (base, head)]
        folder, pinned = self.place.scratch / "-".join(["measured", *commits]), self.place.settings
        options = ["--commits", *commits, f"--rounds={rounds}", f"--output={folder}", *(["--trace"] if trace else [])]
        async with self.turn:
            await run_text("measure", *options, *pinned, place=self.place, tell=teller(call))
        sides = [f"--baseline={folder / 'baseline.json'}", f"--target={folder / 'target.json'}"]
        diagnosis = folder / "diagnosis.json"
        why = [f"--diagnosis={diagnosis}"] if trace and diagnosis.is_file() else []
        traces = sorted(folder.glob("*-trace.json")) if trace else []
        return await judged(self.place, call, "--paired", *sides, *why, *pinned, files=traces)

    async def bisect(
        self,
        call: Call,
        *,
        good: Revision,
        bad: Revision,
        benchmark: Name | None = None,
        metric: Name | None = None,
        direction: Direction = "any",
        minutes: Minutes = 30,
    ) -> Answered:
        """Find the commits that introduced a change, by measuring with the configured command; minutes to hours."""
        options = [f"--good={self.place.own_commit(good)}", f"--bad={self.place.own_commit(bad)}"]
        options += named(benchmark=benchmark, metric=metric, direction=direction, minutes=minutes)
        options += self.place.settings
        async with self.turn:
            document, _ = await run_json("bisect", *options, place=self.place, tell=teller(call))
        return answer(document, form="bisection-v1")
