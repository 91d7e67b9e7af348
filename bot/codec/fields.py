"""A dataclass with the fields of another one: what a file says as the model does."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Kind = TypeVar("Kind", bound="DataclassInstance")


def same_fields(kind: type[Kind], *values: "DataclassInstance", **others: Any) -> Kind:
    """A `kind` with the fields of its own that the `values` have (the last one counts), and the `others`."""
    shared = {one.name: getattr(value, one.name) for value in values for one in fields(value)}
    return kind(**{one.name: shared[one.name] for one in fields(kind) if one.name in shared} | others)
