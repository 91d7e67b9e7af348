"""Bisections, one event after the other: the search of `search`, measured on other machines or on this one.

A bisection is one value (`model.dispatch.Bisection`) that a store keeps; no program waits for it. An event (a
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
