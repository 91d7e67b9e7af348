"""The declaration of a command, the values that its options accept, and the options shared by many commands.

Nothing here loads a library: `perf-culprit --help` reads all declarations. The base class avoids `dataclass`, which
compiles code for each class: for all commands that takes half of the help's time limit.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, dataclass_transform

from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.count import SIZE, Count, as_quantity


class Group(NamedTuple):
    """Options under their own title in the help, or options that exclude each other."""

    title: str = ""
    text: str = ""
    is_exclusive: bool = False


class Option(NamedTuple):
    """An option or argument, defined by the form that the usage shows: `--repo DIR`, `--paths PATH ...`, `[FILE]`.

    The form of an action's input is its name. A field of several values also accepts repeated options. `key` is the
    configuration key that the option overrides; without a `text` of its own it has that key's meaning. `convert` makes
    the value from a text that is not empty; by default the field's type does.
    """

    form: str
    text: str = ""
    key: str | None = None
    convert: Callable[[str], object] | None = None
    choices: tuple[str, ...] | None = None
    group: Group | None = None

    @property
    def flags(self) -> list[str]:
        return [word for word in self.form.split() if word.startswith("-")]

    @property
    def name(self) -> str:
        """The name for messages."""
        return self.flags[-1] if self.flags else f"input {self.form}"

    @property
    def value(self) -> str:
        """The value as the usage shows it; "" for a flag."""
        return " ".join(word for word in self.form.split() if not word.startswith("-"))

    @property
    def metavar(self) -> str:
        return self.value.strip("[]").removesuffix(" ...")


class Field(NamedTuple):
    """One option of one command, or one input. `kind` is the type of its value, or of each of its values."""

    name: str
    option: Option
    kind: type
    is_several: bool
    is_required: bool
    default: object


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Declared:
    """A frozen value whose fields are declared by annotations. A field that is not given takes its class's value."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def replaced(self, **changes: Any) -> Self:
        return type(self)(**{**vars(self), **changes})

    @classmethod
    def fields(cls) -> Iterator[Field]:
        """Yield the options that every such value has, then the class's own, then those it shares with some others."""
        *owners, root, _, _ = cls.__mro__
        for owner in (root, *owners):
            for name, annotation in owner.__annotations__.items():
                for option in getattr(annotation, "__metadata__", ()):
                    yield _field(cls, name, annotation.__origin__, option)


class Command(Declared):
    """A command of the command line. Its docstring's first line is its help; its examples are shown and tested."""

    NAME: ClassVar[str]
    EXAMPLES: ClassVar[tuple[str, ...]]

    quiet: Annotated[bool, Option("-q --quiet", "print only the result and errors")] = False
    verbose: Annotated[bool, Option("-v --verbose", "log each step with its time to standard error")] = False

    def __init_subclass__(cls, *, name: str = "", examples: tuple[str, ...] = ()) -> None:
        cls.NAME, cls.EXAMPLES = name, examples

    @classmethod
    def line(cls, **values: object) -> str:
        """Return the command line that gives these fields their values. None, False and () are left out."""
        import shlex

        flags = {field.name: field.option.name for field in cls.fields()}
        words = ["perf-culprit", cls.NAME]
        for name, value in values.items():
            texts = value if isinstance(value, tuple) else (value,)
            if texts not in ((), (None,)) and value is not False:
                words += [flags[name], *(str(text) for text in texts if value is not True)]
        return shlex.join(words)

    @classmethod
    def description(cls) -> str:
        return (cls.__doc__ or "").partition("\n")[0]


def _field(owner: type[Declared], name: str, hint: Any, option: Option) -> Field:
    parts: tuple[Any, ...] = getattr(hint, "__args__", ())
    if type(None) in parts:
        hint = parts[0]
    is_several = getattr(hint, "__origin__", None) is tuple
    return Field(
        name=name,
        option=option,
        kind=hint.__args__[0] if is_several else hint,
        is_several=is_several,
        is_required=not hasattr(owner, name),
        default=getattr(owner, name, None),
    )


def whole_number(text: str) -> int:
    """Return a whole number from 0 up."""
    number = int(text) if text.isdecimal() and len(text) < 10 else -1
    if number < 0:
        raise ValueError(f"{text!r} is not a whole number from 0 up")
    return number


def positive(text: str) -> int:
    number = whole_number(text)
    if number == 0:
        raise ValueError("must be at least 1")
    return number


def number_from_zero(text: str) -> float:
    number = _float(text)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{text!r} is not a number from 0 up")
    return number


def as_seconds(text: str) -> float:
    return _time(text, unit="seconds")


def as_minutes(text: str) -> float:
    return _time(text, unit="minutes")


def _time(text: str, *, unit: str) -> float:
    number = _float(text)
    if not 0 < number < 1e9:
        raise ValueError(f"{text!r} is not a time in {unit}")
    return number


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def as_part(text: str) -> str:

    index, _, number = text.partition("/")
    if not 1 <= positive(index) <= positive(number) <= ARTIFACT_LIMITS.reports:
        raise ValueError(f"{text!r} is not a part such as 2/4, of at most {ARTIFACT_LIMITS.reports}")
    return text


def as_variant(text: str) -> str:
    name, _, value = text.partition("=")
    if not (name and value and name.replace("-", "_").replace(".", "_").isidentifier()):
        raise ValueError(f"{text!r} is not NAME=TEXT, such as 'new=./bench --fast'")
    return text


def commit_hash(text: str) -> str:
    """Return the full hash of a commit, in lower case."""
    from perf_culprit.model.run import FULL_HASH

    if not FULL_HASH.fullmatch(text.lower()):
        raise ValueError(f"{text!r} is not a full hash of a commit; git rev-parse prints it")
    return text.lower()


QUANTITIES: Final = f"{', '.join(Count)}, {SIZE}PATTERN of files"
RepositoryOption = Annotated[Path, Option("--repo DIR", "repository (default: this directory)")]
HistoryUrl = Annotated[str | None, Option("--history URL", "where the history branch lives (default: remote origin)")]
Tool = Annotated[str, Option("--tool NAME", "format of the results (default: by content)")]
Suite = Annotated[
    str | None, Option("--suite NAME", "suite that the benchmarks belong to (default: configuration)", key="suite")
]
Cache = Annotated[Path | None, Option("--cache DIR", "keep builds here from one call to the next")]
EnvironmentOption = Annotated[
    tuple[str, ...],
    Option(
        "--environment NAME ...", "pass these variables to the commands; on GitHub most are withheld (docs/measure.md)"
    ),
]
Also = Annotated[
    tuple[str, ...],
    Option(
        "--also NAME,…",
        f"also measure these (default: also in the configuration): {QUANTITIES} (docs/measure.md)",
        convert=lambda text: [as_quantity(part.strip()) for part in text.split(",")],
    ),
]


class Configured(Command):
    """A command that reads the configuration."""

    config: Annotated[
        Path | None, Option("--config FILE", "configuration (default: .github/perf-culprit.yml where it exists)")
    ] = None


class MeasuringCommand(Configured):
    """A command that runs the user's commands on commits."""

    repository: RepositoryOption = Path()
    run: Annotated[
        str | None,
        Option("--run CMD", "shell command that measures; writes $PERF_CULPRIT_OUTPUT or prints (default: bisect.run)"),
    ] = None
    build: Annotated[
        str | None,
        Option("--build CMD", "shell command that builds a commit, once per content (default: bisect.build)"),
    ] = None
    timeout: Annotated[float, Option("--timeout S", "limit of one run (default: 600 seconds)", convert=as_seconds)] = (
        600.0
    )
    build_timeout: Annotated[
        float, Option("--build-timeout S", "limit of one build (default: 3600 seconds)", convert=as_seconds)
    ] = 3600.0
    cache: Cache = None
    environment: EnvironmentOption = ()
    tool: Tool = "auto"
    # Options of some of these commands. `also`: None measures nothing more; empty means what the configuration names.
    metric: str | None = None
    also: tuple[str, ...] | None = None
