"""A link at work: when a message arrives, what was lost, and what it cost."""

from bot.config.design import Link
from bot.simulate.streams import Streams

MEGABYTE = 1e6


class Channel:
    """`busy` has a row [asked, began, ended] per use of a shared link.

    `uses` has (time, new messages, cost) per sending over a link with a price.

    A shared link is a queue whose times are known when a message is sent, so that it needs no events of its own.
    """

    def __init__(self, link: Link, name: str, streams: Streams) -> None:
        self.link = link
        self.name = name
        self.busy: list[list[float]] = []
        self.uses: list[tuple[float, float, float]] = []
        self._free_at = 0.0
        self._latency = streams.draws(link.latency, f"{name} latency")
        self._next_gap = streams.gaps(link.loss, f"{name} loss")
        self._gap = self._next_gap()
        self._is_priced = bool(link.price_per_message or link.price_per_megabyte)

    def send(self, now: float, count: int, size: float, *, is_first: bool) -> float:
        """When the last of `count` messages arrives."""
        link = self.link
        if self._is_priced:
            cost = count * (link.price_per_message + size / MEGABYTE * link.price_per_megabyte)
            self.uses.append((now, count * is_first, cost))
        began = ended = now
        if link.bandwidth is not None and link.shared:
            began = max(now, self._free_at)
            self._free_at = ended = began + count * size / link.bandwidth
            self.busy.append([now, began, ended])
        elif link.bandwidth is not None:
            ended = now + size / link.bandwidth
        return ended + self._latency()

    def lost(self, count: int) -> int:
        """How many of `count` messages are lost."""
        lost = 0
        while count > self._gap:
            count -= int(self._gap) + 1
            self._gap = self._next_gap()
            lost += 1
        self._gap -= count
        return lost

    @property
    def acknowledgement(self) -> float:
        """Seconds that an acknowledgement takes, which is too small for the bandwidth to count."""
        return self._latency()
