import time

import pytest


@pytest.fixture
def words():
    time.sleep(0.02)
    return "a b c".split()


def test_join(words):
    time.sleep(0.03)
    assert " ".join(words)


class TestSplit:
    def test_split(self):
        time.sleep(0.05)

    @pytest.mark.skip
    def test_later(self): ...

    def test_wrong(self):
        assert not "x"
