"""How a command is declared, what a value on the command line may be, and the options that many commands have.

Nothing here loads a library: `perf-culprit --help` reads all declarations. `dataclass` compiles code for each class,
which for all commands takes half of the time that help may take, so the base class does without.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, dataclass_transform

from perf_culprit.model.count import SIZE, Count, as_quantity


class Group(NamedTuple):
    """Options under their own title in the help, or options that exclude each other."""

    title: str = ""
    text: str = ""
    is_exclusive: bool = False


class Option(NamedTuple):
    """An option or argument by the form in which the usage shows it: `--repo DIR`, `--paths PATH ...`, `[FILE]`.

    A field of several values takes them from repeated options too. `key` is the configuration's, which the option
    overrides. `convert` makes the value of the text; by default the field's type does.
    """

    form: str
    text: str
    key: str | None = None
    convert: Callable[[str], object] | None = None
    choices: tuple[str, ...] | None = None
    group: Group | None = None

    @property
    def flags(self) -> list[str]:
        return [word for word in self.form.split() if word.startswith("-")]

    @property
    def value(self) -> str:
        """As the usage shows it; "" of a flag."""
        return " ".join(word for word in self.form.split() if not word.startswith("-"))

    @property
    def metavar(self) -> str:
        return self.value.strip("[]").removesuffix(" ...")


class Field(NamedTuple):
    """One option of one command. `kind` is the type of its value, or of each of several."""

    name: str
    option: Option
    kind: type
    is_several: bool
    is_required: bool
    default: object


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Declared:
    """A frozen value whose fields are declared by annotations; a field that is not given is its class's."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def replaced(self, **changes: Any) -> Self:
        return type(self)(**{**vars(self), **changes})


class Command(Declared):
    """A command of the command line; its docstring's first line is its help. Examples are shown there, and tested."""

    NAME: ClassVar[str]
    EXAMPLES: ClassVar[tuple[str, ...]]

    quiet: Annotated[bool, Option("-q --quiet", "print only the result and errors")] = False
    verbose: Annotated[bool, Option("-v --verbose", "log each step with its time to standard error")] = False

    def __init_subclass__(cls, *, name: str = "", examples: tuple[str, ...] = ()) -> None:
        cls.NAME, cls.EXAMPLES = name, examples

    @classmethod
    def description(cls) -> str:
        return (cls.__doc__ or "").partition("\n")[0]

    @classmethod
    def fields(cls) -> Iterator[Field]:
        """What every command has, then its own, then what it has in common with some."""
        owners = [owner for owner in cls.__mro__ if issubclass(owner, Command)]
        for owner in (Command, *(owner for owner in owners if owner is not Command)):
            for name, annotation in owner.__annotations__.items():
                for option in getattr(annotation, "__metadata__", ()):
                    yield _field(cls, name, annotation.__origin__, option)


def _field(owner: type[Command], name: str, hint: Any, option: Option) -> Field:
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


# What a value may be. A ValueError says what is wrong with it.


def count(text: str) -> int:
    """A whole number from 0 up."""
    number = int(text) if text.isdecimal() and len(text) < 10 else -1
    if number < 0:
        raise ValueError(f"{text!r} is not a whole number from 0 up")
    return number


def positive(text: str) -> int:
    number = count(text)
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
    from perf_culprit.model.run import MOST_PARTS

    index, _, number = text.partition("/")
    if not 1 <= positive(index) <= positive(number) <= MOST_PARTS:
        raise ValueError(f"{text!r} is not a part such as 2/4, of at most {MOST_PARTS}")
    return text


def quantities(text: str) -> list[str]:
    return [as_quantity(one.strip()) for one in text.split(",")]


def commit_hash(text: str) -> str:
    """The full hash of a commit, in small letters."""
    from perf_culprit.model.run import FULL_HASH

    if not FULL_HASH.fullmatch(text.lower()):
        raise ValueError(f"{text!r} is not a full hash of a commit; git rev-parse prints it")
    return text.lower()


# The options that many commands have, under the same name.

QUANTITIES: Final = f"{', '.join(Count)}, {SIZE}PATTERN of files"
Repository = Annotated[Path, Option("--repo DIR", "repository (default: this directory)")]
HistoryUrl = Annotated[str | None, Option("--history URL", "where the history branch lives (default: remote origin)")]
Tool = Annotated[str, Option("--tool NAME", "format of the results (default: by content)")]
Suite = Annotated[
    str | None, Option("--suite NAME", "suite that the benchmarks belong to (default: configuration)", key="suite")
]
Cache = Annotated[Path | None, Option("--cache DIR", "keep builds here from one call to the next")]
Environment = Annotated[
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
        convert=quantities,
    ),
]


class Configured(Command):
    """A command that the configuration is for."""

    config: Annotated[
        Path | None, Option("--config FILE", "configuration (default: .github/perf-culprit.yml where it exists)")
    ] = None


class Measuring(Configured):
    """A command that runs the user's commands on commits."""

    repository: Repository = Path()
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
    environment: Environment = ()
    tool: Tool = "auto"
    # Of some of them an option. `also` None: nothing is measured besides; empty: what the configuration names.
    metric: str | None = None
    also: tuple[str, ...] | None = None
