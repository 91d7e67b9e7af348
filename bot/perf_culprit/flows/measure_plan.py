"""The plan of a measurement: its commits or variants, its commands and rounds, and what need not be measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replace_commands
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.commands.measure_requests import DEFAULT_ROUNDS, ROUNDS_UNTIL_DECIDED, TRACE_AUTO, Measure
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows.benchmark_index import is_default_push, runs_file, stored_index
from perf_culprit.flows.compare import flagged
from perf_culprit.flows.compared_commits import event_ends
from perf_culprit.flows.render import read_report
from perf_culprit.flows.user_commands import counting_commands, shell_commands
from perf_culprit.judge.paired_executions import planned_looks
from perf_culprit.machine.this_machine import TracePlan
from perf_culprit.measure.affected import AFFECTED, reach
from perf_culprit.measure.runner import VARIANT_VARIABLE, Commands
from perf_culprit.model.count import is_built, is_exact_quantity
from perf_culprit.model.run import Part, Unreached
from perf_culprit.progress import Say

COUNT_ROUNDS: Final = 1  # counts and sizes repeat; the second execution of each side shows that they do
WORKING_TREE: Final = "."
COMMITTED, UNCOMMITTED = "as committed", "with uncommitted changes"


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasurePlan:
    """The requested measurement, completed by the configuration and this machine: at most `rounds` of A B B A.

    With `until_decided`, it adds rounds until an interim analysis decides all metrics. `analyses`: the rounds after
    which a change can be proven. `names`: measure only these benchmarks; all if it is empty.
    `is_indexed`: see to an index of each benchmark's methods. `variants`: by commit, what distinguishes the sides
    besides their commits.
    """

    options: Measure
    commands: Commands
    tool: str
    rounds: int
    analyses: tuple[int, ...]
    names: tuple[str, ...] = ()
    part: Part | None = None
    unreached: Unreached | None = None
    is_indexed: bool = False
    variants: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_reached(self) -> bool:
        return self.unreached is None or bool(self.unreached.packages)

    @property
    def trace(self) -> TracePlan | None:
        options = self.options
        if options.trace == "off":
            return None
        return TracePlan(
            repetitions=options.trace_repetitions,
            budget_s=options.trace_budget,
            full=options.trace_full,
            include=options.trace_include,
            at=options.at,
        )

    @property
    def facts(self) -> Mapping[str, object]:
        """The options, by name, that a measurement must share with the one that it resumes."""
        return {
            "--run": self.commands.run,
            "--build": self.commands.build,
            "--tool": self.tool,
            "--metric": self.commands.count,
            "--also": self.commands.also,
            **({"--variant": self.options.variant} if self.options.variant else {}),
            **({"--flagged": self.names} if self.names else {}),
            **({"--harness": self.options.harness} if self.options.harness else {}),
            **({"--part": self.options.part, "--list": self.options.list_command} if self.part else {}),
        }


def measure_plan(
    options: Measure, *, config: Config, say: Say, environ: Mapping[str, str] | None = None
) -> MeasurePlan:
    options, variants = _with_ends(options)
    commands, tool = shell_commands(config, options)
    commands, tool = counting_commands(commands, metric=options.metric, tool=tool, say=say)
    if options.variant:
        texts = {commit: label.partition("=")[2] for commit, label in variants.items()}
        commands = replace_commands(commands, variants=texts)
    usual = COUNT_ROUNDS if is_exact_quantity(commands.count) else DEFAULT_ROUNDS
    environ = environ or {}
    rounds = options.rounds or (ROUNDS_UNTIL_DECIDED if options.until_decided else usual)
    names = options.only
    if options.flagged is not None and (minutes := options.minutes or config.confirm.budget):
        names = flagged(read_report(options.flagged))
        options = options.replaced(minutes=minutes)
    part = _part(options)
    if part is not None and part.indices != (1,):
        commands = replace_commands(commands, also=())  # the first part measures these for the whole
    plan = MeasurePlan(
        options=options,
        commands=commands,
        tool=tool,
        rounds=rounds,
        analyses=planned_looks(rounds, proven=config.proven) if options.until_decided else (rounds,),
        names=names,
        part=part,
        variants=variants,
        is_indexed=options.trace == TRACE_AUTO and not names and part is None and is_default_push(environ),
    )
    # Two commits that a person names are measured, even if they are one.
    is_asked = config.affected == "documents" and not (options.affected or "GITHUB_EVENT_NAME" in environ)
    if config.affected == "off" or is_asked or names or part is not None or options.variant:
        return plan
    return _of_changes(plan, config=config, say=say, environ=environ)


def _with_ends(options: Measure) -> tuple[Measure, Mapping[str, str]]:
    """Give the working tree and each variant a commit of its own; return what distinguishes the sides, by commit."""
    repository = options.repository
    if not options.variant:
        if WORKING_TREE not in options.commits:
            return options, {}
        ends = tuple(_commit(repository, commit) for commit in options.commits)
        names = (UNCOMMITTED if commit == WORKING_TREE else COMMITTED for commit in options.commits)
        labels = dict(zip(ends, names, strict=True))
        # Without a change, the working tree is its own commit.
        return options.replaced(commits=ends), labels if len(labels) == len(ends) else {}
    if len(options.commits) > 1 or len(options.variant) < 2:
        message = "--variant compares two or more variants of one commit"
        step = "give --variant at least twice, the baseline first, and at most one commit"
        raise UsageError(message, place="--variant", next_step=step)
    (revision,) = options.commits or ("HEAD",)
    commit = _commit(repository, revision)
    (tree,) = git.tree_names(repository, [commit])
    labels = {
        git.unnamed_commit(repository, str(tree), parent=commit, message=f"variant {number}: {one}"): one
        for number, one in enumerate(options.variant, start=1)
    }
    return options.replaced(commits=tuple(labels), run=options.run or f'eval "${VARIANT_VARIABLE}"'), labels


def _commit(repository: Path, revision: str) -> str:
    return git.working_tree(repository) if revision == WORKING_TREE else git.resolve_commit(repository, revision)


# Other events store a run, or somebody requested it: measure everything.
_OF_CHANGES: Final = (None, "pull_request", "merge_group")


def _of_changes(plan: MeasurePlan, *, config: Config, say: Say, environ: Mapping[str, str]) -> MeasurePlan:
    """Leave out what the difference between the two commits, or between a job's commit and its base, cannot reach."""
    options, commands = plan.options, plan.commands
    event, ends = environ.get("GITHUB_EVENT_NAME"), options.commits
    if len(ends) == 1 and event is not None:
        ends = (event_ends(options.repository, environ).baseline, *ends)
    if len(ends) != 2 or event not in _OF_CHANGES or any(map(is_built, (*commands.also, commands.count))):
        return plan
    base, head = (git.resolve_commit(options.repository, end) for end in ends)
    answer = reach(
        options.repository,
        base,
        head,
        run=commands.run,
        build=commands.build,
        only=config.affected,
        environment=commands.environment,
    )
    is_left = answer.unreached is not None and config.affected != "documents"
    if is_left and (whole_since := _reached_by_index(options.repository, base, head, config=config)):
        say(f"measured whole, since {whole_since}")
        return plan
    if answer.why is None:
        say(f"not measured: {answer.why_not}")
    elif config.affected != "documents":
        say(f"measured, since {answer.why}")
    run = commands.run if answer.arguments is None else AFFECTED.sub(lambda _: str(answer.arguments), commands.run)
    return replace_commands(plan, unreached=answer.unreached, commands=replace_commands(commands, run=run))


def _reached_by_index(repository: Path, base: str, head: str, *, config: Config) -> str | None:
    """Name a benchmark that ran what changed, although the graph does not reach it. None without a stored index."""
    changes = git.file_changes(repository, base, head)
    index = stored_index(repository, base, config=config) or {}
    runs = runs_file(index, {path for change in changes for path in (change.path, change.old_path)})
    return None if runs is None else "{} runs {}, which is in {}".format(*runs)


def _part(options: Measure) -> Part | None:
    if (options.part is None) != (options.list_command is None) or (options.part and options.metric):
        message = "--part and --list need each other, and --metric, which counts the whole command, has no parts"
        raise UsageError(message, place="--part", next_step="give both without --metric, or neither")
    if options.part is None:
        return None
    index, count = map(int, options.part.split("/"))
    return Part(indices=(index,), count=count)
