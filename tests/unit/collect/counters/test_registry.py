from bot.collect import PARSERS
from bot.collect.counters.registry import COUNTER_READERS
from bot.collect.registry import parsers_for


def test_readers_are_parsers_and_can_be_named() -> None:
    assert COUNTER_READERS.items() <= PARSERS.items()
    for name, reader in COUNTER_READERS.items():
        assert parsers_for(name) == (reader,)
        assert reader.ID == name


def test_readers_are_asked_before_the_formats_that_anything_may_be() -> None:
    order = list(PARSERS)
    last = max(order.index(name) for name in COUNTER_READERS)
    assert last < order.index("bencher_metric_format")
