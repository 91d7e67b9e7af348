"""Mistakes in a model file are reported with their line."""

from collections.abc import Mapping

import pytest

from perf_culprit.errors import BotError, ConfigError, UsageError
from perf_culprit.simulate.design_file import parse_design

MODEL = """\
name: shop
parameters: { rate: 2/s, servers: 3 }
world-view:
  components:
    clients: {}
    shop:
      instances: ${servers}
      requests:
        order:
          sends:
            - { to: bank, request: pay, size: 2 KB }
    bank: { requests: { pay: {} } }
  links:
    - { from: shop, to: bank, latency: 20 ms }
component:
  shop:
    threads: 4
    requests:
      order: { processing: 200 ms }
  bank:
    requests:
      pay: { processing: 50 ms }
physical:
  shop:
    cpu: 8 units
    requests:
      order: { cpu: 2 units }
scenario:
  day:
    arrivals:
      - from: clients
        to: shop
        request: order
        rate: ${rate}
    duration: 1 h
"""


def parse(text: str, parameters: Mapping[str, str] | None = None) -> object:
    return parse_design(text.encode(), parameters or {}, place="m.yml")


def test_parameters_are_filled_in() -> None:
    design = parse_design(MODEL.encode(), {"rate": "5/s"}, place="m.yml")
    assert design.scenario["day"].arrivals[0].rate == 5
    assert design.world_view.components["shop"].instances == 3
    assert design.parameters == {"rate": "5/s", "servers": 3}


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("processing: 200 ms", "processing: 200", 19, "write it with its unit, such as 2 s"),
        ("size: 2 KB", "size: 2000", 11, "write it with its unit, such as 5 KB"),
        ("latency: 20 ms", "latency: 20", 14, "write it with its unit"),
        ("duration: 1 h", "duration: 3600", 35, "write it with its unit"),
        ("{ to: bank,", "{ to: bang,", 11, "there is no component 'bang'"),
        ("request: pay", "request: paid", 11, "bank knows no request 'paid'"),
        ("from: shop, to: bank", "from: shop, to: moon", 14, "there is no component 'moon'"),
        ("to: shop\n", "to: stop\n", 32, "there is no component 'stop'"),
        ("request: order\n", "request: odour\n", 33, "shop knows no request 'odour'"),
        ("bank: { requests: { pay: {} } }", "bank: { requests: { pay: { sends: [ { to: shop, request: order } ] } } }",
         12, "a cycle, which never ends: shop order → bank pay → shop order"),
        ("processing: 200 ms", "processing: uniform(1 s, 2 s)", 19, "not 'uniform(1 s'"),
        ("latency: 20 ms", "latency: 20 ms, share: 40%", 14, "the links from shop to bank share out 40%"),
        ("duration: 1 h", "duration: 0 s", 35, "greater than 0"),
        ("rate: ${rate}", "rate: 0/s", 34, "greater than 0"),
        ("latency: 20 ms", "bandwidth: 0 MB/s", 14, "greater than 0"),
        ("duration: 1 h", "duration: 1 h\nscore:\n  - { of: orders, output: throughput }", 37, "no request, link or"),
        ("duration: 1 h", "duration: 1 h\nscore:\n  - { of: order, output: respons }", 37, "no output of order called"),
        ("duration: 1 h", "duration: 1 h\n    precise: [ { of: shop, output: cpu } ]", 36, "no output of shop called"),
        ("cpu: 2 units", "cpu: 9 units", 27, "asks for 9 of cpu where there are 8: it would wait forever"),
        ("cpu: 2 units", "ram: 9 MB", 27, "shop has no ram to be held"),
        ("{ processing: 200 ms }", "{ processing: 200 ms, threads: 5 }", 19, "asks for 5 of threads where there are 4"),
        ("threads: 4", "threds: 4", 17, "did you mean threads?"),
        ("rate: ${rate}", "rate: ${rat}", 34, "there is no parameter 'rat'"),
        ("processing: 200 ms", "processing: 'exponential(1 s, 2 s)'", 19, "exponential has 1 parameters, not 2"),
        ("duration: 1 h", "duration: 1 h\n    warm-up: 1 h", 36, "the warm-up leaves nothing"),
        ("request: order\n", "mix: { order: 40% }\n", 33, "its shares add up to 40%"),
        ("duration: 1 h", "duration: 1 h\n    instances: { shoe: 2 }", 36, "there is no component 'shoe'"),
        ("request: pay, size: 2 KB", "request: pay, resends: 2", 11, "without timeout nothing is ever sent again"),
        ("size: 2 KB }", "size: 2 KB, count: 90000 }", 11, "goes to 90,000 receivers"),
        ("duration: 1 h", "duration: 10000 h", 35, "asks for 72,000,000 requests"),
    ],
)  # fmt: skip
def test_mistakes_name_their_line(old: str, new: str, line: int, message: str) -> None:
    assert old in MODEL
    with pytest.raises(ConfigError) as caught:
        parse(MODEL.replace(old, new, 1))
    assert caught.value.place == f"m.yml:{line}"
    assert message in caught.value.message


def test_an_unknown_parameter_on_the_command_line_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"no parameter 'ratte'.*\n.*rate, servers"):
        parse(MODEL, {"ratte": "1/s"})


@pytest.mark.parametrize("text", ["", "name: x", "- 1", "name: [", "${x}: 1", "a: &a [*a]"])
def test_other_files_are_refused_with_a_place(text: str) -> None:
    with pytest.raises(BotError) as caught:
        parse(text)
    assert (caught.value.place or "").startswith("m.yml")
