"""Bisections, one event after the other: the search of `bot.bisect`, measured on other machines or on this one.

A bisection is one value (`bot.model.dispatch.Bisection`) that a store keeps; no program waits for it. An event (a
command, a completed run, a new commit in the pull request) loads the value, and the controller takes it one step on:

                         command (start)
                               |
                               v
                   +------> settle -------> done: outcome stored, recorded in the history, reported
                   |           |   no rounds left, time over, nobody wants it, three dispatches without a result
                   |           | propose rounds
                   |           v
                   |        stored  --------> taken over by another controller after five minutes
                   |           | send           (its sender died between storing and sending)
                   |           v
                   |         sent   <-------- looked at by any event: "under way"
                   |           | its run is completed
                   |           v
                   +------ advance: results taken, each round at most once; what is missing is proposed again

Whoever is killed between two arrows costs nothing: the next event starts from what is stored. Two controllers at once
are as one: a value is stored only over the version that it was made from, and whoever comes second loads it again.

Nobody need ask: `alarms` reads from the stored runs what got worse and was not searched, and at every event
`automatic` advances what is under way, reports what has ended, and starts the next.

`Controller` has a store and a dispatcher. On GitHub the store is the history branch and the dispatcher starts runs of
the bisect workflow (`workflow`), whose jobs run `bisect-job` (`job`). Of `perf-culprit bisect` the store is a file and
the dispatcher this machine (`here`, `side_by_side`, `local`), and the loop of events is its own.
"""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.dispatch.advance import advance_bisection
    from bot.dispatch.alarms import AUTOMATIC
    from bot.dispatch.automatic import tend_searches
    from bot.dispatch.controller import Controller
    from bot.dispatch.ends import bisection_ends, default_branch_commits
    from bot.dispatch.facts import Prior
    from bot.dispatch.forecast import bisection_plan
    from bot.dispatch.job import BisectJobPlan, bisect_job
    from bot.dispatch.local import BisectPlan, state_file
    from bot.dispatch.start import DispatchPlan, start_bisection
    from bot.dispatch.stop import stop_bisection
    from bot.dispatch.workflow import open_controller
    from bot.model.bisection import Engine, Sought
else:
    __getattr__ = front_door(__name__)
