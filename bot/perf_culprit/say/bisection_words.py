"""The sentences of bisections: the answer, its notes, and the state of the dispatches."""

from collections.abc import Iterator, Mapping
from math import expm1
from typing import Final

from perf_culprit.model.bisection import (
    NEGLIGIBLE,
    BisectionReport,
    Culprit,
    Noise,
    Outcome,
    OutcomeKind,
    Rates,
    Sought,
)
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import Objection, ReasonCode, SearchReason
from perf_culprit.say.inert import SHORT_HASH
from perf_culprit.say.numbers import count_of, lasted, percent, percent_interval, significant

_INTRODUCED: Final = "{commit} introduced the {kind:prose}: {change:+%} ({low:+%} … {high:+%})"

BISECTIONS: Final[Mapping[ReasonCode, str]] = {
    Objection.PULL_REQUEST_CLOSED: "the pull request was closed",
    Objection.HEAD_MOVED: "the head of the pull request has moved on[ from {head}]",
    SearchReason.STILL_THERE: "the regression is still there",
    SearchReason.TIME_SPENT: "time budget exhausted before the search finished[; --resume {file:prose} resumes it]",
    SearchReason.DISPATCHES_FRUITLESS: (
        "{count:,} dispatches in a row gave no result; see the log of the bisect workflow"
    ),
    SearchReason.SAME_COUNT: "both ends count the same {count:prose}; search without --metric for a change of times",
    SearchReason.NOT_COUNTED: "{why:prose}; times are measured instead",
    SearchReason.NO_COMMIT_BY_COUNTS: (
        "counts of instructions name no commit[ ({why:prose})]: times are measured instead"
    ),
    SearchReason.TIME_CONFIRMS: (
        "its time ({benchmark}) confirms it: " + _INTRODUCED + "; {executions:# execution} of it and its parent"
    ),
    SearchReason.TIME_UNCHANGED: (
        "by instructions " + _INTRODUCED + "; its time is not seen to change: times are measured instead"
    ),
    SearchReason.ENDS_ALIKE_BY_TIME: (
        "times cannot tell the ends apart in {executions:# execution}[; bad against good: {change:+%} ({low:+%} … "
        "{high:+%})][; a change of {visible:%} would have been seen][; noise of one execution: {spread:%}]"
        "[, autocorrelation from one to the next {autocorrelation:.3g}][; the machine has two states, a factor of "
        "{mode_ratio:.3g} apart, the slow one {slow_share:%} of the time]"
    ),
    SearchReason.RUN_UNKNOWN: (
        "run {run:d} was refused: dispatch {dispatch} is not part of the stored bisection; the history branch may "
        "have been rewritten; start again with a new command, or restore the branch"
    ),
    SearchReason.RUN_OF_OTHER: "run {run:d} was refused: dispatch {dispatch} was sent as run {sent:d}",
    SearchReason.RESULT_REFUSED: "the result of {job} was refused: {why:prose}",
    SearchReason.NOTHING_MEASURED: "{job} measured nothing: {why:prose}",
    SearchReason.ROUNDS_LOST: "{lost:,} of {rounds:,} rounds were lost and will be measured again",
    SearchReason.SENT_LATE: "dispatch {dispatch} was stored and never sent: it is sent now",
    SearchReason.RUN_UNDER_WAY: "run {run:d} is under way",
    SearchReason.BEING_SENT: "dispatch {dispatch} is being sent by another job",
    SearchReason.OTHER_IMAGE: (
        "an end was recorded on {images}, the search measures on {runner}: what the image changed shows at no commit; "
        "bisect.runner names another"
    ),
    SearchReason.MEASURED_ON_IMAGES: "the machines ran {images}, where {runner} was asked for",
    SearchReason.CHANGE_OF_GOOD: (
        "{commit} measures like its parent {parent}, an ancestor of the good commit[; good differs from {parent} by "
        "{change:+%} ({low:+%} … {high:+%})]: to find that change, search with {parent} as the good end"
    ),
    SearchReason.PARENT_LOST: "{commit} is not confirmed: its parent {parent}, outside the range, cannot be measured",
    SearchReason.PARENT_ALIKE: (
        "{commit} is not confirmed: {repetitions} rounds with its parent show {change:+%} ({low:+%} … {high:+%}), and "
        "would miss {visible:+%} once in 20 times; repeat more often (--repeat), or search with engine bayes"
    ),
    SearchReason.CHANCE_OF_ERROR: (
        "{repetitions} rounds with its parent confirm {commit}; a commit that equals its parent passes them with a "
        "chance of {chance:%}, if the rounds are independent and normal"
    ),
    SearchReason.PACKAGE_CHANGED: (
        "{package} made {change:+%} ({low:+%} … {high:+%}), of {count:# package} that differ, in "
        "{executions:# execution} of the files of {commit}"
    ),
    SearchReason.PACKAGES_POSSIBLE: (
        "one of these changed it: {packages} (of {count:# package} that differ, in {executions:# execution} of the "
        "files of {commit})"
    ),
    SearchReason.PACKAGES_ALIKE: (
        "none of {count:# package} that differ explains it, in {executions:# execution} of the files of {commit}"
    ),
    SearchReason.PACKAGES_UNDECIDED: (
        "{count:# package} that differ stay undecided after {executions:# execution} of the files of {commit}: "
        "{why:prose}"
    ),
    SearchReason.PACKAGES_FAILED: "with the packages up to {package} it does not run: {why:prose}",
    SearchReason.PACKAGES_NOT_INSTALLED: (
        "every commit may have run with the same ones; the ends differ in {files}: --build {install} installs them"
    ),
    SearchReason.PACKAGES_NOT_SEARCHED: "not searched: {why:prose}",
    SearchReason.OTHER_WAY: "the rate changed the other way: search with --direction {direction:prose}",
    SearchReason.STEP_AFTER: (
        "the bad end differs from {before} by {change:+%} ({low:+%} … {high:+%}): to find that change, search the same "
        "with {before} as the good end"
    ),
}
# What a search of packages found. It explains the named commit, so it stands below its name.
OF_PACKAGES: Final = frozenset(
    {
        SearchReason.PACKAGE_CHANGED,
        SearchReason.PACKAGES_POSSIBLE,
        SearchReason.PACKAGES_ALIKE,
        SearchReason.PACKAGES_UNDECIDED,
        SearchReason.PACKAGES_FAILED,
        SearchReason.PACKAGES_NOT_SEARCHED,
        SearchReason.PACKAGES_NOT_INSTALLED,
    }
)


HEADLINES: Final = {
    OutcomeKind.CULPRIT: "Found the commit",
    OutcomeKind.SEVERAL_CULPRITS: "Several commits introduced the change",
    OutcomeKind.SUSPECT_SET: "One of several commits introduced the change",
    OutcomeKind.DECAY: "Gradual change across many commits; no single culprit",
    OutcomeKind.NOT_REPRODUCED: "The change was not reproduced",
    OutcomeKind.INCONCLUSIVE: "Inconclusive: more executions are needed",
    OutcomeKind.FIXED_ON_GOOD_SIDE: "Nothing got worse: the good side got better",
    OutcomeKind.CHANGE_OF_GOOD: "No commit of the range: the good commit differs from its own ancestor",
    OutcomeKind.BUDGET_SPENT: "Stopped before the answer was certain: the budget is spent",
    OutcomeKind.UNMEASURABLE: "An end of the range cannot be measured",
}
UNCONFIRMED: Final[Mapping[ReasonCode, str]] = {
    SearchReason.PARENT_LOST: "its parent cannot be measured",
    SearchReason.PARENT_ALIKE: "its difference from its parent is not significant",
}
_SURE: Final = 0.99  # of a name; a lower certainty is stated
HARDLY_ANY: Final = 0.001  # noise of an exact count, where autocorrelation has no meaning
PLAIN: Final = {
    OutcomeKind.DECAY: "The change came in many small parts.",
    OutcomeKind.INCONCLUSIVE: "The ends could not be told apart at this noise with this many executions.",
    OutcomeKind.FIXED_ON_GOOD_SIDE: "The merge base measures like the bad end: only the good side changed.",
    OutcomeKind.CHANGE_OF_GOOD: "The likeliest commit measures like its parent, an ancestor of the good commit.",
    OutcomeKind.BUDGET_SPENT: "Good and bad could not be told apart within the budget.",
    OutcomeKind.UNMEASURABLE: "Could not measure the good or bad commit. Check the command, benchmark and metric.",
}


def reason_of(report: BisectionReport) -> str:
    """Return the reason why the search ended, in one sentence."""
    return _of_rates(report.outcome) or _of_changes(report)


def _of_changes(report: BisectionReport) -> str:
    outcome, count = report.outcome, count_of(len(report.outcome.suspects), "candidate")
    match outcome.kind:
        case OutcomeKind.CULPRIT | OutcomeKind.SEVERAL_CULPRITS:
            return _resolution(outcome)
        case OutcomeKind.SUSPECT_SET:
            apart = f"{count} cannot be told apart: {_failing(report)}."
            unconfirmed = [UNCONFIRMED[note.code] for note in outcome.notes if note.code in UNCONFIRMED]
            return f"The likeliest commit is not confirmed: {unconfirmed[0]}." if unconfirmed else apart
        case OutcomeKind.NOT_REPRODUCED:
            return _beside(report) or _denial(report)
        case OutcomeKind.INCONCLUSIVE if outcome.needed is not None:
            more = count_of(outcome.needed, "more execution")
            return f"The change is real; finding its commit takes about {more}, which is over the budget."
        case OutcomeKind.BUDGET_SPENT if outcome.suspects:
            one = "It is this commit with a chance of 95%; it is not confirmed against its parent."
            return one if len(outcome.suspects) == 1 else f"It is one of {count} with a chance of 95%."
        case kind:
            return _beside(report) or PLAIN[kind]


def _of_rates(outcome: Outcome) -> str | None:
    rates, kind = outcome.rates, outcome.kind
    if rates is None:
        return None
    if kind is OutcomeKind.CULPRIT:
        return "Before are all commits without it, since are those with it."
    if kind not in {OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE}:
        return None
    words = {
        0: "The command never failed: repeat the search where it does, such as under load.",
        rates.before + rates.since: "The command always failed: run it in a checkout of the good commit.",
    }
    return words.get(rates.failed_before + rates.failed_since, _to_prove(outcome, rates))


def _to_prove(outcome: Outcome, rates: Rates) -> str:
    """Say what would prove that the rates of the ends differ. Their executions are at most half of the budget."""
    if not outcome.needed:
        return "The ends are not proven to differ."
    more, whole = count_of(outcome.needed, "more execution"), 2 * (rates.before + rates.since + outcome.needed)
    return f"The ends are not proven to differ. If rates stay, about {more} of them prove it: --executions {whole}."


def fails_in(rates: Rates, before: str, since: str) -> str:
    """Return both rates in words; `before` and `since` name their commits."""
    return (
        f"fails in {rates.failed_before:,} of {rates.before:,} {before}, "
        f"{rates.failed_since:,} of {rates.since:,} {since}"
    )


def _failing(report: BisectionReport) -> str:
    """State which suspects do not run: a row of them by the commits around it, and by how many were tried."""
    suspects, commits = report.outcome.suspects, report.commit_range.commits
    measured_commits = {commit.commit for commit in report.measured}
    failed = [suspect.commit for suspect in suspects if suspect.skipped is not None]
    untried = sum(suspect.commit not in measured_commits for suspect in suspects)
    names = {suspect.commit for suspect in suspects}
    places = [place for place, commit in enumerate(commits) if commit in names]
    first, last = min(places, default=0), max(places, default=0)
    if not untried or len(names) != last - first + 1:
        return f"{len(failed) or 'some'} of them cannot be measured"
    before = commits[first - 1] if first else report.commit_range.good
    ends = f"between {before[:SHORT_HASH]} and {commits[last][:SHORT_HASH]}"
    return f"{count_of(len(failed) + untried, 'commit')} {ends} cannot be run ({len(failed):,} tried)"


def _beside(report: BisectionReport) -> str | None:
    """Explain the merge base's level if the ends are not on one line."""
    base = _merge_base(report)
    if base is None or report.outcome.kind is OutcomeKind.FIXED_ON_GOOD_SIDE:
        return None
    was = "worse" if _is_worse(report, base) else "better"
    ends = f"search with --good {base[:SHORT_HASH]} and either end as --bad"
    return f"The merge base is {was} than both ends, which do not differ: each side changed it. To find where: {ends}."


def _merge_base(report: BisectionReport) -> str | None:
    """Return the merge base that ended the search before its range was searched."""
    kinds, outcome = {OutcomeKind.FIXED_ON_GOOD_SIDE, OutcomeKind.NOT_REPRODUCED}, report.outcome
    bases = report.commit_range.merge_bases if outcome.kind in kinds and outcome.relative_change is None else ()
    changes = {commit.commit: abs(commit.relative_change or 0.0) for commit in report.measured}
    return max(bases, key=lambda base: changes.get(base, 0.0), default=None)


def beside_headline(report: BisectionReport) -> str | None:
    if report.settings.of_failures:
        is_denied = report.outcome.kind is OutcomeKind.NOT_REPRODUCED
        return "No change of the rate of failures" if is_denied else None
    base = _merge_base(report)
    if base is None:
        return None
    if report.outcome.kind is OutcomeKind.NOT_REPRODUCED:
        return "The ends do not differ: both sides changed alike"
    better, worse = ("better", "worse") if _is_worse(report, base) else ("worse", "better")
    return f"Nothing got {worse}: the good side got {better}"


def _is_worse(report: BisectionReport, commit: str) -> bool:
    """Whether the commit is worse than the good end."""
    change = next((entry.relative_change for entry in report.measured if entry.commit == commit), None)
    return report.settings.direction.worse_sign * (change or 0.0) > 0


def _resolution(outcome: Outcome) -> str:
    """State how much of the change may come from commits that were not named."""
    is_one = len(outcome.culprits) == 1
    if outcome.unresolved is None:
        return f"{'It' if is_one else 'Each'} is the first whose test against the good end is significant."
    if outcome.unresolved > NEGLIGIBLE:
        most = f"up to {percent(outcome.unresolved)} of the change"
        if outcome.is_open:
            return f"Unresolved: {most} may come from commits not named."
        return f"No other culprit found; one of {most} may have been missed."
    return "It explains the change." if is_one else "Together they explain the change."


def _denial(report: BisectionReport) -> str:
    interval = report.outcome.confidence_interval
    expected, change = report.settings.expected_change, report.outcome.relative_change
    if expected is not None and interval is not None and change is not None:
        stored = expm1(report.settings.direction.worse_sign * expected)
        difference = f"Measured side by side, the two ends differ by {sized(change, interval)}"
        return f"{difference}, not by the {percent(stored, signed=True)} of the stored runs."
    if (other := other_way(report)) is not None:
        return f"The bad end is {other} than the good one: search with --direction {other}."
    return (
        "The ends of the range do not differ here. If they did elsewhere, the machine, a compiler or packages without "
        "a lock file differed."
    )


def other_way(report: BisectionReport) -> Sought | None:
    """Return the direction of the ends' difference if only the opposite one was searched for."""
    interval, sought = report.outcome.confidence_interval, report.settings.sought
    is_denied = report.outcome.kind is OutcomeKind.NOT_REPRODUCED and report.settings.expected_change is None
    if not is_denied or sought is Sought.ANY or interval is None or interval.low <= 0 <= interval.high:
        return None
    return Sought.BETTER if sought is Sought.WORSE else Sought.WORSE


def introduced(culprit: Culprit) -> str:
    if culprit.rates is not None:
        change = "lowered" if culprit.improvement else "raised"
        return f"{change} the rate of failures: {fails_in(culprit.rates, 'before', 'since')}"
    what = "improvement" if culprit.improvement else "regression"
    return f"introduced the {what}: {sized(culprit.relative_change, culprit.confidence_interval)}"


def sized(relative_change: float, interval: Interval | None) -> str:
    bounds = f" {percent_interval(interval.low, interval.high)}" if interval else ""
    return f"{percent(relative_change, signed=True)}{bounds}"


def name_certainty(culprit: Culprit) -> str | None:
    """Return the certainty of the culprit's name. Its part of the change is a separate question."""
    if culprit.posterior is None:
        return None
    sure = "" if culprit.posterior >= _SURE else f"{percent(culprit.posterior)} likely; "
    return f"{sure}confirmed in rounds against its parent"


def evidence_sentences(outcome: Outcome) -> Iterator[str]:
    """Yield the evidence in statistical terms."""
    if outcome.noise is not None and (correlation := outcome.noise.autocorrelation) is not None:
        yield f"autocorrelation of the noise from one execution to the next: {significant(correlation)}"
    for culprit in outcome.culprits:
        if culprit.posterior is not None and culprit.log_bayes_factor is not None:
            yield (
                f"{culprit.commit[:SHORT_HASH]}: posterior {culprit.posterior:.4f}, "
                f"log evidence of its rounds {culprit.log_bayes_factor:.1f}"
            )


def facts_of(report: BisectionReport) -> Iterator[str]:
    """Yield sentences with numbers."""
    outcome = report.outcome
    if outcome.relative_change is not None:
        yield f"Bad against good: {sized(outcome.relative_change, outcome.confidence_interval)}."
    if outcome.rates is not None:
        yield f"It {fails_in(outcome.rates, 'at the good end', 'at the bad end')}."
        if outcome.visible_effect is not None:
            way = "fall" if report.settings.sought is Sought.BETTER else "rise"
            yield f"At most a {way} by {100 * outcome.visible_effect:.0f} points would have been missed."
    elif outcome.visible_effect is not None and other_way(report) is None:
        yield f"A change of {percent(outcome.visible_effect)} would have been seen."
    if outcome.noise is not None:
        yield _noise(outcome.noise)


def _noise(noise: Noise) -> str:
    spread = expm1(noise.standard_deviation)
    if spread < HARDLY_ANY:
        return f"The executions of an end differed by less than {percent(HARDLY_ANY)}."
    parts = [f"Noise of one execution: {percent(spread)}"]
    if noise.mode_ratio is not None and noise.slow_share is not None:
        parts.append(
            f"the machine has two states, a factor of {significant(noise.mode_ratio)} apart, "
            f"the slow one {percent(noise.slow_share)} of the time"
        )
    return "; ".join(parts) + "."


def cost_of(report: BisectionReport) -> str:
    outcome, seconds = report.outcome, report.runner_seconds
    minutes = f", {lasted(seconds)} of measuring and building" if seconds else ""
    return (
        f"{count_of(outcome.executions, 'execution')} in {count_of(outcome.rounds, 'round')}{minutes}; "
        f"{count_of(len(report.commit_range.commits), 'candidate')}, "
        f"{count_of(len(report.measured), 'commit')} measured; "
        f"engine {report.settings.engine}, seed {report.settings.seed}."
    )
