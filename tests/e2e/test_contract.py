"""The contract itself: it is well-formed, its examples are valid, and the requests that it allows are accepted."""

import jsonschema
import pytest
import yaml

import contract
from duepost import ROOT

JOBS = contract.document["paths"]["/jobs"]["post"]["requestBody"]["content"]["application/json"]["examples"]


def examples_of(content):
    if "example" in content:
        yield content["example"]
    for example in content.get("examples", {}).values():
        yield example["value"]


def test_every_schema_is_a_schema():
    for schema in contract.document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_no_member_is_there_twice():
    """PyYAML uses the last duplicate key; other parsers refuse the whole document."""
    def check(node):
        names = [name.value for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        assert len(names) == len(set(names)), f"line {node.start_mark.line + 1}: {sorted(names)}"
        for child in node.value if not isinstance(node, yaml.ScalarNode) else []:
            for part in child if isinstance(child, tuple) else (child,):
                check(part)
    check(yaml.compose((ROOT / "api/openapi.yaml").read_text(), Loader=yaml.SafeLoader))


@pytest.mark.parametrize("place", sorted((*route, status) for route, all_of in contract.routes.items()
                                         for status in all_of if "content" in all_of[status]), ids=str)
def test_every_status_has_examples_that_fit(place):
    for media, content in contract.routes[place[:2]][place[2]]["content"].items():
        found = list(examples_of(content))
        assert found
        for example in found:
            contract.validator(content["schema"]).validate(example)
            if media == "application/problem+json":
                assert example["status"] == place[2]


def test_each_operation_that_asks_for_a_token_says_what_else_it_may_answer():
    """Each operation that needs a token lists 401, 403 and 429 itself, because client generators read only the
    operation."""
    wanted = {"401": "Unauthorized", "403": "Forbidden", "429": "TooManyRequests"}
    for path, item in contract.document["paths"].items():
        for method in {"get", "post", "put", "patch", "delete"} & set(item):
            responses = item[method]["responses"]
            found = {status: responses[status]["$ref"].rpartition("/")[2] for status in wanted if status in responses}
            assert found == (wanted if item[method]["security"] else {}), f"{method} {path}"


def cursors():
    """Yields (method, path, cursor) for each example that has a cursor."""
    for path, item in contract.document["paths"].items():
        for method in {"get", "post", "delete"} & set(item):
            response = contract.routes[path, method.upper()].get(200, {})
            for content in response.get("content", {}).values():
                for example in examples_of(content):
                    if isinstance(example, dict) and "cursor" in example:
                        yield method.upper(), path, example["cursor"]


def test_the_cursors_of_the_examples_are_taken(server):
    found = list(cursors())
    assert {(method, path) for method, path, _ in found} == {("GET", "/jobs"), ("DELETE", "/jobs"), ("POST", "/jobs/redrive"), ("POST", "/jobs/run"),
                                                        ("POST", "/jobs/reschedule")}
    for method, path, cursor in found:
        more = {"/jobs/reschedule": "&all=true&delay=60"}.get(path, "" if method == "GET" else "&all=true")
        server.request(method, f"{path}?state=dead&topic=orders.close&cursor={cursor}{more}").expect(200)


@pytest.mark.parametrize("name", JOBS)
def test_the_examples_of_jobs_are_accepted(start, name):
    example = JOBS[name]["value"]
    contract.validator(contract.schema_of("NewJob")).validate(example)
    job = {**example, "url": "http://127.0.0.1:9/"}
    if "dueAt" not in job:
        job["delay"] = max(job.get("delay", 0), 60)
    start("--max-jobs", "10").schedule(**job)


def test_the_schema_refuses_what_the_server_refuses():
    """Covers only the rules that a schema can express. These are not the rules about dates, urls, total sizes, or two
    members together."""
    from test_validation import FIELDS, GOOD
    check = contract.validator(contract.schema_of("NewJob"))
    accepted = [members for _, members in FIELDS if check.is_valid({**GOOD, **members})]
    assert [m for m in accepted if not {"dueAt", "expiresAt", "url", "retrySchedule"} & set(m) and len(str(m)) < 5000] == []
