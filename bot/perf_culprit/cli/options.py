"""Options with the same meaning in every command: output files and the configuration."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit.commands.declared import Command, Configured
from perf_culprit.errors import UsageError

if TYPE_CHECKING:
    from perf_culprit.config.settings import Config


def check_outputs(options: Command) -> None:
    """Check, before the work starts, that its results can be written to the requested files."""
    page = next((page for page in ("html", "svg") if hasattr(options, page)), None)
    if getattr(options, "open", False) and page is not None and not getattr(options, page):
        raise UsageError(f"--open shows what --{page} writes", next_step=f"such as: --{page} report.{page} --open")
    for field in options.fields():
        path = getattr(options, field.name)
        if field.option.metavar == "OUT" and path not in (None, Path("-")) and not path.parent.is_dir():
            raise UsageError(
                f"cannot be written: there is no folder {path.parent}", place=str(path), next_step="make it first"
            )


def chosen_config(options: Configured) -> "Config":
    """Read the configuration, with the keys that options override."""
    from perf_culprit.config.reader import load_config, with_database, with_options

    chosen = with_options(load_config(options.config), options)
    return with_database(chosen, environ=os.environ, option=getattr(options, "history_url", None))
