"""Workflows in duepost's own API: lists, one workflow with its elements and jobs, cancel. The API of QStash creates
them."""

import json
import os
import re
import subprocess
from datetime import datetime

import pytest

import duepost
from durable import append, begin, item, numbers
from patience import SLOW, until
from qstash import QStash, arrivals
from receiver import HANG, Answer
from runs import TAKEN
from tokens import TokenFile



@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def read(server, run_id, query=""):
    return server.get(f"/workflows/qstash/{run_id}{query}").expect(200)


def ids(page):
    return [workflow["workflowId"] for workflow in page["workflows"]]


def listed(server, query):
    """Returns the ids of all pages."""
    found, cursor = [], ""
    while True:
        page = server.get(f"/workflows?{query}{cursor}").expect(200)
        found += ids(page)
        if "cursor" not in page:
            return found
        cursor = f"&cursor={page['cursor']}"


def ms(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


# ---- one workflow ----

def test_a_workflow_shows_its_elements_and_its_open_jobs(qstash, receiver, topic):
    receiver.script(f"/{topic}?key=secret", TAKEN)
    url = receiver.url(f"/{topic}")
    run_id = begin(qstash, f"{url}?key=secret", upstash_label="orders", upstash_forward_authorization="Bearer secret")
    arrivals(receiver, f"/{topic}?key=secret", 1)
    later, = append(qstash, url, run_id, "secret step", upstash_delay="1h")
    call, = append(qstash, receiver.url("/elsewhere"), run_id, "secret call", upstash_workflow_calltype="toCallback", upstash_delay="1h")
    until(lambda: read(qstash, run_id)["openCount"] == 2, 10, "the first message ends")
    found = read(qstash, run_id)
    assert (found["topic"], found["workflowId"], found["state"], found["elementCount"]) == ("qstash", run_id, "active", 3)
    assert found["url"] == f"{url}?***" and found["labels"] == ["orders"]
    assert "endedAt" not in found and "failedBy" not in found and "parent" not in found
    assert [(element["kind"], element["jobId"]) for element in found["elements"][1:]] == [("step", later), ("call", call)]
    assert found["elements"][0]["kind"] == "step" and found["createdAt"] == found["elements"][0]["at"] <= found["elements"][1]["at"]
    texts = [json.dumps(element, separators=(",", ":")) for element in qstash.call("GET", f"workflows/runs/{run_id}").expect(200)]
    assert [element["bytes"] for element in found["elements"]] == [len(text) for text in texts]
    assert found["bytes"] == sum(len(text) + 1 for text in texts)
    assert sorted((job["jobId"], job["role"], job["element"]) for job in found["jobs"]) == sorted([(later, "step", 2), (call, "call", 3)])
    for job in found["jobs"]:
        assert qstash.job(job["topic"], job["jobId"])["state"] == "delayed"
    assert "secret" not in json.dumps(found) and "secret" not in json.dumps(qstash.get("/workflows").expect(200))


def test_a_wait_is_a_job_without_an_element(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    url = receiver.url(f"/{topic}")
    run_id = begin(qstash, url)
    arrivals(receiver, f"/{topic}", 1)
    wait = {"url": url, "timeout": "1h", "timeoutUrl": url, "timeoutHeaders": {},
            "step": {"stepId": 1, "stepType": "Wait", "stepName": "w", "concurrent": 1}}
    qstash.call("POST", "wait/event", wait, Upstash_Workflow_RunId=run_id, Upstash_Workflow_Init="false", Upstash_Workflow_Url=url,
                Upstash_Workflow_CallType="step").expect(200)
    until(lambda: read(qstash, run_id)["openCount"] == 1, 10, "the first message ends")
    job, = read(qstash, run_id)["jobs"]
    assert job["role"] == "wait" and "element" not in job


def test_an_invoked_workflow_names_its_parent(qstash, receiver, topic):
    receiver.script(f"/{topic}", HANG)
    url = receiver.url(f"/{topic}")
    parent, child = begin(qstash, url), f"wfr_{next(numbers)}"
    invocation = {"workflowRunId": parent, "workflowUrl": url, "workflowRunCreatedAt": 1, "headers": {}, "step": {"stepId": 1, "stepName": "i", "stepType": "Invoke", "concurrent": 1}}
    qstash.call("POST", f"publish/{url}", json.dumps(invocation), Upstash_Workflow_RunId=child, Upstash_Workflow_Init="true",
                Upstash_Workflow_Url=url, Upstash_Workflow_Invoke="true").expect(200)
    assert read(qstash, child)["parent"] == {"topic": "qstash", "workflowId": parent, "createdAt": read(qstash, parent)["createdAt"]}


def test_how_workflows_end(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)))
    failed = begin(qstash, receiver.url(f"/{topic}"))
    until(lambda: read(qstash, failed)["state"] == "failed", 10, "the workflow fails")
    found = read(qstash, failed)
    assert found["failedBy"] == {name: found["elements"][0][name] for name in ("topic", "jobId")} and found["jobs"] == []
    assert ms(found["endedAt"]) >= ms(found["createdAt"])
    receiver.script(f"/{topic}-2", TAKEN)
    done = begin(qstash, receiver.url(f"/{topic}-2"))
    qstash.call("DELETE", f"workflows/runs/{done}?cancel=false", b'"result"').expect(200)
    assert read(qstash, done)["state"] == "succeeded" and "endedAt" in read(qstash, done)


def test_an_id_that_was_used_again_is_found_by_its_time(qstash, receiver, topic):
    receiver.script(f"/{topic}", *[TAKEN] * 2)
    url, run_id = receiver.url(f"/{topic}"), f"wfr_{next(numbers)}"
    begin(qstash, url, run_id)
    first = read(qstash, run_id)
    qstash.request("DELETE", f"/workflows/qstash/{run_id}").expect(200)
    begin(qstash, url, run_id)
    assert read(qstash, run_id)["createdAt"] > first["createdAt"]
    for created in (first["createdAt"], ms(first["createdAt"])):
        old = read(qstash, run_id, f"?created={created}")
        assert (old["createdAt"], old["state"]) == (first["createdAt"], "cancelled")
    assert qstash.get(f"/workflows/qstash/{run_id}?created=1").expect(404)["detail"] == "There is no such workflow."
    assert listed(qstash, f"idPrefix={run_id}") == [run_id, run_id]


# ---- lists ----

def test_lists_have_the_latest_first_and_filters(qstash, receiver, topic):
    receiver.script(f"/{topic}", *[HANG] * 5)
    url = receiver.url(f"/{topic}")
    made = [begin(qstash, url, f"wfr_{topic}-{i}") for i in range(5)]
    qstash.request("DELETE", f"/workflows/qstash/{made[2]}").expect(200)
    mine = f"idPrefix=wfr_{topic}-"
    assert listed(qstash, mine) == made[::-1]
    assert listed(qstash, f"{mine}&topic=qstash") == made[::-1]
    assert listed(qstash, f"{mine}&limit=2") == made[::-1]
    assert listed(qstash, f"{mine}&state=cancelled") == [made[2]]
    assert listed(qstash, f"{mine}&state=active&limit=1") == [made[4], made[3], made[1], made[0]]
    assert listed(qstash, f"{mine}&state=failed") == [] and listed(qstash, "topic=other") == []
    assert [name for name in listed(qstash, "limit=3") if name in made] == made[::-1]
    found = next(one for one in qstash.get(f"/workflows?{mine}").expect(200)["workflows"] if one["workflowId"] == made[0])
    assert found == {name: value for name, value in read(qstash, made[0]).items() if name in found} and found["openCount"] == 1


@pytest.mark.parametrize("query, field", [("state=done", "state"), ("limit=0", "limit"), ("limit=1001", "limit"), ("cursor=x", "cursor"),
                                          ("topic=a/b", "topic"), ("idPrefix=", "idPrefix"), ("created=1", "created"), ("other=1", "other")])
def test_a_wrong_query_is_400(qstash, query, field):
    assert qstash.get(f"/workflows?{query}").fields() == [field]


# ---- cancel ----

def test_a_cancelled_workflow_takes_nothing_and_drops_its_jobs(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    url = receiver.url(f"/{topic}")
    run_id = begin(qstash, url)
    arrivals(receiver, f"/{topic}", 1)
    later, = append(qstash, url, run_id, "step", upstash_delay="1h")
    assert qstash.request("DELETE", f"/workflows/qstash/{run_id}").expect(200) == {"topic": "qstash", "workflowId": run_id, "state": "cancelled"}
    assert read(qstash, run_id)["state"] == "cancelled" and read(qstash, run_id)["jobs"] == []
    assert qstash.call("GET", f"messages/{later}").status == 404
    assert qstash.call("POST", "batch", [item(url, run_id, "late")]).status == 400
    assert "event=workflow_cancelled" in qstash.log()
    assert qstash.request("DELETE", f"/workflows/qstash/{run_id}").expect(404)["detail"] == "No workflow with this id is active."


def test_errors_change_nothing(qstash, receiver, topic):
    receiver.script(f"/{topic}", HANG)
    run_id = begin(qstash, receiver.url(f"/{topic}"))
    for target, field in ((f"?created={created}", "created") for created in ("x", "0", "-1", "")):
        assert qstash.get(f"/workflows/qstash/{run_id}{target}").fields() == [field]
    assert qstash.get(f"/workflows/qstash/{run_id}?topic=qstash").fields() == ["topic"]
    assert qstash.request("DELETE", f"/workflows/qstash/{run_id}?created=1").fields() == ["created"]
    qstash.request("PUT", f"/workflows/qstash/{run_id}", "{}").expect(405)
    qstash.request("POST", "/workflows", "{}").expect(405)
    for missing in ("/workflows/qstash/none", "/workflows/other/none", "/workflows/qstash/a%2Fb", "/workflows/qstash"):
        assert qstash.get(missing).status == 404
    qstash.request("DELETE", "/workflows/qstash/none").expect(404)
    assert read(qstash, run_id)["state"] == "active"


# ---- rights, Redis ----

def test_a_token_sees_and_cancels_workflows_of_its_topics_only(receiver, topic):
    tokens = TokenFile()
    root, theirs, mine, reader = (tokens.add("root"), tokens.add("theirs", topics="other-*"), tokens.add("mine", topics="qstash"),
                                  tokens.add("reader", ["read"], topics="qstash"))
    server = QStash("--tokens", str(tokens.path), token=root)
    try:
        receiver.script(f"/{topic}", HANG)
        run_id = begin(server, receiver.url(f"/{topic}"))
        target = f"/workflows/qstash/{run_id}"
        for query in ("", "?topic=qstash"):
            server.with_token(theirs).get(f"/workflows{query}").expect(403)
        assert ids(server.with_token(theirs).get("/workflows?topic=other-1").expect(200)) == []
        server.with_token(theirs).get(target).expect(403)
        server.with_token(theirs).request("DELETE", target).expect(403)
        server.with_token(reader).request("DELETE", target).expect(403)
        assert read(server, run_id)["state"] == "active"
        server.with_token(mine).get("/workflows").expect(403)
        for client in (server.with_token(mine), server.with_token(reader)):
            assert ids(client.get("/workflows?topic=qstash").expect(200)) == [run_id]
            assert client.get(target).expect(200)["state"] == "active"
        server.with_token(mine).request("DELETE", target).expect(200)
        assert read(server, run_id)["state"] == "cancelled"
    finally:
        server.stop()


def test_without_redis_it_is_503(redis):
    behind = redis()
    server = QStash(redis=behind)
    try:
        behind.kill()
        until(lambda: server.get("/readyz").status == 503, 30, "Redis is away")
        for method, path in (("GET", "/workflows"), ("GET", "/workflows/qstash/a"), ("DELETE", "/workflows/qstash/a")):
            server.request(method, path).expect(503)
    finally:
        server.stop()


# ---- the command line ----

def command(server, *words, code=0):
    done = subprocess.run([duepost.BINARY, "workflows", *words], env={**os.environ, "DUEPOST_SERVER": server.url}, capture_output=True, text=True,
                          timeout=30 * SLOW, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def test_the_command_line_lists_workflows_and_shows_one(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    url = receiver.url(f"/{topic}")
    old, new = begin(qstash, url, f"{topic}-1"), begin(qstash, url, f"{topic}-2", upstash_label="orders")
    later, = append(qstash, url, new, "step", upstash_delay="1h")
    until(lambda: read(qstash, new)["openCount"] == 1, 10, "the first message ends")
    table = [line.split() for line in command(qstash, "--id-prefix", topic).splitlines()]
    assert table[0] == ["TOPIC", "WORKFLOW", "STATE", "CREATED", "ENDED", "ELEMENTS", "OPEN", "URL"]
    assert [row[:3] for row in table[1:]] == [["qstash", new, "active"], ["qstash", old, "active"]] and table[1][-1] == url
    created = read(qstash, new)["createdAt"]
    for words, found in ((["--since", "1h"], [new, old]), (["--since", created], [new]), (["--since", "+1h"], []), (["--limit", "1"], [new]),
                         (["--state", "failed"], []), (["--topic", "qstash"], [new, old])):
        assert [one["workflowId"] for one in json.loads(command(qstash, "--json", "--id-prefix", topic, *words))] == found, words
    shown = command(qstash, f"qstash/{new}").splitlines()
    assert shown[0] == f"workflow  qstash/{new}" and shown[1].startswith(f"state     active, since {created}, ") and shown[2] == f"url       {url}"
    assert shown[3] == "label     orders"
    assert [line.split()[:3:2] for line in shown[5:8]] == [["ELEMENT", "KIND"], ["1", "step"], ["2", "step"]]
    assert shown[5].split()[1] == "AT" and shown[6].split()[1] == created and shown[7].endswith(f"qstash~messages/{later}")
    assert shown[9].split() == ["OPEN", "JOB", "ROLE", "ELEMENT"] and shown[10].split() == [f"qstash~messages/{later}", "step", "2"]
    assert shown[11] == "duepost why TOPIC/ID says what a job waits for." and len(shown) == 12
    assert json.loads(command(qstash, f"qstash/{new}", "--json")) == read(qstash, new)
    assert "404" in command(qstash, "qstash/none", code=1)
