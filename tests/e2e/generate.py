"""Strategies for hypothesis: values that match a schema of the contract, and values that do not."""

import datetime
import string

from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

import contract
import scratch

set_hypothesis_home_dir(scratch.directory("hypothesis"))  # called here, because the first strategy creates this directory

# Each generated url must stay on this host.
URLS = st.builds("{}127.0.0.1:9{}".format, st.sampled_from(["http://", "https://", "HTTP://"]),
                 st.sampled_from(["", "/", "/hook", "/hook?key=secret", "?a", "/%00", "/" + "p" * 1900]))
TEXTS = st.text(max_size=20).filter(lambda text: "//" not in text)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS,
                    st.sampled_from([0, -1, 1 << 63, -(1 << 63), 1e308, 1e-308, 0.1, "", "\x00", "\u2028", "a" * 3000]))
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0, tzinfo=None)
TIMES = st.integers(-10**6, 3 * 10**8).map(lambda seconds: (NOW + datetime.timedelta(seconds=seconds)).isoformat() + ".000Z")
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)), max_leaves=8)


def _follow(schema):
    return contract.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _merge(schema):
    """Merges the parts of allOf that matter for the generation of values."""
    schema = dict(_follow(schema))
    for part in schema.pop("allOf", []):
        part = _merge(part)
        merged = {**part, **schema}
        for both in "properties", "patternProperties":
            if both in part or both in schema:
                merged[both] = {**part.get(both, {}), **schema.get(both, {})}
        merged["required"] = [*part.get("required", []), *schema.get("required", [])]
        schema = merged
    return schema


def _texts(schema):
    pattern = schema.get("pattern", "")
    if "\\d{4}-" in pattern:
        return TIMES
    if schema.get("format") == "uri" or "[Hh][Tt]" in pattern:
        return URLS
    if schema.get("format") == "date-time":
        return TIMES
    if pattern:
        return st.from_regex(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)  # Python's $ also matches before a line end
    return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 30), 30))


def _numbers(schema, is_integer):
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum", schema.get("exclusiveMaximum"))
    ends = [end for end in (low, high) if end is not None]
    integers = st.integers(min_value=None if low is None else -int(-low // 1), max_value=None if high is None else int(high))
    among = [integers, st.sampled_from(ends)] if ends else [integers]
    if not is_integer:
        among.append(st.floats(min_value=low, max_value=high, allow_nan=False, allow_infinity=False))
    return st.one_of(among)


def _objects(schema):
    fixed = {name: of(inner) for name, inner in schema.get("properties", {}).items() if inner is not False}
    required = set(schema.get("required", ()))
    known = st.fixed_dictionaries({name: fixed[name] for name in required if name in fixed},
                                  optional={name: inner for name, inner in fixed.items() if name not in required})
    more = schema.get("additionalProperties", True)
    if more is False:
        return known
    names = _texts(schema.get("propertyNames", {"maxLength": 10}))
    others = st.dictionaries(names, VALUES if more is True else of(more), max_size=3)
    return st.builds(lambda a, b: {**b, **a}, known, others)


def _kinds(schema):
    kinds = schema.get("type", ["object"] if "properties" in schema else [])
    return [kinds] if isinstance(kinds, str) else kinds


def of(schema):
    """Returns a strategy for values that match the schema, except for keywords such as if and not, which only a
    validator can check."""
    schema = _merge(schema)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for choice in "oneOf", "anyOf":
        if choice in schema and "properties" not in schema:
            return st.one_of([of(inner) for inner in schema[choice]])
    makers = {
        "null": lambda: st.none(),
        "boolean": lambda: st.booleans(),
        "string": lambda: _texts(schema),
        "integer": lambda: _numbers(schema, True),
        "number": lambda: _numbers(schema, False),
        "array": lambda: st.lists(of(schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=min(schema.get("maxItems", 4), 4)),
        "object": lambda: _objects(schema),
    }
    kinds = _kinds(schema)
    return st.one_of([makers[kind]() for kind in kinds]) if kinds else VALUES


@st.composite
def spoiled(draw, values):
    """Returns one of the values with one to three changes: a member is added, removed or renamed, or a value is
    replaced."""
    value = draw(values)
    for _ in range(draw(st.integers(1, 3))):
        value = _spoil(draw, value)
    return value


def _spoil(draw, value):
    if isinstance(value, dict) and value and draw(st.integers(0, 5)) < 5:
        name = draw(st.sampled_from(sorted(value)))
        kind = draw(st.sampled_from(["take", "add", "rename", "inside"]))
        if kind == "take":
            return {other: inner for other, inner in value.items() if other != name}
        if kind == "add":
            return {**value, draw(TEXTS): draw(VALUES)}
        if kind == "rename":
            return {(other.upper() if other == name else other): inner for other, inner in value.items()}
        return {**value, name: _spoil(draw, value[name])}
    if isinstance(value, list) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], _spoil(draw, value[index]), *value[index + 1:]]
    return draw(VALUES)


@st.composite
def broken(draw, texts):
    """Returns the bytes of a JSON text after a change: bytes are removed, added or replaced."""
    data = draw(texts).encode("utf-8", "surrogatepass")
    at = draw(st.integers(0, len(data)))
    return draw(st.sampled_from([
        data[:at], data[at:], data + data, data[:at] + draw(st.binary(max_size=3)) + data[at:], b"\xef\xbb\xbf" + data,
        data[:at] + b"\x00" + data[at:], data[:at] + b"\xff" + data[at + 1:], data.replace(b":", b": ", 1) + b" \n", data.replace(b'"', b"'"),
        data[:1] + data[1:at] + b"," + data[at:], data.replace(b"0", b"00", 1), data.replace(b"{", b'{"a":1,"a":2,', 1)]))


SEGMENTS = st.one_of(st.sampled_from(["", ".", "..", "%00", "%2f", "%", "a%20b", "%61", "run", "why", "count", "~", "a:b", "x" * 200]),
                     st.text(string.ascii_letters + string.digits + "._~:-%", min_size=1, max_size=12))
