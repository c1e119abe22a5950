"""Checks answers against api/openapi.yaml.

check() fails on an answer that the contract does not describe, and notes each pair of a route and a status.
unseen() returns the pairs of the contract that no test has seen."""

import json
import pathlib
import re

import jsonschema
import yaml

PATH = pathlib.Path(__file__).parents[2] / "api" / "openapi.yaml"
RULES = pathlib.Path(__file__).parent / "contract_rules.yaml"
ANY = "any route"


def _merge(schema, rules):
    """Adds the rules of contract_rules.yaml to the schema. A member that is in both becomes one member, with what
    both say."""
    for name, rule in rules.items():
        if name in schema:
            _merge(schema[name], rule)
        else:
            schema[name] = rule


def _close(node):
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _close(part)
    if isinstance(node, dict) and node.get("type") == "object" and isinstance(node.get("properties"), dict):
        node.setdefault("additionalProperties", False)


def _read():
    """The contract with the rules of contract_rules.yaml in its schemas. The schemas are closed, because this
    version answers only with members that the contract names. No Python object occurs twice in the document,
    so that a change at one place does not change another."""
    whole = json.loads(json.dumps(yaml.safe_load(PATH.read_text())))
    for name, rules in json.loads(json.dumps(yaml.safe_load(RULES.read_text()))).items():
        _merge(whole["components"]["schemas"][name], rules)
    _close(whole)
    return whole


document = _read()
seen = set()

_validators = {}


def _follow(node):
    while "$ref" in node:
        names = node["$ref"].removeprefix("#/").split("/")
        node = document
        for name in names:
            node = node[name]
    return node


def validator(schema):
    """Adds the components to the schema, so that references resolve within it. Versions of jsonschema differ in how
    they resolve references to other documents."""
    if id(schema) not in _validators:
        whole = {**schema, "components": document["components"]}
        _validators[id(schema)] = schema, jsonschema.Draft202012Validator(whole)  # keeps the schema alive, so that no other object can get the same id()
    return _validators[id(schema)][1]


def schema_of(name):
    return document["components"]["schemas"][name]


def _read_routes():
    """Returns the responses as {(path, method): {status: response}}, and a regular expression for each path.
    The method '*' stands for all methods that the contract does not list for the path."""
    routes, patterns = {}, []
    for path, item in document["paths"].items():
        rest = any(parameter.get("x-rest") for parameter in item.get("parameters", []))  # the last parameter may contain slashes
        patterns.append((re.compile(re.sub(r"\{[^}]*\}", ".+" if rest else "[^/]+", path)), path))
        routes[path, "*"] = item["x-other-methods"]
        for method in ("get", "post", "delete", "put", "patch"):
            if method in item:
                routes[path, method.upper()] = item[method]["responses"]
    routes[ANY, "*"] = document["x-any-route"]
    return {key: {int(status): _follow(response) for status, response in responses.items()}
            for key, responses in routes.items()}, patterns


routes, _patterns = _read_routes()


def _route(method, target):
    path = re.sub("(?<=.)/$", "", target.partition("?")[0])
    for pattern, template in _patterns:
        if pattern.fullmatch(path):
            known = (template, "GET" if method == "HEAD" else method)
            return known if known in routes else (template, "*")
    return (ANY, "*")


def find(method, target, status):
    """Returns the contract's descriptions of this answer, each with its place: the description in the route, and the
    one in x-any-route, which applies to every route."""
    found = [(routes[route][status], (*route, status)) for route in (_route(method, target), (ANY, "*")) if status in routes[route]]
    assert found, f"{method} {target} answers {status}: not in the contract"
    return found


def check(method, target, status, headers, body):
    problems = []
    for response, place in find(method, target, status):
        try:
            _check(response, method, status, headers, body, "?" in target)
        except (AssertionError, jsonschema.ValidationError) as problem:
            problems.append(problem)
        else:
            seen.add(place)
            return
    raise AssertionError(f"{method} {target} {status}: {problems[0]}") from problems[0]


def _check(response, method, status, headers, body, has_query):
    for name, header in response.get("headers", {}).items():
        header = _follow(header)
        assert name in headers or not header.get("required"), f"no {name}"
        if name in headers:
            validator(header["schema"]).validate(headers[name])
    if "content" not in response and not response.get("x-untyped"):
        assert body == b"" and "Content-Type" not in headers, "a body"
        return
    if "Content-Type" not in headers:
        assert response.get("x-untyped"), "no Content-Type"
        assert headers["Connection"] == "close", "what could not be read, and the connection stays"
        return
    media = headers["Content-Type"]
    assert media in response["content"], media
    content = response["content"][media]
    if method == "HEAD":
        assert body == b"", "a body"
        return
    value = json.loads(body) if media.endswith(("/json", "+json")) else body.decode()
    # Generators of clients cannot describe an answer whose form depends on the query.
    validator(content.get("x-schema-with-query" if has_query else "schema", content["schema"])).validate(value)
    if media == "application/problem+json":
        assert value["status"] == status, f"its body says {value['status']}"


def unseen():
    return sorted({(*route, status) for route, responses in routes.items() for status in responses} - seen)
