"""Every answer is one that the contract describes, for requests generated from the contract's own schemas, both valid
and damaged.

The requests are the same in each run. DUEPOST_TEST_EXAMPLES=1000 sends 1,000 different requests for each method of
each path."""

import json
import re
import os
import urllib.parse

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contract
import generate
from duepost import Duepost

COUNT = os.environ.get("DUEPOST_TEST_EXAMPLES")
TOPICS = st.sampled_from(["a", "b.c", "mail"])
NAMES = st.sampled_from(["1", "2", "3"])
USUAL = {"topic": TOPICS, "jobId": NAMES, "receiver": st.sampled_from(["127.0.0.1:9", "%31:9", "[::1]:9"])}
METHODS = ["get", "post", "put", "patch", "delete"]
OPERATIONS = [(path, method) for path, item in contract.document["paths"].items() for method in METHODS if method in item]


def follow(node):
    """Resolves a reference in the contract, also one to a parameter or a body."""
    while "$ref" in node:
        found = contract.document
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def parameters_of(path, method):
    item = contract.document["paths"][path]
    return [follow(parameter) for parameter in item.get("parameters", []) + item[method].get("parameters", [])]


def rarely(draw):
    """Returns True once in twelve times. hypothesis reduces the values of a failing example to small ones, and for
    these this function returns False."""
    return draw(st.integers(1, 12)) == 12


@st.composite
def path_of(draw, path, parameters):
    """Returns the path with names for its parameters. Mostly these are a few usual names, so that their jobs exist;
    sometimes any names."""
    for parameter in parameters:
        if parameter["in"] != "path":
            continue
        segment = draw(generate.SEGMENTS if rarely(draw) else USUAL.get(parameter["name"], NAMES))
        path = path.replace("{%s}" % parameter["name"], segment)
    return path


@st.composite
def query_of(draw, parameters):
    query = []
    for parameter in parameters:
        is_wanted = parameter["name"] in ("state", "topic") or draw(st.integers(1, 4)) == 4
        if parameter["in"] == "query" and is_wanted and not rarely(draw):
            usual = TOPICS if parameter["name"] == "topic" else generate.of(parameter["schema"])
            query.append((parameter["name"], draw(generate.SCALARS if rarely(draw) else usual)))
    if rarely(draw):
        query.append((draw(generate.TEXTS), draw(generate.TEXTS)))
    text = urllib.parse.urlencode([(str(name).encode("utf-8", "surrogatepass"), str(value).encode("utf-8", "surrogatepass")) for name, value in query])
    return "?" + text if text else ""


@st.composite
def headers_of(draw, parameters):
    printable = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7e), max_size=30)
    return {parameter["name"]: draw(st.one_of(printable, st.sampled_from(["*", '"x"', 'W/"x"', '"' + "0" * 40 + '"'])))
            for parameter in parameters if parameter["in"] == "header" and draw(st.integers(1, 4)) == 4}


def as_text(value):
    return json.dumps(value, ensure_ascii=False)


def as_meant(draw, operation, value):
    """Mostly completes the body to a valid one: adds a url, and removes topic and jobId from a PUT, because its path
    has them."""
    if isinstance(value, list):
        return [as_meant(draw, operation, item) for item in value]
    if operation["operationId"] not in ("scheduleJob", "replaceJob") or not isinstance(value, dict) or rarely(draw):
        return value
    named = {"url": draw(generate.URLS), **value}
    if operation["operationId"] == "replaceJob":
        named = {name: inner for name, inner in named.items() if name not in ("topic", "jobId")}
    return named


# The contract describes requests with many jobs only in words: see the operation scheduleJob.
MANY_JOBS = {"type": "array", "minItems": 1, "maxItems": 10000, "items": {"$ref": "#/components/schemas/NewJob"}}


@st.composite
def body_of(draw, operation):
    """Returns (Content-Type, bytes, value). The value is None unless the bytes are the JSON text of a value."""
    if "requestBody" not in operation:
        return None, draw(st.sampled_from([None, None, b"{}", b"x"])), None
    content = follow(operation["requestBody"])["content"]
    media = draw(st.sampled_from(sorted(content)))
    schema = content[media]["schema"]
    if operation["operationId"] == "scheduleJob" and (media == "application/x-ndjson" or draw(st.booleans())):
        schema = MANY_JOBS
    values = generate.of(schema)
    if operation["operationId"] == "changeSettings":
        values = st.one_of(generate.of(contract.schema_of("Settings")), values)
    kind = draw(st.sampled_from(["sound", "sound", "sound", "spoiled", "spoiled", "broken", "media"]))
    if kind == "broken":
        return media, draw(generate.broken(values.map(as_text))), None
    value = draw(generate.spoiled(values) if kind == "spoiled" else values.filter(contract.validator(schema).is_valid))
    value = as_meant(draw, operation, value)
    if media == "application/x-ndjson":
        lines = value if isinstance(value, list) else [value]
        return media, "\n".join(map(as_text, lines)).encode("utf-8", "surrogatepass"), None
    if kind == "media":
        media = draw(st.sampled_from(["text/plain", "application/json; charset=utf-8", "application/json;charset=latin-1", "", "APPLICATION/JSON", "application/xml"]))
    return media, as_text(value).encode("utf-8", "surrogatepass"), value


@st.composite
def requests_of(draw, path, method):
    operation = contract.document["paths"][path][method]
    parameters = parameters_of(path, method)
    target = draw(path_of(path, parameters)) + draw(query_of(parameters))
    media, body, value = draw(body_of(operation))
    headers = draw(headers_of(parameters))
    if media is not None:
        headers["Content-Type"] = media
    name = method.upper() if not rarely(draw) else draw(st.sampled_from(["HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "GET"]))
    return name, target, body, headers, value


DURATION = re.compile(r"(\d+(\.\d+)?(d|h|m|s|ms))+")


def in_plain(value):
    """Returns the value with two rules applied that the contract states only in words: a member with null counts as
    missing (except for body), and a duration may replace seconds."""
    if not isinstance(value, dict):
        return value
    seconds = {name: 60 for name in ("delay", "ttl", "timeout", "retention", "per", "priorityAge")
               if isinstance(value.get(name), str) and DURATION.fullmatch(value[name])}
    return {name: in_plain(inner) if name in ("headers", "rate", "perKey") else inner
            for name, inner in {**value, **seconds}.items() if inner is not None or name == "body"}


def is_allowed(operation, value):
    """Returns whether the contract allows this body. A PUT need not repeat the topic of its path."""
    if operation["operationId"] in ("scheduleJob", "replaceJob", "replaceSettings", "replaceKey", "replaceLimit"):
        value = in_plain(value)
    if operation["operationId"] == "replaceJob" and isinstance(value, dict):
        value = {"topic": "a", **value}
    return any(contract.validator(content["schema"]).is_valid(value) for content in follow(operation["requestBody"])["content"].values())


def taken(reply, operation, value):
    """Returns [(accepted value, whether the contract allows the value)]. If the request has many jobs, each accepted
    job is a value."""
    if reply.status == 207:
        job = contract.validator(contract.schema_of("NewJob"))
        return [(item, job.is_valid(in_plain(item))) for item, result in zip(value, reply.json["results"]) if result["status"] < 300]
    return [(value, is_allowed(operation, value))] if reply.status < 300 else []


@pytest.fixture(scope="module")
def asked():
    """A separate duepost, because other tests must not meet the generated jobs. Nothing listens on the port of their
    urls."""
    started = Duepost("--reactors", "2")
    yield started
    log = started.log()
    started.stop()
    assert "ERROR: AddressSanitizer" not in log


def fill(server):
    """Schedules jobs at the most common paths: some wait, and one is dead."""
    for topic in "a", "b.c", "mail":
        for job_id in "1", "2":
            server.request("PUT", f"/jobs/{topic}/{job_id}", '{"url":"http://127.0.0.1:9/","delay":3600}', {"Content-Type": "application/json"})
        server.request("PUT", f"/jobs/{topic}/3", '{"url":"http://127.0.0.1:9/","retry":0}', {"Content-Type": "application/json"})


@pytest.mark.parametrize("path, method", OPERATIONS, ids=lambda word: word)
def test_every_answer_is_in_the_contract(asked, path, method):
    operation = contract.document["paths"][path][method]

    @settings(max_examples=int(COUNT or 60), derandomize=not COUNT, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True)
    @given(requests_of(path, method))
    def check(request):
        name, target, body, headers, value = request
        reply = asked.request(name, target, body, headers)
        assert reply.status < 500 or reply.status in (503, 507), reply.status
        if name == method.upper() and value is not None:
            assert [item for item, is_known in taken(reply, operation, value) if not is_known] == []

    fill(asked)
    check()
    assert asked.get("/healthz").status == 200
