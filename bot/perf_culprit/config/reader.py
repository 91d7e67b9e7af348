"""A YAML file -> `Config`; every mistake is reported with its line.

The file comes from the checkout and may be a stranger's. Its size is limited, and aliases are refused because they make
small files explode. Only `history.url` names a file or an address, without secret (docs/security.md). Its only commands
are in the section `bisect`. Jobs without secrets run them, from the default branch's file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from perf_culprit.commands.declared import Declared
from perf_culprit.config.database_url import HISTORY_URL, filed, is_database, parse_database
from perf_culprit.config.policy_settings import REPLACED
from perf_culprit.config.settings import Config
from perf_culprit.errors import ConfigError, UsageError, did_you_mean
from perf_culprit.files import read_limited
from perf_culprit.model.detectors import BENCHMARK_DETECTORS, COUNTER_DETECTORS, DECLARED
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.text_limits import TEXT_LIMITS

DEFAULT_PATH = Path(".github/perf-culprit.yml")
_CONFIG_PAGE = "docs/configuration.md"

_SectionT = TypeVar("_SectionT", bound=BaseModel)
# A mistake: its keys and positions, a message, and the next step.
Fault: TypeAlias = tuple[tuple[int | str, ...], str, str]


def load_config(path: Path | None) -> Config:
    """Read the file's configuration; without `path`, the default file's, or the defaults if it does not exist."""
    if path is None:
        if not DEFAULT_PATH.is_file():
            return Config.model_construct()
        path = DEFAULT_PATH
    step = f"check the path given as config; see {_CONFIG_PAGE}"
    data = read_limited(path, FILE_LIMITS.config_bytes, next_step=step, error=ConfigError)
    return parse_config(data, place=str(path))


def parse_config(data: bytes, *, place: str) -> Config:
    """Parse the configuration. Raise a ConfigError with `place:line` if it is wrong."""
    return parse_yaml(data, Config, place=place, docs=_CONFIG_PAGE)


def parse_yaml(
    data: bytes,
    kind: type[_SectionT],
    *,
    place: str,
    docs: str,
    prepare: Callable[[yaml.Node], None] = lambda _: None,
    check: Callable[[_SectionT], Iterable[Fault]] = lambda _: (),
) -> _SectionT:
    """Parse `data` as a `kind`. Raise a ConfigError with `place:line` if it is wrong.

    `prepare` may change the values' nodes; `check` finds faults between the parts.
    """
    try:
        loader = _Loader(data.decode("utf-8"))
        if (root := loader.get_single_node()) is None:
            root = yaml.MappingNode(tag="tag:yaml.org,2002:map", value=[], start_mark=yaml.Mark(place, 0, 0, 0, "", 0))
        if repeated := [(line, f"{key!r} is set twice") for key, line in _repeated_keys(root)]:
            raise _all_of(repeated, place=place, next_step="keep one of them")
        prepare(root)
        values = loader.construct_document(root)
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}", place=place, next_step="save it as UTF-8") from None
    except RecursionError:
        raise ConfigError("nested too deeply", place=place, next_step=f"see {docs}") from None
    except yaml.MarkedYAMLError as error:
        where = f"{place}:{error.problem_mark.line + 1}" if error.problem_mark else place
        raise ConfigError(f"not YAML: {error.problem}", place=where, next_step=f"see {docs}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"not YAML: {error}", place=place, next_step=f"see {docs}") from None
    try:
        value = kind.model_validate(values)
    except ValidationError as error:
        mistakes = {(_line_of(root, one["loc"]), _message(one, kind)) for one in error.errors(include_url=False)}
        raise _all_of(sorted(mistakes), place=place, next_step=f"see {docs}") from None
    for loc, message, step in check(value):
        raise ConfigError(message, place=f"{place}:{_line_of(root, loc)}", next_step=step)
    return value


def _all_of(mistakes: Sequence[tuple[int, str]], *, place: str, next_step: str) -> ConfigError:
    """One error for all mistakes, each a line number and a message."""
    (first, message), *others = mistakes[: TEXT_LIMITS.mistakes]
    lines = [message, *(f"{place}:{line}: {other}" for line, other in others)]
    more = [f"and {len(mistakes) - TEXT_LIMITS.mistakes} more"] if len(mistakes) > TEXT_LIMITS.mistakes else []
    return ConfigError("\n".join([*lines, *more]), place=f"{place}:{first}", next_step=next_step)


def override(section: _SectionT, values: Mapping[str, object], *, place: str) -> _SectionT:
    """Set `values`, written as in the file, in `section`. Raise a ConfigError that names `place` if one is wrong."""
    try:
        checked = type(section).model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # If there is a single value, the place already names it.
        message = _message({**first, "loc": first["loc"][1:]} if len(values) == 1 else first, type(section))
        raise ConfigError(message, place=place, next_step=f"see {_CONFIG_PAGE}") from None
    return section.model_copy(update={name: getattr(checked, name) for name in values})


def with_options(config: Config, options: Declared) -> Config:
    """Set the keys that the given options or inputs override."""
    for field in options.fields():
        key, value = field.option.key, getattr(options, field.name)
        if key and value:
            config = with_key(config, key, value, place=field.option.name)
    return config


def with_key(config: Config, key: str, value: object, *, place: str) -> Config:
    """Set the value of a key such as `suite` or `history.branch`."""
    if key == "detector":
        return with_detector(config, str(value), place=place)
    section, _, name = key.rpartition(".")
    if not section:
        return override(config, {name: value}, place=place)
    return config.model_copy(update={section: override(getattr(config, section), {name: value}, place=place)})


def with_detector(config: Config, name: str, *, place: str) -> Config:
    """Use detector `name` for what it can judge: benchmarks, counters or both. The other kind keeps its detector."""
    kinds = {"detector": BENCHMARK_DETECTORS, "counter_detector": COUNTER_DETECTORS}
    changes = {key: name for key, names in kinds.items() if name in names}
    if not changes:
        names = tuple(detector.name for detector in DECLARED)
        hint = did_you_mean(name, names, otherwise="see docs/detectors:")
        step = f"{hint} there are {', '.join(names)}"
        raise UsageError(f"there is no detector {name!r}", place=place, next_step=step)
    return config.model_copy(update=changes)


def with_database(
    config: Config, *, environ: Mapping[str, str], option: str | None = None, folder: Path = Path()
) -> Config:
    """Set the database of the history, if there is one, from `option`, the environment or the file.

    The environment takes precedence over the file, which may be a stranger's. Its password goes only to its own server.
    `folder` is the checkout with the file.
    """
    place = HISTORY_URL
    try:
        text = environ.get(HISTORY_URL, "").strip()
        chosen = parse_database(text, with_secret=True) if text else None
        if option:
            place = "--history"
            named = parse_database(option) if is_database(option) else None
            chosen = chosen if chosen is not None and named is not None and named.place == chosen.place else named
        elif chosen is None and config.history.url is not None:
            chosen = filed(config.history.url, environ=environ, folder=folder)
    except ValueError as error:
        raise UsageError(str(error), place=place, next_step="see docs/history.md, A database") from None
    return config.model_copy(update={"history": config.history.model_copy(update={"url": chosen})})


class _Loader(yaml.SafeLoader):
    """YAML without aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
            raise yaml.MarkedYAMLError(problem="aliases are not supported", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def _repeated_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield name, key.start_mark.line + 1
            seen.add(name)
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item)


def _line_of(root: yaml.Node, loc: Sequence[int | str]) -> int:
    """The line of the deepest part of `loc` that is in the file."""
    node, line = root, root.start_mark.line + 1
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            entry = next(((key, value) for key, value in node.value if key.value == part), None)
            if entry is None:
                break
            line, node = entry[0].start_mark.line + 1, entry[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return int(line)


def _message(error: Any, kind: type[BaseModel]) -> str:
    path = ".".join(str(part)[:60] for part in error["loc"])
    if error["type"] == "extra_forbidden" and path in REPLACED:
        return f"{path} is gone: {REPLACED[path]}"
    if error["type"] == "extra_forbidden":
        keys = _known_keys(kind, error["loc"][:-1])
        hint = did_you_mean(str(error["loc"][-1]), keys, otherwise=f"known keys: {', '.join(keys)}")
        return f"unknown key {path}; {hint}"
    text = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "literal_error":
        hint = did_you_mean(str(error["input"])[:60], re.findall("'([^']+)'", error["ctx"]["expected"]))
        text = f"{text}; {hint}".removesuffix("; ")
    return f"{path}: {text}" if path else text


def _known_keys(section: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    for part in loc:
        if isinstance(part, int):
            continue
        field = next((info for info in section.model_fields.values() if info.alias == part), None)
        section = next((inner for inner in _sections(field.annotation if field else None)), section)
    return sorted(str(info.alias) for info in section.model_fields.values())


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _sections(part)
