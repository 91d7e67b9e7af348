"""Started by every Python of a traced command. It runs in the user's interpreter, of any version: plain old syntax.

The tracer is loaded under a name of its own: the program may have a package called `bot`, and must not see ours.
"""

import importlib.util
import os
import sys

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Old interpreters read this too:
# ruff: noqa: UP031, UP036


HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "_perf_culprit_trace"


def _load(name, path, package=None):
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=package)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _next_sitecustomize():
    """Run the one that we hide: a distribution's, or the user's."""
    for folder in sys.path:
        path = os.path.join(folder, "sitecustomize.py")
        if os.path.abspath(folder) != HERE and os.path.isfile(path):
            _load("sitecustomize", path)
            return


def _start(folder):
    if sys.version_info < (3, 11):
        with open(os.path.join(folder, "result-%d.json" % os.getpid()), "w") as file:
            file.write(
                '{"refused": "the command runs a Python before 3.11",'
                ' "next_step": "use Python 3.11 or newer for the command"}'
            )
        return
    package = os.path.dirname(HERE)
    _load(NAME, os.path.join(package, "__init__.py"), [package])
    importlib.import_module(NAME + ".trace_child").start(folder)


if HERE in sys.path:
    sys.path.remove(HERE)
_next_sitecustomize()
if os.environ.get("PERF_CULPRIT_TRACE"):
    _start(os.environ["PERF_CULPRIT_TRACE"])
