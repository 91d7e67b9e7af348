"""The tools that only read: what is stored and reported, why, and what would decide."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from bot import config, pipeline
from bot.assistant.answer import Answered, answer, inert
from bot.assistant.place import Place
from bot.assistant.process import Tell, run_json, run_text
from bot.errors import UsageError, did_you_mean
from bot.files import replace_file

Name: TypeAlias = Annotated[str, Field(max_length=1000)]
Revision: TypeAlias = Annotated[str, Field(max_length=200, description="Commit, branch or tag.")]
File: TypeAlias = Annotated[str, Field(max_length=1000, description="Path of a file inside the repository.")]
Files: TypeAlias = Annotated[list[File], Field(max_length=100)]
Offset: TypeAlias = Annotated[int, Field(ge=0, description="From an earlier answer's `next_offset`.")]
Call: TypeAlias = Context[Any, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """Bound to one repository; each method is a tool, its docstring the tool's description."""

    TOOLS: ClassVar = ("benchmarks", "history", "report", "why", "compare", "diagnose", "plan")
    place: Place

    async def benchmarks(self, suite: Name | None = None, offset: Offset = 0) -> Answered:
        """Which suites are stored, and the newest run of one: its benchmarks with metric, unit and samples."""

        def read() -> dict[str, Any]:
            chosen = config.with_database(config.load_config(self.place.config_file), environ=os.environ)
            suites, run = pipeline.stored_benchmarks(self.place.root, config=chosen, suite=suite)
            return {"suites": list(suites), **(json.loads(run) if run else {})}

        document = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        return answer(document, page="benchmarks", offset=offset, form="run-v1")

    async def history(
        self,
        call: Call,
        *,
        benchmark: Annotated[Name, Field(description="A name or a shell pattern, such as `parse*`.")],
        suite: Name | None = None,
        rows: Annotated[int, Field(ge=0, le=1000, description="How many of the newest values to give.")] = 30,
        offset: Offset = 0,
    ) -> Answered:
        """A benchmark's values over the commits of HEAD's line, and the commits from which on its level changed.

        Where nothing changed, `detectable` says how large a change would have been seen.
        """
        options = [f"--benchmark={benchmark}", f"--rows={rows}", *([f"--suite={suite}"] if suite else [])]
        document = await self._json("changes", "--repo=.", *options, call=call)
        return answer(document, page="columns", offset=offset)

    async def report(
        self,
        path: File = "report.json",
        verdict: Literal["regression", "improvement", "no_change", "inconclusive"] | None = None,
        pull_request: Annotated[int | None, Field(ge=1, description="Its comment on GitHub instead of a file.")] = None,
        offset: Offset = 0,
    ) -> Answered:
        """The report of a pull request or a comparison, from the `report.json` of its artifact: every verdict."""
        if pull_request is not None:
            read = partial(pipeline.published_results, self.place.root, number=pull_request, environ=os.environ)
            texts = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
            return answer({"comment": "\n\n".join(texts).splitlines()}, page="comment", offset=offset)
        document = await self._report(path)
        if verdict is not None:
            document["findings"] = [one for one in document["findings"] if one["verdict"] == verdict]
        return answer(document, page="findings", offset=offset, form="report-v1")

    async def why(self, benchmark: Name, path: File = "report.json", metric: Name | None = None) -> Answered:
        """Why a benchmark got its verdict: what was compared, the figures, the minimum effect, what would decide.

        `detectable_effect`: the smallest change that would have been seen. `more_samples` and `samples_needed`: what
        would settle an open verdict. `test` is the detector's, `reason.text` the reason in words.
        """
        document = await self._report(path)
        findings = [
            one
            for one in document["findings"]
            # By the names that other answers show.
            if inert(one["benchmark"]) == benchmark and metric in (None, inert(one["metric"]))
        ]
        if not findings:
            names = sorted({one["benchmark"] if metric is None else one["metric"] for one in document["findings"]})
            raise UsageError(
                f"the report has no {benchmark if metric is None else f'{benchmark} ({metric})'}",
                place=path,
                next_step=did_you_mean(metric or benchmark, names, otherwise=f"it has: {', '.join(names[:20])}"),
            )
        around = {name: value for name, value in document.items() if name not in ("findings", "diagnosis", "costs")}
        return answer({**around, "findings": findings}, page="findings", form="report-v1")

    async def compare(
        self,
        call: Call,
        *,
        target: Annotated[Files, Field(min_length=1, description="Results to judge, of any known format.")],
        baseline: Annotated[Files, Field(description="Results to judge against; none: the stored history.")] = [],  # noqa: B006 - pydantic copies it
        paired: Annotated[bool, Field(description="Both were measured in one job, interleaved.")] = False,
        commit: Annotated[Revision, Field(description="Of the target, against the history.")] = "HEAD",
    ) -> Answered:
        """Judge benchmark results against others or against the stored history: a report."""
        against = ["--baseline", *self.place.files(baseline), *(["--paired"] if paired else [])]
        stored = ["--repo=.", f"--commit={self.place.commit(commit)}"]
        options = ["--target", *self.place.files(target), *(against if baseline else stored)]
        return await judged(self.place, call, *options)

    async def diagnose(
        self,
        call: Call,
        *,
        target: Annotated[Files, Field(min_length=1, description="Profiles, traces or execution logs.")],
        baseline: Annotated[Files, Field(description="The same of the revision before.")] = [],  # noqa: B006 - same
        logs: Annotated[
            Literal["labelled", "spring", "json"] | None, Field(description="The files are logs of this form.")
        ] = None,
        profile_format: Annotated[Name | None, Field(description="Where it can't be found by content.")] = None,
        commit: Annotated[Revision | None, Field(description="The commit between both, where it is known.")] = None,
        offset: Offset = 0,
    ) -> Answered:
        """Which methods cost most, or, with a baseline, which got slower and why: suspects, the likeliest first."""
        form = named(pattern=logs, format=profile_format)
        files = self.place.files(target)
        if baseline:
            between = ["--repo=.", f"--commit={self.place.commit(commit)}"] if commit else []
            options = ["--baseline", *self.place.files(baseline), "--target", *files, *between]
        else:
            options = ["--log" if logs else "--profile", *files]
        document = await self._json("diagnose", *options, *form, call=call)
        form_name = "tree-comparison-v1" if baseline else "diagnosis-v1"
        return answer(document, page="suspects", offset=offset, form=form_name)

    async def plan(
        self, call: Call, *, good: Revision, bad: Revision, benchmark: Name | None = None, metric: Name | None = None
    ) -> Answered:
        """What a search for the culprit between two commits would measure and cost, without measuring anything."""
        options = [f"--good={self.place.commit(good)}", f"--bad={self.place.commit(bad)}"]
        options += [*named(benchmark=benchmark, metric=metric), *self.place.settings]
        text = await run_text("bisect", "--dry-run", *options, place=self.place, tell=teller(call))
        return answer({"plan": text.splitlines()})

    async def _report(self, path: str) -> dict[str, Any]:
        file = self.place.file(path)
        data = await anyio.to_thread.run_sync(pipeline.saved_report, file, abandon_on_cancel=True)
        document: dict[str, Any] = json.loads(data)
        return document

    async def _json(self, command: str, *options: str, call: Call) -> Any:
        document, _ = await run_json(command, "--verbose", *options, place=self.place, tell=teller(call))
        return document


async def judged(place: Place, call: Call, *options: str, files: Sequence[Path] = ()) -> CallToolResult:
    """What `compare` says, kept in a file for `report` and `why`; `files` are named besides."""
    document, data = await run_json("compare", "--verbose", *options, place=place, tell=teller(call))
    kept = place.scratch / f"report-{len(list(place.scratch.iterdir()))}.json"
    replace_file(kept, data)
    return answer(document, page="findings", form="report-v1", files=[str(file) for file in (kept, *files)])


def named(**options: str | float | None) -> list[str]:
    """Options of the command line for what is given."""
    return [f"--{name}={value}" for name, value in options.items() if value is not None]


def teller(call: Call) -> Tell:
    """Each line as one step of progress."""
    steps = 0

    async def tell(line: str) -> None:
        nonlocal steps
        steps += 1
        await call.report_progress(steps, message=line)

    return tell
