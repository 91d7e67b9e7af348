"""The command `init`: looks at a repository, and writes or checks the workflow files of the documentation."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.cli.init.check import check_files as check_files
    from bot.cli.init.files import Choice as Choice
    from bot.cli.init.files import new_files as new_files
    from bot.cli.init.tools import look as look
    from bot.cli.init.tools import suggestions as suggestions
else:
    __getattr__ = front_door(__name__)
