"""Bisections, one event after the other: the search of `search`, measured on other machines or on this one.

A bisection is one value (`model.dispatch.Bisection`) that a store keeps; no program waits for it. An event (a
command, a completed run, a new commit in the pull request) loads the value, and the controller advances it by one step:

                         command (start)
                               |
                               v
                   +------> settle -------> done: outcome stored, recorded in the history, reported
                   |           |   no rounds left, time over, not wanted, three dispatches without a result
                   |           | propose rounds
                   |           v
                   |        stored  --------> taken over by another controller after five minutes
                   |           | send           (its sender died between storing and sending)
                   |           v
                   |         sent   <-------- looked at by any event: "under way"
                   |           | its run is completed
                   |           v
                   +------ advance: results taken, each round at most once; what is missing is proposed again

A controller killed between two arrows loses nothing: the next event starts from the stored value. Two controllers can
run at once: a value only replaces the version that it was made from. The second controller loads it again.

Searches also start automatically. `alarms` finds unsearched regressions in the stored runs. At every event `automatic`
advances the searches under way, reports those that ended, and starts the next.

`Controller` has a store and a dispatcher. On GitHub the store is the history branch and the dispatcher starts runs of
the bisect workflow (`workflow_dispatcher`), whose jobs run `bisect-job` (`bisect_job`). For `perf-culprit bisect` the
store is a file, the dispatcher is this machine (`local_dispatcher`), and the command runs its own loop of events
(`local_bisection`). A search by counts that times confirm is the same sequence in both (`counts_then_times`).
`package_chain` writes the commits over which a search of packages goes.
"""
