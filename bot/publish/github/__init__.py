"""GitHub as a host: one function per request, the first argument the connection. The only importer of PyGithub."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.publish.github.host import connect as connect
else:
    __getattr__ = front_door(__name__)
