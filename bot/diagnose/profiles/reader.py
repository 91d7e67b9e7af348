"""What a reader of profiles provides."""

from typing import Protocol

from bot.diagnose.profiles.file import ProfileFile
from bot.model.profile import Profile


class ProfileReader(Protocol):
    """One format. A module that has these names is one (PEP 544: no `self` in a module); its id is in the registry.

    `matches` looks at the beginning of the content only, is cheap and never raises. `read` gives one profile per
    service, with one repetition unless the format holds more; it tells the file of whatever it cannot use, and raises
    DataError only where nothing sensible can follow.
    """

    def matches(self, file: ProfileFile, /) -> bool: ...
    def read(self, file: ProfileFile, /) -> tuple[Profile, ...]: ...
