"""The contract itself: well-formed, its examples valid, and true of the requests."""

import json

import jsonschema
import pytest

import contract

EXAMPLES = sorted((contract.PATH.parent / "examples").glob("*.json"))


def examples_of(content):
    if "example" in content:
        yield content["example"]
    for example in content.get("examples", {}).values():
        if "value" in example:
            yield example["value"]
        else:
            yield json.loads((contract.PATH.parent / example["externalValue"]).read_text())


def test_every_schema_is_a_schema():
    for schema in contract.document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("place", sorted((*route, status) for route, all_of in contract.routes.items()
                                         for status in all_of if "content" in all_of[status]), ids=str)
def test_every_status_has_examples_that_fit(place):
    (media, content), = contract.routes[place[:2]][place[2]]["content"].items()
    found = list(examples_of(content))
    assert found
    for example in found:
        contract.validator(content["schema"]).validate(example)
        if media == "application/problem+json":
            assert example["status"] == place[2]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_of_jobs_are_accepted(start, path, topic):
    contract.validator(contract.schema_of("NewJob")).validate(json.loads(path.read_text()))
    job = {**json.loads(path.read_text()), "url": "http://127.0.0.1:9/"}
    if "dueAt" not in job:
        job.setdefault("delay", 60)
        job["delay"] = max(job["delay"], 60)
    start("--max-jobs", "10").schedule(**job)


def test_what_the_server_refuses_the_schema_refuses_too():
    """As far as a schema can say it: not dates, urls, sizes in all, or one member's bearing on another."""
    from test_validation import FIELDS, GOOD
    check = contract.validator(contract.schema_of("NewJob"))
    accepted = [members for _, members in FIELDS if check.is_valid({**GOOD, **members})]
    assert [m for m in accepted if not {"dueAt", "expiresAt", "url", "retrySchedule"} & set(m) and len(str(m)) < 5000] == []
