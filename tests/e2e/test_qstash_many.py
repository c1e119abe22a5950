"""/v2/dlq and /v2/workflows/dlq with more dead letters than one request takes, and more than are read together."""

import pytest

from patience import until
from qstash import QStash, arrivals
from receiver import Answer
from runs import TAKEN, Run

PAGE = 500  # PAGE in src/qstash/messages/bulk.c: one request sends at most this number of messages again


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def listed(qstash, target):
    """Returns the members of all pages of a list, or of an action that is repeated with its cursor; and the number of
    pages."""
    found, cursor, pages = [], "", 0
    while True:
        method = "GET" if target.split("?")[0].endswith("dlq") else "POST"
        answer = qstash.call(method, f"{target}{cursor}", None if method == "GET" else b"")
        assert answer.status in (200, 201), answer.body
        name, = {"messages", "responses", "workflowRuns"} & answer.json.keys()
        found += answer.json[name]
        pages += 1
        if not answer.json.get("cursor"):
            return found, pages
        cursor = f"&cursor={answer.json['cursor']}"


def dead_messages(qstash, receiver, topic, count):
    """Creates dead messages. Afterwards, the receiver accepts all messages."""
    receiver.script(f"/{topic}", Answer(500))
    headers = {"upstash-retries": "0", "upstash-label": topic}
    for at in range(0, count, 100):
        qstash.call("POST", "batch", [{"destination": receiver.url(f"/{topic}"), "headers": headers, "body": f"b{number}"}
                                      for number in range(at, min(at + 100, count))]).expect(200)
    until(lambda: len(listed(qstash, f"dlq?count=1000&label={topic}")[0]) == count, 30, "all messages die")
    receiver.script(f"/{topic}", Answer(200))


def dead_runs(qstash, receiver, topic, count):
    """Creates runs whose first message is dead. Afterwards, the endpoint accepts all messages. Returns the ids of the
    runs."""
    receiver.script(f"/{topic}", Answer(500))
    runs = [Run(qstash, receiver, f"/{topic}", f"p{number}", id=f"wfr_{topic}-{number}", upstash_retries="0", upstash_label=topic)
            for number in range(count)]
    until(lambda: len(listed(qstash, f"workflows/dlq?count=1000&label={topic}")[0]) == count, 30, "all runs fail")
    receiver.script(f"/{topic}", TAKEN)
    return [run.id for run in runs]


def test_more_messages_than_a_page_are_retried_once_each(qstash, receiver, topic):
    count = PAGE + 120
    dead_messages(qstash, receiver, topic, count)
    made, pages = listed(qstash, f"dlq/retry?label={topic}&count={PAGE}")
    assert len({one["messageId"] for one in made}) == count and pages == 2
    again = arrivals(receiver, f"/{topic}", 2 * count, 30)[count:]
    assert sorted(arrival.body for arrival in again) == sorted(b"b%d" % number for number in range(count))
    assert listed(qstash, f"dlq?label={topic}")[0] == []


def test_without_a_count_a_hundred_messages_are_retried(qstash, receiver, topic):
    dead_messages(qstash, receiver, topic, 130)
    answer = qstash.call("POST", f"dlq/retry?label={topic}", b"").expect(201)
    assert len(answer["responses"]) == 100 and answer["cursor"]
    assert len(listed(qstash, f"dlq?label={topic}")[0]) == 30
    assert len(qstash.call("POST", f"dlq/retry?label={topic}&cursor={answer['cursor']}", b"").expect(201)["responses"]) == 30


@pytest.mark.parametrize("count", [PAGE + 20, 2 * PAGE + 20])
def test_more_messages_than_a_page_are_deleted(qstash, receiver, topic, count):
    dead_messages(qstash, receiver, topic, count)
    assert qstash.call("DELETE", f"dlq?label={topic}&count={count - 10}").expect(200)["deleted"] == count - 10
    left, = [listed(qstash, f"dlq?label={topic}")[0]]
    assert len(left) == 10
    assert qstash.call("DELETE", f"dlq?label={topic}").expect(200) == {"deleted": 10}


@pytest.mark.parametrize("action", ["resume", "restart"])
def test_many_runs_are_continued_once_each(qstash, receiver, topic, action):
    ids = dead_runs(qstash, receiver, topic, 130)
    made, pages = listed(qstash, f"workflows/dlq/{action}?label={topic}")
    assert len({one["workflowRunId"] for one in made} - set(ids)) == 130 and pages == 2
    again = arrivals(receiver, f"/{topic}", 260, 30)[130:]
    assert {arrival.headers["upstash-workflow-runid"] for arrival in again} == {one["workflowRunId"] for one in made}
    assert listed(qstash, f"workflows/dlq?label={topic}")[0] == []


def test_sixty_runs_are_continued_by_their_ids(qstash, receiver, topic):
    dead_runs(qstash, receiver, topic, 70)
    letters = [letter["dlqId"] for letter in listed(qstash, f"workflows/dlq?label={topic}")[0]]
    made = qstash.call("POST", "workflows/dlq/restart", {"dlqIds": letters[:60]}).expect(200)
    assert len(made["workflowRuns"]) == 60 and "cursor" not in made
    arrivals(receiver, f"/{topic}", 70 + 60, 30)
    assert {letter["dlqId"] for letter in listed(qstash, f"workflows/dlq?label={topic}")[0]} == set(letters[60:])


def test_more_runs_than_a_page_are_deleted(qstash, receiver, topic):
    dead_runs(qstash, receiver, topic, PAGE + 20)
    assert qstash.call("DELETE", f"workflows/dlq?label={topic}&count={PAGE + 10}").expect(200)["deleted"] == PAGE + 10
    assert qstash.call("DELETE", f"workflows/dlq?label={topic}").expect(200)["deleted"] == 10
