import pytest

from perf_culprit.explain.method_names import match_caller, match_method, name_parts, same_file
from perf_culprit.model.call_tree import Caller, Certainty, ChangeKind, Touched, TouchedFunction, UnresolvedFile


def function(
    path: str, name: str, first: int = 1, last: int = 9, kind: ChangeKind = ChangeKind.CHANGED
) -> TouchedFunction:
    return TouchedFunction(path=path, qualified_name=name, kind=kind, first_line=first, last_line=last)


TOUCHED = Touched(
    base=None,
    head="b" * 40,
    functions=(
        function("src/shop/cart.py", "Cart.total", 10, 20),
        function("src/shop/cart.py", "Cart.total.<locals>.add", 12, 14),
        function("src/shop/cart.py", "pay", 30, 40),
        function("src/shop/cart.py", "tidied", 50, 60, ChangeKind.COSMETIC),
        function("Cart.java", "com.acme.Cart.sum"),
        function("cart/cart.go", "cart.Cart.Total"),
        function("cart.cpp", "acme.Cart.draw"),
    ),
    unresolved=(UnresolvedFile(path="gen/tables.py"),),
    callers=(Caller(path="src/a.py", qualified_name="A.run", first_line=3, last_line=8, called_names=("pay",)),),
)


@pytest.mark.parametrize(
    ("method", "parts"),
    [
        ("shop.cart:Cart.total", "shop cart Cart total"),
        ("com.acme.Cart$Item.total(Item[], int)", "com acme Cart Item total"),
        ("com.acme.Main.lambda$main$0", "com acme Main main"),
        ("int acme::Cart<std::vector<int>>::total(int) const", "acme Cart total"),
        ("acme/shop.(*Cart[...]).Total.func1", "acme shop Cart Total"),
        ("async Cart.total [as sum]", "Cart total"),
        ("<Cart as Sum>::total", "Cart total"),
        ("App\\Cart->total", "App Cart total"),
        ("shop.py:12(total)", "total"),
        ("outer.<locals>.inner", "outer inner"),
        ("<module>", ""),
    ],
)
def test_names_of_all_languages_fall_into_parts(method: str, parts: str) -> None:
    assert " ".join(name_parts(method)) == parts


@pytest.mark.parametrize(
    ("method", "file", "line", "certainty", "name"),
    [
        ("shop.cart:Cart.total", "/app/src/shop/cart.py", 11, Certainty.FILE_AND_LINE, "Cart.total"),
        ("<lambda>", "src/shop/cart.py", 13, Certainty.FILE_AND_LINE, "Cart.total.<locals>.add"),
        ("Cart.total", "src/shop/cart.py", 300, Certainty.QUALIFIED_NAME, "Cart.total"),
        ("total", "shop/cart.py", None, Certainty.QUALIFIED_NAME, "Cart.total"),
        ("shop.cart:Cart.total", None, None, Certainty.QUALIFIED_NAME, "Cart.total"),
        ("cart.pay", None, None, Certainty.QUALIFIED_NAME, "pay"),
        # perf names the linked program, which is no source file.
        ("acme::Cart::draw()", "/home/x/build/bench_cart", None, Certainty.QUALIFIED_NAME, "acme.Cart.draw"),
        ("draw", "/usr/lib/libcart.so.1.2", None, Certainty.BARE_NAME, "acme.Cart.draw"),
        ("com.acme.Cart.sum(int)", None, None, Certainty.QUALIFIED_NAME, "com.acme.Cart.sum"),
        ("github.com/acme/cart.(*Cart).Total", None, None, Certainty.QUALIFIED_NAME, "cart.Cart.Total"),
        ("acme::Cart::draw(int)", None, None, Certainty.QUALIFIED_NAME, "acme.Cart.draw"),
        ("pay", None, None, Certainty.BARE_NAME, "pay"),
        ("shop.cart:Basket.total", "src/shop/cart.py", None, Certainty.BARE_NAME, "Cart.total"),
    ],
)
def test_a_method_is_matched_by_the_surest_evidence(
    method: str, file: str | None, line: int | None, certainty: Certainty, name: str
) -> None:
    match = match_method(method, touched=TOUCHED, file=file, line=line)
    assert match is not None
    assert (match.certainty, [one.qualified_name for one in match.functions]) == (certainty, [name])


def test_only_the_file_is_known_to_have_changed() -> None:
    match = match_method("lookup", touched=TOUCHED, file="/x/gen/tables.py", line=3)
    assert match is not None
    assert (match.certainty, match.functions) == (Certainty.FILE, ())


@pytest.mark.parametrize(
    ("method", "file"),
    [
        ("json.decoder:pay", "/usr/lib/python3/json/decoder.py"),
        ("shop.cart:tidied", "src/shop/cart.py"),
        ("shop.cart:other", "src/shop/cart.py"),
        ("<module>", None),
        ("", None),
    ],
)
def test_what_was_not_touched_is_not_matched(method: str, file: str | None) -> None:
    assert match_method(method, touched=TOUCHED, file=file, line=None) is None


def test_callers_are_matched_by_name_and_place() -> None:
    assert [one.qualified_name for one in match_caller("A.run", touched=TOUCHED)] == ["A.run"]
    assert match_caller("A.run", touched=TOUCHED, file="src/b.py") == ()


def test_paths_are_compared_from_their_ends() -> None:
    assert same_file("/usr/lib/site-packages/shop/cart.py", "src/shop/cart.py")
    assert same_file("Cart.java", "src/main/java/com/acme/Cart.java")
    assert same_file("C:\\work\\shop\\cart.py", "shop/cart.py")
    assert not same_file("lib/json/cart.py", "src/shop/cart.py")


ITERATOR = "core::iter::traits::iterator::Iterator"


@pytest.mark.parametrize(
    "method",
    [
        "<text::{}<R> as " + ITERATOR + ">::next",
        "<&mut text::{}<R> as " + ITERATOR + ">::next",
        "shop::<impl " + ITERATOR + " for text::{}<R>>::next",
        "text::{}<R>::next::{{{{closure}}}}",
        "text::{}<R>::next::{{closure#0}}",
        "<text::Others as " + ITERATOR + ">::next",
        "<core::iter::adapters::map::Map<I,F> as " + ITERATOR + ">::next",
    ],
)
@pytest.mark.parametrize("owner", ["Lines", "Words", "Chunks", "Fields"])
def test_of_four_functions_of_one_trait_it_is_the_one_of_its_type(method: str, owner: str) -> None:
    touched = Touched(
        base=None,
        head="b" * 40,
        functions=tuple(
            TouchedFunction(
                path="src/text.rs",
                qualified_name=f"{name}.next",
                kind=ChangeKind.CHANGED,
                first_line=line,
                last_line=line,
            )
            for line, name in enumerate(("Lines", "Words", "Chunks", "Fields"), 1)
        ),
    )
    match = match_method(method.format(owner), touched=touched)
    names = [] if match is None else [one.qualified_name for one in match.functions]
    assert names == ([f"{owner}.next"] if "{}" in method else [])
