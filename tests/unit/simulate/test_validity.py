"""The simulation against closed forms, which must lie within the interval of its replications."""

import math

import numpy as np
import pytest

from perf_culprit.model.simulation import Estimate
from perf_culprit.simulate.design_file import parse_design
from perf_culprit.simulate.network import Network
from perf_culprit.simulate.replication import replicate, simulation
from perf_culprit.simulate.stations import Streams

pytestmark = pytest.mark.slow  # a dozen replications for each interval

MODEL = """
name: queue
world-view:
  components: {{ clients: {{}}, server: {{}} }}
component:
  server: {{ threads: {threads}, requests: {{ job: {{ processing: {processing} }} }} }}
scenario:
  steady:
    arrivals: [{{ from: clients, to: server, request: job, rate: {rate}/s }}]
    duration: 4000 s
"""

JACKSON = """
name: network
world-view:
  components:
    clients: {}
    front:
      requests:
        ask:
          sends:
            - { to: fast, request: work, probability: 70% }
            - { to: slow, request: work, probability: 30% }
    fast: {}
    slow: {}
component:
  front: { threads: 1, requests: { ask: { processing: exponential(500 ms) } } }
  fast: { threads: 1, requests: { work: { processing: exponential(800 ms) } } }
  slow: { threads: 2, requests: { work: { processing: exponential(3 s) } } }
scenario:
  steady:
    arrivals: [{ from: clients, to: front, request: ask, rate: 1/s }]
    duration: 4000 s
"""


def waiting_in_mmc(rate: float, service_s: float, servers: int) -> float:
    """The mean queue length of M/M/c (Erlang C)."""
    offered = rate * service_s
    load = offered / servers
    last = offered**servers / math.factorial(servers) / (1 - load)
    busy = last / (sum(offered**number / math.factorial(number) for number in range(servers)) + last)
    return busy * load / (1 - load)


def estimates(text: str, *, replications: int = 12) -> dict[tuple[str, str], Estimate]:
    design = parse_design(text.encode(), {}, place="model.yml")
    done = [replicate(design, "steady", 7, number) for number in range(replications)]
    simulated = simulation(design, "steady", done, seed=7).estimates
    return {(each.output.of, each.output.metric.name): each for each in simulated}


def assert_holds(estimate: Estimate, expected: float) -> None:
    """Check that the 95% interval holds the expected value. The seed is fixed, so the result is not random."""
    assert estimate.half_width is not None
    assert abs(estimate.mean - expected) <= estimate.half_width
    # A very wide interval would prove nothing.
    assert estimate.half_width < 0.2 * expected


@pytest.mark.parametrize(("rate", "service_s", "servers"), [(0.7, 1.0, 1), (2.4, 1.0, 3)], ids=["M/M/1", "M/M/c"])
def test_mmc(rate: float, service_s: float, servers: int) -> None:
    sizes = estimates(MODEL.format(threads=servers, processing=f"exponential({service_s} s)", rate=rate))
    waiting = waiting_in_mmc(rate, service_s, servers)
    assert_holds(sizes["server", "queue length"], waiting)
    assert_holds(sizes["job", "response time"], waiting / rate + service_s)
    assert_holds(sizes["server", "threads utilisation"], 100 * rate * service_s / servers)


def test_md1_by_pollaczek_and_khinchine() -> None:
    sizes = estimates(MODEL.format(threads=1, processing="1 s", rate=0.7))
    assert_holds(sizes["server", "queue length"], 0.7**2 / (2 * (1 - 0.7)))


def test_mdc_by_crommelin() -> None:
    sizes = estimates(MODEL.format(threads=2, processing="1 s", rate=1.6))
    assert_holds(sizes["server", "queue length"], mean_queue_of_mdc(rate=1.6, servers=2))


def mean_queue_of_mdc(*, rate: float, servers: int, states: int = 400) -> float:
    """The mean queue of M/D/c by Crommelin's chain, sampled once per service time: all in service leave by the next."""
    poisson = np.array([math.exp(-rate + k * math.log(rate) - math.lgamma(k + 1)) for k in range(states)])
    chain = np.zeros((states, states))
    for now in range(states):
        left = max(now - servers, 0)
        chain[now, left:] = poisson[: states - left]
        chain[now, -1] += 1 - chain[now].sum()
    weights = np.linalg.matrix_power(chain, 4096)[0]
    return float((np.maximum(np.arange(states) - servers, 0) * weights).sum())


def test_jackson_network() -> None:
    """Each node behaves as if it were alone [Jackson 1957]."""
    sizes = estimates(JACKSON)
    in_front, in_fast, in_slow = (waiting_in_mmc(*node) for node in ((1.0, 0.5, 1), (0.7, 0.8, 1), (0.3, 3.0, 2)))
    assert_holds(sizes["front", "queue length"], in_front)
    assert_holds(sizes["fast", "queue length"], in_fast)
    assert_holds(sizes["slow", "queue length"], in_slow)
    inside = in_front + 0.5 + in_fast + 0.7 * 0.8 + in_slow + 0.3 * 3.0
    assert_holds(sizes["ask", "response time"], inside / 1.0)  # Little's law


def test_nobody_starts_before_all_that_is_needed_is_free_at_once() -> None:
    """The large request waits for both threads. The small one would fit but does not overtake it."""
    text = """
name: both
world-view: { components: { clients: {}, server: {} } }
component:
  server:
    threads: 2
    requests:
      small: { processing: 10 s }
      large: { processing: 10 s, threads: 2 }
scenario:
  once:
    arrivals:
      - { from: clients, to: server, request: small, rate: 0.1/s, process: regular }
      - { from: clients, to: server, request: large, rate: 0.0833333333/s, process: regular }
    duration: 45 s
    warm-up: 0 s
"""
    design = parse_design(text.encode(), {}, place="model.yml")
    network = Network(design, design.scenario["once"], Streams(0, 0))
    network.run()
    visits = network.places["server"].visits
    assert [row[:2] for row in visits["small"][:2]] == [[10, 10], [20, 30]]
    assert visits["large"][0] == pytest.approx([12, 20, 30], abs=1e-5)


def test_the_same_seed_gives_the_same_and_another_seed_something_else() -> None:
    design = parse_design(MODEL.format(threads=1, processing="exponential(1 s)", rate=0.5).encode(), {}, place="m.yml")
    first, again, other = (replicate(design, "steady", seed, 0).means for seed in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
