"""What holds for every struct of the wire, and values of each made from its fields."""

from __future__ import annotations

import importlib
import json
import pkgutil
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType, structs

from acpwire.errors import ErrorObject
from acpwire.protocol import v2
from acpwire.protocol.base import Object, Update, Upsert, wire_name
from acpwire.protocol.decode import decoder, validate
from acpwire.protocol.open import NoArm, Open, Unknown
from acpwire.protocol.v2.config_option import (
    SessionConfigSelect,
    SessionConfigSelectOption,
    SetSessionConfigOptionRequest,
)
from acpwire.protocol.v2.content import EmbeddedResourceResource
from acpwire.protocol.v2.info import Timestamp

MODULES = [importlib.import_module(f"{v2.__name__}.{module.name}") for module in pkgutil.iter_modules(v2.__path__)]
STRUCTS: list[type[Struct]] = sorted(
    {
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
    },
    key=lambda kind: (kind.__module__, kind.__name__),
)
WIRE = [kind for kind in STRUCTS if kind.__name__ not in {"Method", "SplitTextContent"}]

every_struct = pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
every_wire_struct = pytest.mark.parametrize("kind", WIRE, ids=lambda kind: kind.__name__)
every_struct_with_fields = pytest.mark.parametrize(
    "kind", [kind for kind in WIRE if len(kind.__struct_fields__) > 1], ids=lambda kind: kind.__name__
)


def test_there_is_something_to_look_at():
    assert len(STRUCTS) > 110


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("meta", "_meta"),
        ("session_id", "sessionId"),
        ("title", "title"),
        ("mcp_servers", "mcpServers"),
        ("additional_directories", "additionalDirectories"),
    ],
)
def test_names_of_the_wire(name, wire):
    assert wire_name(name) == wire


@every_struct
def test_a_struct_is_frozen_and_takes_keywords_alone(kind):
    config = kind.__struct_config__
    assert config.frozen
    with pytest.raises(TypeError, match="positional"):
        kind(*range(len(kind.__struct_fields__)))


@every_wire_struct
def test_a_struct_leaves_out_defaults_and_has_metadata(kind):
    assert kind.__struct_config__.omit_defaults
    assert "meta" in kind.__struct_fields__
    assert all(field.encode_name == wire_name(field.name) for field in structs.fields(kind))


@every_wire_struct
def test_a_struct_is_of_no_interest_to_the_garbage_collector(kind):
    assert not kind.__struct_config__.gc


def test_a_tag_belongs_to_one_update():
    tags = [kind.__struct_config__.tag for kind in WIRE if issubclass(kind, (Update, Upsert))]
    assert len(tags) == len(set(tags))


def test_what_is_exported_has_a_tag_of_the_protocol():
    """A parent of several arms would be written with its own name as the tag; it is no type that anybody can make."""
    exported = {name for module in MODULES for name in getattr(module, "__all__", ())}
    tags = [kind.__struct_config__.tag for kind in WIRE if kind.__name__ in exported]
    assert [tag for tag in tags if tag is not None and tag != tag.lower()] == []


# -- values of every type ---------------------------------------------------------------------------------------

names = st.text(max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
instants = st.sampled_from(["2026-10-07T08:09:10Z", "2026-10-07t08:09:10.123+01:30"])
choices = st.builds(SessionConfigSelectOption, name=names, value=names, description=st.none() | names)
groups = st.builds(
    SessionConfigSelectOption, name=names, group_id=names, options=st.lists(choices, min_size=1, max_size=2).map(tuple)
)
SPECIAL: dict[Any, st.SearchStrategy[Any]] = {
    SessionConfigSelectOption: choices | groups,
    SessionConfigSelect: st.builds(
        SessionConfigSelect,
        config_id=names,
        name=names,
        current_value=names,
        options=st.lists(choices, min_size=1, max_size=2).map(tuple)
        | st.lists(groups, min_size=1, max_size=2).map(tuple),
    ),
    SetSessionConfigOptionRequest: st.builds(
        SetSessionConfigOptionRequest, session_id=names, config_id=names, type=st.just("id"), value=names
    )
    | st.builds(
        SetSessionConfigOptionRequest, session_id=names, config_id=names, type=st.just("boolean"), value=st.booleans()
    ),
    EmbeddedResourceResource: st.builds(EmbeddedResourceResource, uri=names, text=names)
    | st.builds(EmbeddedResourceResource, uri=names, blob=names, meta=st.none() | st.dictionaries(names, json_values)),
    ErrorObject: st.builds(ErrorObject, code=st.integers(-40_000, 0), message=names),
    str: names,
    bool: st.booleans(),
    Any: json_values,
    dict: st.dictionaries(names, json_values, max_size=2),
}


def values(kind: Any, *, unknown: bool) -> st.SearchStrategy[Any]:
    """Values of a type as msgspec sees it; with `unknown`, also arms of open unions that nobody knows."""
    if kind == Timestamp:
        return instants
    marks: list[Any] = []
    while get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        marks += more
    rules = [mark for mark in marks if isinstance(mark, Open)]
    if rules and unknown:
        return values(kind, unknown=unknown) | unknown_arms(rules[0])
    if kind in SPECIAL:
        return SPECIAL[kind]
    if get_origin(kind) in {Union, UnionType}:
        return st.one_of(*(values(arm, unknown=unknown) for arm in get_args(kind) if arm not in {UnsetType, NoArm}))
    if kind in {int, float}:
        return numbers(kind, marks)
    if get_origin(kind) is tuple:
        least = max((mark.min_length or 0 for mark in marks if isinstance(mark, msgspec.Meta)), default=0)
        return st.lists(values(get_args(kind)[0], unknown=unknown), min_size=least, max_size=2).map(tuple)
    return plain_values(kind, marks, unknown=unknown)


def plain_values(kind: Any, marks: list[Any], *, unknown: bool) -> st.SearchStrategy[Any]:
    if kind is NoneType:
        return st.none()
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is dict:
        return SPECIAL[dict]
    if hasattr(kind, "__supertype__"):
        return values(kind.__supertype__, unknown=unknown)
    return members(kind, unknown=unknown)


def numbers(kind: type, marks: list[Any]) -> st.SearchStrategy[Any]:
    bounds = next((mark for mark in marks if isinstance(mark, msgspec.Meta)), msgspec.Meta())
    least = 0 if bounds.ge is None else bounds.ge
    most = 2**53 if bounds.le is None else bounds.le
    return st.integers(least, most) if kind is int else st.floats(least, most)


def unknown_arms(rule: Open) -> st.SearchStrategy[Any]:
    required = {name: values(kind, unknown=True) for name, kind in rule.required.items()}
    fixed = {rule.tag: st.just("_x/new"), **required}
    return st.fixed_dictionaries(fixed, optional={"more": json_values}).map(lambda made: Unknown("_x/new", made))


def members(kind: type[Struct], *, unknown: bool) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    required = {}
    optional = {}
    for field in structs.fields(kind):
        (required if field.required else optional)[field.name] = values(hints[field.name], unknown=unknown)
    if kind.__name__ == "Notice":
        required["title"] = st.text(min_size=1, max_size=3)
    return st.fixed_dictionaries(required, optional=optional).map(lambda made: kind(**made))


@every_struct_with_fields
@settings(max_examples=6)
@given(data=st.data())
def test_what_is_encoded_decodes_to_the_same_value_on_the_fast_path(kind, data):
    value = data.draw(values(kind, unknown=False))
    encoded = msgspec.json.encode(value)
    assert msgspec.json.decode(encoded, type=kind) == value
    written = json.loads(encoded)
    for field in structs.fields(kind):
        # A default that is made anew is written: capabilities, which not every peer reads as optional.
        always = field.required or field.default is msgspec.NODEFAULT
        assert (field.encode_name in written) == (always or getattr(value, field.name) != field.default)


@every_struct_with_fields
@settings(max_examples=6)
@given(data=st.data())
def test_what_is_encoded_decodes_to_the_same_value_with_arms_that_nobody_knows(kind, data):
    value = data.draw(values(kind, unknown=True))
    repairs: list[Any] = []
    assert decoder(kind, repairs.append)(msgspec.json.encode(value)) == value
    assert repairs == []
    validate(value)


def test_an_object_has_metadata_of_its_own_and_an_upsert_a_patch():
    assert Object().meta is None
    assert Upsert().meta is UNSET
    assert msgspec.json.encode(Object(meta=None)) == b"{}"
    assert json.loads(msgspec.json.encode(Upsert(meta=None)))["_meta"] is None
