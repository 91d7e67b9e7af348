"""Workloads with known structure, for tests of the tracer. Imported by several interpreters: standard library only."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any


def tiny(x: int) -> int:
    return x + 1


def chatty() -> None:
    for number in range(300):
        tiny(number)


def spin(turns: int) -> int:
    total = 0
    for number in range(turns):
        total += number * number
    return total


def numbers() -> Iterator[int]:
    for number in range(4):
        spin(200)
        yield number


def generator() -> None:
    for _ in numbers():
        spin(100)


async def step() -> None:
    spin(300)
    await asyncio.sleep(0.02)
    spin(300)


async def both() -> None:
    await asyncio.gather(step(), step())


def coroutines() -> None:
    asyncio.run(both())


def countdown(levels: int) -> int:
    return 0 if levels == 0 else countdown(levels - 1)


def recursion() -> None:
    countdown(50)


def ping(levels: int) -> None:
    spin(20)
    if levels:
        pong(levels - 1)


def pong(levels: int) -> None:
    ping(levels)


def mutual() -> None:
    ping(5)


def fail() -> None:
    spin(300)
    raise ValueError


def raising() -> None:
    for _ in range(3):
        with contextlib.suppress(ValueError):
            fail()


def in_thread() -> None:
    spin(300)


def threads() -> None:
    started = [threading.Thread(target=in_thread) for _ in range(2)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def decorator(function: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(function)
    def wrapper() -> Any:
        return function()

    return wrapper


@decorator
def decorated() -> None:
    spin(300)


def decorators() -> None:
    decorated()


class First:
    def run(self) -> None:
        spin(300)


class Second:
    def run(self) -> None:
        spin(300)


def namesakes() -> None:
    First().run()
    Second().run()


two_lambdas = (lambda: spin(300), lambda: spin(300))


def helper() -> None:
    spin(200)


def parse() -> None:
    helper()


def shared() -> None:
    helper()
    parse()


def c_functions() -> None:
    for _ in range(10):
        sum(range(2000))
    sorted([3, 1, 2], key=tiny)
