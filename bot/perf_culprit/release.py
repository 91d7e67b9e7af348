"""Which release this is. The release workflow writes its commit here; in between releases it is unknown."""

from typing import Final

COMMIT: Final = "0" * 40
IS_RELEASE: Final = COMMIT != "0" * 40
