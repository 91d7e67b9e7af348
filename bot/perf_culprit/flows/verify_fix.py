"""measure -> judge: whether a fix undoes a culprit's regressions, with all three commits side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perf_culprit import git
from perf_culprit.commands.measure_requests import Measure, Verify
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows.compare import compare_runs
from perf_culprit.flows.measure_plan import measure_plan
from perf_culprit.flows.measurement import measure_commits
from perf_culprit.model.finding import BaselineSource, Finding, Verdict
from perf_culprit.model.run import MetricKey, Run
from perf_culprit.model.run_file import decode_run
from perf_culprit.progress import Say


class Fix(StrEnum):
    FIXED = "fixed"
    PARTLY = "partly fixed"
    NOT = "not fixed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """A metric that the culprit made worse: its regression, and what is left of it after the fix."""

    culprit: Finding
    left: Finding
    answer: Fix


def verify_fix(options: Verify, *, config: Config, say: Say) -> tuple[Verified, ...]:
    """Return every metric that the culprit made worse, in the report's order; empty if there is none."""
    culprit = git.resolve_commit(options.repository, options.culprit)
    parents = git.parents(options.repository, culprit)
    if not parents:
        raise UsageError(
            "the first commit has nothing before it", place="--culprit", next_step="name the commit that made it worse"
        )
    commits = (parents[0], culprit, git.resolve_commit(options.repository, options.fix))
    shared = {name: value for name, value in vars(options).items() if name not in ("culprit", "fix")}
    plan = measure_plan(Measure(commits=commits, **shared), config=config, say=say)
    measurement = measure_commits(plan, config=config, say=say)
    if measurement.fault is not None:
        raise measurement.fault
    base, bad, fixed = (decode_run(file.read_bytes(), place=str(file)) for file in measurement.files)
    worse, left, gained = (
        _findings(before, after, config) for before, after in ((base, bad), (base, fixed), (bad, fixed))
    )
    return tuple(
        Verified(culprit=one, left=left[key], answer=fix_of(left[key].verdict, gained[key].verdict))
        for key, one in worse.items()
        if one.verdict is Verdict.REGRESSION and key in left and key in gained
    )


def _findings(base: Run, target: Run, config: Config) -> Mapping[MetricKey, Finding]:
    report = compare_runs(target, baseline=(base,), source=BaselineSource.PAIRED, config=config)
    return {finding.key: finding for finding in report.findings}


def fix_of(left: Verdict, gained: Verdict) -> Fix:
    """Judge one metric. `left` compares the fix with the culprit's parent, `gained` compares it with the culprit."""
    if left in (Verdict.UNCHANGED, Verdict.IMPROVEMENT):
        return Fix.FIXED
    if left is Verdict.REGRESSION:
        return Fix.PARTLY if gained is Verdict.IMPROVEMENT else Fix.NOT
    return Fix.UNDECIDED


def overall(verified: tuple[Verified, ...]) -> Fix:
    """Combine all answers: partly fixed if some regression is left, not fixed if nothing was gained anywhere."""
    answers = {fix.answer for fix in verified}
    if len(answers) == 1:
        return answers.pop()
    if Fix.UNDECIDED in answers and answers <= {Fix.UNDECIDED, Fix.FIXED}:
        return Fix.UNDECIDED
    return Fix.PARTLY if answers & {Fix.FIXED, Fix.PARTLY} else Fix.NOT
