"""Match a profile's method names to the functions that a change touched."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from perf_culprit.model.call_tree import Caller, Certainty, MethodMatch, Scope, Touched, TouchedFunction
from perf_culprit.model.file_limits import FILE_LIMITS

# The separators between the parts of a name, over all languages: a.b  a::b  a:b  a/b  a#b  a$b  a->b  a\b
SEPARATORS: Final = re.compile(r"::|->|[.:/#$\\]")
# Parts that are not the name of a function: Java's lambda$main$0, Go's func1, Rust's {{closure}}, the rest of
# `<locals>`.
NO_NAME: Final = re.compile(r"lambda|func[0-9]+|[0-9]+\}?|\{+closure\}*|")
GO_RECEIVER: Final = re.compile(r"\(\*?(\w+)(?:\[[^\[\]()]*\])?\)\.")
PYTHON_FILE: Final = re.compile(r"[^:()]*\.py:(?=[^0-9])")  # file:name, from cProfile and py-spy
RUST_HASH: Final = re.compile(r"::h[0-9a-f]{16}$")
RUST_LIBRARY: Final = frozenset({"core", "alloc", "std"})
PYTHON_STATISTICS: Final = re.compile(r"[^()]+:[0-9]+\(([^()]+)\)")  # cProfile: file:line(name)
# A linked program or library, which perf names where it knows no source file.
PROGRAM: Final = re.compile(r"(^|/)[^./]+$|\.(so|dylib|exe|dll)\b")
KEYWORDS: Final = ("async ", "new ", "static ", "get ", "set ")
FILE_NAMES: Final = frozenset({"__init__", "index", "mod", "lib", "main"})


def match_method(
    method: str, *, touched: Touched, file: str | None = None, line: int | None = None
) -> MethodMatch | None:
    """Find the touched functions that `method` may be, by the strongest available evidence; None if there are none.

    1. `FILE_AND_LINE`: the line lies in the function, its file matches, and the names agree. Names are not
       compared if the method has none, such as a lambda.
    2. `QUALIFIED_NAME`: the name agrees, and so do class, package or module as far as both state them. If the
       method states none, its file agrees.
    3. `BARE_NAME`: only the last part agrees (an inherited method has another class), and no file contradicts.
    4. `FILE`: the file changed, and its functions are unknown.

    Moved functions and changes in comments alone do not count as touched. Files agree by their last parts, because
    profiles contain installed or absolute paths. Lines are those of the profiled revision, which should be the head.
    """
    names = name_parts(method)
    functions = [function for function in touched.functions if function.changes_code]
    if file is not None and PROGRAM.search(file):
        file = line = None
    if file is not None:
        functions = [function for function in functions if same_file(file, function.path)]
        if line is not None and (exact := _at_line(functions, names, line)):
            return _match(Certainty.FILE_AND_LINE, [exact])
    named = [
        function
        for function in functions
        if function.scope is Scope.FUNCTION
        and _parts(function.qualified_name)[-1:] == names[-1:]
        and not _is_of_another_type(names, function)
    ]
    if named:
        agreement = [1 if file is not None and len(names) == 1 else _agreement(names, one) for one in named]
        best = max(agreement)
        qualified = [one for one, parts in zip(named, agreement, strict=True) if parts == best]
        return _match(Certainty.QUALIFIED_NAME if best else Certainty.BARE_NAME, qualified)
    if file is not None:
        for one in touched.unresolved:
            if same_file(file, one.path):
                return MethodMatch(certainty=Certainty.FILE, path=one.path)
    return None


def match_caller(
    method: str, *, touched: Touched, file: str | None = None, line: int | None = None
) -> tuple[Caller, ...]:
    """Find the callers (by name) of changed functions that `method` may be."""
    names = name_parts(method)
    candidates = [
        caller
        for caller in touched.callers
        if names[-1:] == _parts(caller.qualified_name)[-1:] and (file is None or same_file(file, caller.path))
    ]
    exact = [caller for caller in candidates if file and line and caller.first_line <= line <= caller.last_line]
    return tuple(exact or candidates)


def name_parts(method: str) -> tuple[str, ...]:
    """Split a method's name into parts, without arguments, type parameters and parts that are no names.

    Examples: `shop.cart:Cart.total`, `com.acme.Cart.total(Item[], int)`, `acme::Cart<int>::total(int) const`,
    `acme/shop.(*Cart).Total.func1`, `async Cart.total [as total]`.
    """
    text = method[: FILE_LIMITS.method_name_characters].strip()
    if line_and_name := PYTHON_STATISTICS.fullmatch(text):
        text = line_and_name[1]
    text = PYTHON_FILE.sub("", text, count=1)
    for keyword in KEYWORDS:
        text = text.removeprefix(keyword)
    text = _of_trait(RUST_HASH.sub("", text))
    text = GO_RECEIVER.sub(r"\1.", text.partition(" [as ")[0]).removeprefix("(anonymous namespace)::")
    text = without_types(text).partition("(")[0]
    # C++ demanglers write the result type first.
    parts = [part.strip("&*~") for part in SEPARATORS.split(text.rsplit(" ", 1)[-1])]
    return tuple(part for part in parts if not NO_NAME.fullmatch(part))


def _of_trait(text: str) -> str:
    """Simplify Rust names: `<app::Lines<R> as core::iter::Iterator>::next` is `app::Lines::next`.

    The same holds for `app::<impl core::iter::Iterator for app::Lines<R>>::next`.
    """
    start, depth = 0 if text.startswith("<") else text.find("<impl "), 0
    for place, character in enumerate(text[start:] if start >= 0 else "", start):
        depth += (character == "<") - (character == ">")
        if not depth:
            inside = without_types(text[start + 1 : place])
            owner = inside.rpartition(" for ")[2] if inside.startswith("impl ") else inside.partition(" as ")[0]
            return text if owner == inside else owner.rpartition(" ")[2].lstrip("&*") + text[place + 1 :]
    return text


def without_types(text: str) -> str:
    """Return the text without parts in <…>, at any depth."""
    characters, depth = [], 0
    for character in text:
        depth += character == "<"
        if not depth:
            characters.append(character)
        depth -= character == ">" and depth > 0
    return "".join(characters)


def same_file(first: str, second: str) -> bool:
    """Return whether two paths may belong to one file: one ends with the other, or both end with the same two parts."""
    one, other = (_path_parts(path) for path in (first, second))
    common = _common_end(one, other)
    return common > 0 and (common == min(len(one), len(other)) or common >= 2)


def _path_parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").removeprefix("file://").split("/") if part not in ("", ".")]


def _at_line(functions: Iterable[TouchedFunction], names: tuple[str, ...], line: int) -> TouchedFunction | None:
    """The innermost function with this line; None if its name shows that the line is from another revision."""
    around = [one for one in functions if one.scope is Scope.FUNCTION and one.first_line <= line <= one.last_line]
    inner = min(around, key=lambda one: one.last_line - one.first_line, default=None)
    if inner is None:
        return None
    return inner if not names or names[-1] in _parts(inner.qualified_name) else None


def _parts(qualified_name: str) -> tuple[str, ...]:
    return tuple(part for part in qualified_name.split(".") if part not in ("", "<locals>"))


def _is_of_another_type(names: tuple[str, ...], function: TouchedFunction) -> bool:
    """Whether the function belongs to another type. Rust has no inheritance, so another type means another function."""
    own = _parts(function.qualified_name)
    if not function.path.endswith(".rs") or len(names) < 2:
        return False
    return names[0] in RUST_LIBRARY or (len(own) > 1 and names[-2] != own[-2])


def _agreement(names: tuple[str, ...], function: TouchedFunction) -> int:
    """The number of equal last parts; 0 unless the stated parts of class or package, or the file's name, agree."""
    *folders, file = _path_parts(function.path)
    stem = file.rsplit(".", 1)[0]
    own = _parts(function.qualified_name)
    whole = (*folders, *(() if stem in FILE_NAMES else (stem,)), *own)
    needed = own if len(own) > 1 else whole[-2:]
    length = min(len(names), len(needed))
    if length < 2 or names[-length:] != needed[-length:]:
        return 0
    return _common_end(names, whole)


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _match(certainty: Certainty, functions: list[TouchedFunction]) -> MethodMatch:
    return MethodMatch(certainty=certainty, path=functions[0].path, functions=tuple(functions))
