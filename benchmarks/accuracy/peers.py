"""Rules that other tools use for change points, written from their descriptions or run in their own environment."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from scipy import stats

from perf_culprit.arrays import Floats
from perf_culprit.stats.steps import FIRST_JUDGED, REFRACTORY

Offline = Callable[[Floats], Sequence[int]]
Online = Callable[[Floats], Sequence[int]]

# Each reads one series per line and answers with one line of change indices.
ASV_SCRIPT = """
import json, sys
from asv.step_detect import detect_steps
for line in sys.stdin:
    print(json.dumps([left for left, *_ in detect_steps(json.loads(line))][1:]), flush=True)
"""
OTAVA_SCRIPT = """
import json, sys
from otava.analysis import compute_change_points
for line in sys.stdin:
    found, _ = compute_change_points(json.loads(line), window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    print(json.dumps([int(change.index) for change in found]), flush=True)
"""


def student_t(values: Floats, *, before: int, after: int, linear: bool) -> Floats:
    """|t| of `before` values against the `after` from each index on; weights fall linearly with the distance."""
    left_weights = np.arange(1, before + 1) / before if linear else np.ones(before)
    right_weights = np.arange(after, 0, -1) / after if linear else np.ones(after)
    result = np.zeros(len(values))
    if len(values) < before + after:
        return result
    windows = sliding_window_view(values, before + after)
    left, right = windows[:, :before], windows[:, before:]
    left_mean, right_mean = (
        np.average(left, weights=left_weights, axis=1),
        np.average(right, weights=right_weights, axis=1),
    )
    left_square = np.average((left - left_mean[:, None]) ** 2, weights=left_weights, axis=1) * before
    right_square = np.average((right - right_mean[:, None]) ** 2, weights=right_weights, axis=1) * after
    pooled = np.sqrt((left_square + right_square) / (before + after - 2))
    floor = 1e-9 * np.abs(left_mean) + 1e-12
    t = np.abs(right_mean - left_mean) / (np.maximum(pooled, floor) * np.sqrt(1 / before + 1 / after))
    result[before : before + len(t)] = t
    return result


def peaks(strength: Floats, *, above: float, apart: int) -> list[int]:
    inner = strength[1:-1]
    places = np.flatnonzero((inner > above) & (inner >= strength[:-2]) & (inner > strength[2:])) + 1
    kept: list[int] = []
    for index in places[np.argsort(-strength[places], kind="stable")]:
        if all(abs(index - other) >= apart for other in kept):
            kept.append(int(index))
    return sorted(kept)


def first_alarms(raised: npt.NDArray[np.bool_]) -> list[int]:
    """Return the builds at which a rule fires, with our own gate's refractory time between two alarms."""
    alarms: list[int] = []
    for build in np.flatnonzero(raised):
        if build >= FIRST_JUDGED and (not alarms or build - alarms[-1] > REFRACTORY):
            alarms.append(int(build))
    return alarms


def student_offline(values: Floats, *, before: int, after: int, above: float, apart: int) -> list[int]:
    return peaks(student_t(values, before=before, after=after, linear=True), above=above, apart=apart)


def student_online(values: Floats, *, before: int, after: int, above: float) -> list[int]:
    strength = student_t(values, before=before, after=after, linear=True)
    # The split's strength is known once its last `after` value is.
    return first_alarms(np.roll(strength, after - 1) > above)


def welch_p(values: Floats, window: int) -> Floats:
    """Welch's p of `window` values before against those from each index on; 1 near the ends."""
    result = np.ones(len(values))
    windows = sliding_window_view(values, window)
    mean, variance = windows.mean(axis=1), windows.var(axis=1, ddof=1) + 1e-18
    outcome = stats.ttest_ind_from_stats(
        mean[:-window], np.sqrt(variance[:-window]), window, mean[window:], np.sqrt(variance[window:]), window, False
    )
    result[window : window + len(outcome.pvalue)] = outcome.pvalue
    return result


def welch_offline(values: Floats) -> list[int]:
    return peaks(-np.log(welch_p(values, 12) + 1e-300), above=-np.log(0.05), apart=0)


def welch_online(values: Floats) -> list[int]:
    return first_alarms(np.roll(welch_p(values, 8), 7) < 0.05)


def ratio_rule(values: Floats, *, percent: float) -> list[int]:
    """Return the builds that differ from the previous one by the ratio, in either direction."""
    ratio = np.ones(len(values))
    np.divide(values[1:], values[:-1], out=ratio[1:], where=values[:-1] > 0)
    raised = (ratio > percent / 100) | (ratio < 100 / percent)
    return [int(index) for index in np.flatnonzero(raised)]


def ratio_online(values: Floats, *, percent: float) -> list[int]:
    raised = np.zeros(len(values), dtype=bool)
    raised[ratio_rule(values, percent=percent)] = True
    return first_alarms(raised)


def kernel_cpd(values: Floats, *, kernel: str) -> list[int]:
    """ruptures, penalty 3 ln n in units of the noise (median absolute first difference)."""
    try:
        import ruptures
    except ImportError:
        raise LookupError("ruptures is not installed") from None
    step = np.diff(values)
    noise = 1.4826 * np.median(np.abs(step - np.median(step))) / np.sqrt(2) or values.std() or 1.0
    signal = np.clip((values - np.median(values)) / noise, -50, 50)
    penalty = 3 * np.log(len(values))
    if kernel == "pelt":
        # Every fifth build, as ruptures does by default: the pure Python search is slow.
        result = ruptures.Pelt(model="l2", min_size=2, jump=5).fit(signal).predict(pen=penalty)
    else:
        result = ruptures.KernelCPD(kernel=kernel, min_size=2).fit(signal[:, None]).predict(pen=penalty)
    return [int(index) for index in result[:-1]]


@cache
def interpreter_of(variable: str, script: str) -> subprocess.Popen[str]:
    interpreter = os.environ.get(variable)
    if not interpreter:
        raise LookupError(f"{variable} names no interpreter")
    return subprocess.Popen([interpreter, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def elsewhere(values: Floats, *, variable: str, script: str) -> list[int]:
    """Run a tool whose pinned packages collide with ours by its own interpreter."""
    process = interpreter_of(variable, script)
    if process.stdin is None or process.stdout is None:
        raise LookupError(f"{variable} has no pipes")
    process.stdin.write(json.dumps(values.tolist()) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise LookupError(f"{variable}'s interpreter ended")
    return [int(index) for index in json.loads(answer)]


# "tuned": the best of a grid on the tuning half, none chosen on the reporting half.
OFFLINE_PEERS: Mapping[str, Offline] = {
    "Student t, linear weights 12/12, t > 7 (default)": partial(student_offline, before=12, after=12, above=7, apart=0),
    "Student t, linear weights 20/20, t > 6.5, 12 apart (tuned)": partial(
        student_offline, before=20, after=20, above=6.5, apart=12
    ),
    "Welch t 12/12, p < 0.05": welch_offline,
    **{f"ratio {percent}%": partial(ratio_rule, percent=percent) for percent in (110, 150, 200)},
    "ruptures Pelt l2": partial(kernel_cpd, kernel="pelt"),
    "ruptures KernelCPD linear": partial(kernel_cpd, kernel="linear"),
    "ruptures KernelCPD rbf": partial(kernel_cpd, kernel="rbf"),
    "asv step_detect": partial(elsewhere, variable="ASV_PYTHON", script=ASV_SCRIPT),
    "apache-otava, window 50, p 0.001": partial(elsewhere, variable="OTAVA_PYTHON", script=OTAVA_SCRIPT),
}
ONLINE_PEERS: Mapping[str, Online] = {
    "Student t, linear weights 12/12, t > 7 (default)": partial(student_online, before=12, after=12, above=7),
    "Student t, linear weights 20/10, t > 6 (tuned)": partial(student_online, before=20, after=10, above=6.0),
    "Welch t 8/8, p < 0.05": welch_online,
    **{f"ratio {percent}%": partial(ratio_online, percent=percent) for percent in (110, 150, 200)},
}
