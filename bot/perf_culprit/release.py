"""The commit of this release. The release workflow writes it here; between releases it is unknown."""

from typing import Final

COMMIT: Final = "0" * 40
IS_RELEASE: Final = COMMIT != "0" * 40
