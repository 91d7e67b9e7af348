import signal

import pytest

from perf_culprit.measure.processes import interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_interrupts_and_later_ones_do_not(number: signal.Signals) -> None:
    outside = signal.getsignal(number)
    # The tests themselves may run under nohup, which ignores SIGHUP.
    signal.signal(number, signal.default_int_handler)
    try:
        cleaned = False
        with interruptible():
            try:
                signal.raise_signal(number)
            except KeyboardInterrupt:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGTERM)
                cleaned = True
        assert cleaned
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, outside)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
