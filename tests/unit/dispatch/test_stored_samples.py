"""The measurements of a search are stored apart from baselines and read back as the same rounds."""

from msgspec.structs import replace

from perf_culprit.dispatch.stored_samples import bisect_suite, record_search, search_runs, usable_blocks
from perf_culprit.model.bisection import SearchSettings, SearchState
from perf_culprit.model.dispatch import BisectCommands, Bisection
from perf_culprit.model.run import Benchmark, Environment, Run
from perf_culprit.search.search import Search
from tests.support.fake_history import MemoryHistory
from tests.support.runner_pool import KEY, START, TIME, Pool, chain_range, commits

SIZE = 8
RANGE = chain_range(SIZE)
COMMANDS = BisectCommands(run="./bench")
NAMES = commits(SIZE)


def measured(rounds: int = 12) -> SearchState:
    pool = Pool(slow_from=5, seed=3)
    search = Search.start(RANGE, settings=SearchSettings(seed=1))
    for _ in range(rounds):
        for job in search.propose(1):
            search.record(
                job.id,
                {commit: [pool.value(f"{job.id} {commit}", commit, pool.drawn(job.id))] for commit in job.commits},
            )
    return search.state


def recorded(state: SearchState, commands: BisectCommands = COMMANDS) -> MemoryHistory:
    history = MemoryHistory()
    record_search(
        history,
        Bisection(
            id="1",
            key=KEY,
            metric=TIME,
            commands=commands,
            search=state,
            started_at=START,
            environments=({"cpu": "A", "os": "Linux"}, {"cpu": "B", "os": "Linux"}),
        ),
    )
    return history


def test_runs_of_a_search_are_a_suite_of_their_own() -> None:
    state = measured()
    history = recorded(state)
    assert history.commits("default") == {}
    results = {commit for result in state.results for commit in result.values}
    assert set(history.commits(bisect_suite("default"))) == results
    assert history.stored[0].environment.components == {"os": "Linux"}
    assert "no baseline" in history.stored[0].notes[0]


def test_recording_again_changes_nothing() -> None:
    state = measured()
    assert recorded(state).stored == recorded(state).stored


def test_rounds_come_back_as_they_were() -> None:
    state = measured()
    blocks = usable_blocks(recorded(state).stored, RANGE, key=KEY, commands=COMMANDS)
    assert blocks.blocks == tuple(result.values for result in state.results)
    assert blocks.executions == sum(len(result.values) for result in state.results)
    again = Search.start(RANGE, settings=SearchSettings(seed=1), stored=blocks.blocks)
    assert again.state.phase is not Search.start(RANGE, settings=SearchSettings(seed=1)).state.phase


def test_a_search_that_was_recorded_and_then_went_on_counts_once() -> None:
    part, whole = measured(8), measured(12)
    assert whole.results[:8] == part.results
    history = recorded(part)
    history.stored += [replace(run, job=f"{run.job}-later") for run in recorded(whole).stored]
    blocks = usable_blocks(history.stored, RANGE, key=KEY, commands=COMMANDS).blocks
    assert blocks == tuple(result.values for result in whole.results)


def test_a_search_that_was_recorded_and_then_resumed_stores_and_counts_each_round_once() -> None:
    part, whole = measured(8), measured(12)
    history = recorded(part)
    bisection = Bisection(id="1", key=KEY, metric=TIME, commands=COMMANDS, search=whole, started_at=START)
    record_search(history, bisection, recorded_rounds=8)
    stored = [number for run in history.stored for one in run.benchmarks for number in one.rounds]
    assert len(stored) == sum(len(result.values) for result in whole.results)
    blocks = usable_blocks(history.stored, RANGE, key=KEY, commands=COMMANDS).blocks
    assert blocks == tuple(result.values for result in whole.results)
    # A call that was killed had recorded some rounds, and the next one records all of them.
    record_search(history, bisection)
    blocks = usable_blocks(history.stored, RANGE, key=KEY, commands=COMMANDS).blocks
    assert blocks == tuple(result.values for result in whole.results)


def test_other_commands_and_other_hardware_are_left_out() -> None:
    runs = recorded(measured()).stored
    other = usable_blocks(runs, RANGE, key=KEY, commands=BisectCommands(run="./bench --large"))
    assert (other.blocks, other.other_commands) == ((), len(runs))
    elsewhere = Environment(components={"os": "Darwin"})
    blocks_of_both = usable_blocks(runs, RANGE, key=KEY, commands=COMMANDS, environment=elsewhere)
    assert (blocks_of_both.blocks, blocks_of_both.other_hardware) == ((), len(runs))


def run_of(commit: str, *samples: float, job: str | None, groups: tuple[int, ...] = ()) -> Run:
    benchmark = Benchmark.of(name=KEY.benchmark, metric=TIME, samples=samples, group_sizes=groups)
    return Run(benchmarks=(benchmark,), commit=commit, job=job)


def test_a_run_that_was_measured_alone_is_no_sample() -> None:
    alone = [run_of(NAMES[1], 1.0, job=None), run_of(NAMES[2], 1.0, job="push-1"), run_of(NAMES[3], 2.0, job="push-2")]
    blocks_of_both = usable_blocks(alone, RANGE, key=KEY, commands=COMMANDS)
    assert (blocks_of_both.blocks, blocks_of_both.alone) == ((), 3)


def test_commits_measured_side_by_side_are_one_block_of_executions() -> None:
    pair = [
        run_of(NAMES[1], 1.0, 3.0, 2.0, 5.0, job="measure-1", groups=(3, 1)),
        run_of(NAMES[5], 4.0, 6.0, job="measure-1", groups=(1, 1)),
    ]
    blocks_of_both = usable_blocks(pair, RANGE, key=KEY, commands=COMMANDS)
    assert blocks_of_both.blocks == ({NAMES[1]: (2.0, 5.0), NAMES[5]: (4.0, 6.0)},)
    stranger = [replace(pair[0], commit="f" * 40), pair[1]]
    assert usable_blocks(stranger, RANGE, key=KEY, commands=COMMANDS).blocks == ()


def test_a_run_of_a_search_names_its_rounds() -> None:
    state = measured()
    good = search_runs(state, key=KEY, metric=TIME, suite="s", job="j", time=START)[0]
    (benchmark,) = good.benchmarks
    assert len(benchmark.rounds) == len(benchmark.group_sizes) == len(benchmark.samples)
    assert benchmark.rounds == tuple(
        number for number, result in enumerate(state.results, start=1) if NAMES[0] in result.values
    )
