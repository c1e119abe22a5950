"""Key and priority of a job: they are stored, shown, compared, changed, searched for, and passed on."""

import itertools
import json
import os
import subprocess
from urllib.parse import quote

import pytest

import duepost
import scratch
from duepost import Duepost
from patience import SLOW, until
from postgres_server import PostgresServer
from pull import lease, make_pull
from test_labels import count, found

JSON = {"Content-Type": "application/json"}
HOSTILE = ["c1", 'say "hi" \\ %', "\\", '"', '"}', "größe ✓ 😀", "a,b&c=d", " x ", "7", "null", "k 0 1 9", "~/..", "x" * 128, '"' * 128, "\\" * 128, "😀" * 32]


def schedule(server, receiver, topic, keys, **members):
    """Schedules jobs. keys: the key of each job by its id; None: the job has no key."""
    for job_id, key in keys.items():
        named = {} if key is None else {"key": key}
        server.schedule(**{"topic": topic, "jobId": job_id, "url": receiver.url(), "delay": 3600, **named, **members})


def by_key(topic, key, state="delayed"):
    return f"state={state}&topic={topic}&key={quote(key, safe='')}"


def put(server, path, **members):
    return server.request("PUT", path, json.dumps(members), JSON)


def patch(server, topic, job_id, **members):
    return server.request("PATCH", f"/jobs/{topic}/{job_id}", json.dumps(members), JSON)


def lane_of(job):
    return job.get("key"), job["priority"]


# ---- one job ----

@pytest.mark.parametrize("key", HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_any_key_is_stored_shown_found_and_passed_on(server, receiver, topic, key):
    """The record is written again with each attempt and each change, and scripts read the key in its head."""
    receiver.script(topic, 500, 200, job_id="a")
    schedule(server, receiver, topic, {"a": key, "b": key, "c": key + "x" if len(key.encode()) < 100 else "x", "d": None}, priority=7, body={"key": "other"})
    assert lane_of(server.job(topic, "a")) == (key, 7)
    assert found(server, by_key(topic, key)) == ["a", "b"] == found(server, f"{by_key(topic, key)}&limit=1")
    assert count(server, by_key(topic, key)) == 2 and found(server, by_key(topic, "")) == ["d"]
    patch(server, topic, "a", retrySchedule=[3600], ttl=7200, labels=["l"]).expect(200)
    server.run(topic, "a").expect(202)
    until(lambda: server.job(topic, "a")["attempts"] == 1, 10, "the first attempt")
    assert lane_of(server.job(topic, "a")) == (key, 7) and found(server, by_key(topic, key)) == ["a", "b"]
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", None)
    assert server.request("DELETE", f"/jobs?{by_key(topic, key)}&all=true").expect(200)["done"] == 1
    assert found(server, f"topic={topic}") == ["c", "d"]


@pytest.mark.parametrize("key", ["", "x" * 129, "é" * 65, "a\nb", "a\0", "\t", "\x7f", "\x85", 7, True, [], {}])
def test_an_invalid_key_is_refused(server, topic, key):
    reply = server.post({"topic": topic, "jobId": "a", "url": "http://127.0.0.1:9/", "key": key})
    assert reply.fields() == ["key"] and reply.json["errors"][0]["detail"].startswith("must be ")
    assert put(server, f"/jobs/{topic}/a", url="http://127.0.0.1:9/", key=key).fields() == ["key"]


@pytest.mark.parametrize("priority", [-1, 10, 1.5, "5", "high", True, []])
def test_an_invalid_priority_is_refused(server, receiver, topic, priority):
    assert server.post({"topic": topic, "url": "http://127.0.0.1:9/", "priority": priority}).fields() == ["priority"]
    schedule(server, receiver, topic, {"a": None})
    assert patch(server, topic, "a", priority=priority).fields() == ["priority"]


def test_bytes_that_are_no_utf8_are_refused(server, topic):
    text = b'{"topic":"%s","url":"http://127.0.0.1:9/","key":"\xff"}' % topic.encode()
    server.request("POST", "/jobs", text, JSON).expect(400)


def test_another_key_or_priority_makes_another_job(server, receiver, topic):
    members = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 3600}
    for job_id, same in ("a", {"key": "c1", "priority": 7}), ("b", {}):
        named = {**members, "jobId": job_id}
        server.post({**named, **same}).expect(201)
        server.post({**named, **same}).expect(200)
        for other in {"key": "c2"}, {"priority": 6}, {"key": "C1"}, {"key": "c1"}, {"priority": 7}:
            server.post({**named, **other}).expect(409)
    server.post({**members, "jobId": "b", "priority": 5, "key": None}).expect(200)
    server.post({**members, "jobId": "a", "priority": 7.0, "key": "c1"}).expect(200)


def test_a_job_without_them_is_as_ever(server, receiver, topic):
    schedule(server, receiver, topic, {"a": None})
    assert lane_of(server.job(topic, "a")) == (None, 5)


def test_the_priority_of_a_waiting_job_is_changed(server, receiver, topic):
    schedule(server, receiver, topic, {"a": 'c"1', "b": None}, body={"n": 1})
    before = server.job(topic, "a")
    assert patch(server, topic, "a", priority=9).expect(200) == {**before, "priority": 9} == server.job(topic, "a")
    assert patch(server, topic, "a", priority=5).expect(200) == before
    patch(server, topic, "b", priority=0, retry=1).expect(200)
    assert lane_of(server.job(topic, "b")) == (None, 0)
    assert patch(server, topic, "b", priority=None).expect(200)["priority"] == 5


def test_only_put_changes_the_key(server, receiver, topic):
    schedule(server, receiver, topic, {"a": "c1"}, priority=3)
    for key in "c2", "c1", None:
        reply = patch(server, topic, "a", key=key)
        assert reply.fields() == ["key"] and "PUT" in reply.json["errors"][0]["detail"]
    assert put(server, f"/jobs/{topic}/a", url=receiver.url(), delay=60, key="c2", priority=4).status == 200
    assert lane_of(server.job(topic, "a")) == ("c2", 4)
    assert found(server, by_key(topic, "c1")) == [] and found(server, by_key(topic, "c2")) == ["a"]
    put(server, f"/jobs/{topic}/a", url=receiver.url(), delay=60).expect(200)
    assert lane_of(server.job(topic, "a")) == (None, 5)


def test_many_jobs_of_one_request_have_their_own(server, receiver, topic):
    jobs = [{"topic": topic, "jobId": f"{n}", "url": receiver.url(), "delay": 60, "key": f"c{n % 2}", "priority": n} for n in range(11)]
    results = server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)["results"]
    assert [each["status"] for each in results] == [201] * 10 + [400]
    assert [lane_of(server.job(topic, str(n))) for n in range(10)] == [(f"c{n % 2}", n) for n in range(10)]


# ---- lists ----

def test_jobs_are_found_by_key_in_each_state(server, receiver, topic):
    put(server, f"/topics/{topic}", retention=3600).expect(200)
    receiver.script(topic, 410, job_id="dead1")
    receiver.script(topic, 410, job_id="dead2")
    schedule(server, receiver, topic, {"dead1": "c1", "dead2": "c2", "done1": "c1", "done2": None}, delay=0)
    schedule(server, receiver, topic, {"late1": "c1", "late2": "c2", "late3": None})
    until(lambda: count(server, f"topic={topic}&state=delivered") == 2 and count(server, f"topic={topic}&state=dead") == 2, 20, "all ended")
    states = {state: [found(server, by_key(topic, key, state)) for key in ("c1", "c2", "", "c3")] for state in ("delayed", "dead", "delivered")}
    assert states == {"delayed": [["late1"], ["late2"], ["late3"], []], "dead": [["dead1"], ["dead2"], [], []],
                      "delivered": [["done1"], [], ["done2"], []]}
    assert lane_of(server.get(f"/jobs/{topic}/done1").expect(200)) == ("c1", 5)
    assert found(server, f"state=delayed&key=c1&label=none&topic={topic}") == []
    assert found(server, f"topic={topic}&key=c1&idPrefix=l&urlHost=127.0.0.1") == ["late1"]


def test_bulk_actions_keep_to_a_key(server, receiver, topic):
    for n in range(4):
        receiver.script(topic, 410, 200, job_id=f"d{n}")
    schedule(server, receiver, topic, {f"d{n}": f"c{n % 2}" for n in range(4)}, delay=0)
    until(lambda: count(server, f"topic={topic}&state=dead") == 4, 20, "all are dead")
    answer = server.request("POST", f"/jobs/redrive?topic={topic}&key=c1&all=true").expect(200)
    assert answer == {"matched": 2, "done": 2, "skipped": 0}
    until(lambda: found(server, f"topic={topic}") == ["d0", "d2"], 20, "two are delivered")
    schedule(server, receiver, topic, {f"w{n}": f"c{n % 2}" for n in range(4)})
    assert server.request("POST", f"/jobs/reschedule?{by_key(topic, 'c1')}&delay=7200&all=true").expect(200)["done"] == 2
    assert server.request("DELETE", f"/jobs?{by_key(topic, 'c0')}&all=true").expect(200)["done"] == 2
    assert found(server, f"topic={topic}") == ["d0", "d2", "w1", "w3"]
    assert [lane_of(server.job(topic, name)) for name in ("w1", "w3")] == [("c1", 5)] * 2


@pytest.mark.parametrize("method, path", [("DELETE", "/jobs"), *(("POST", f"/jobs/{word}") for word in ("run", "redrive", "reschedule"))])
def test_an_action_on_many_jobs_refuses_an_empty_key(server, receiver, topic, method, path):
    schedule(server, receiver, topic, {"a": "c1", "b": None})
    state = "dead" if path == "/jobs/redrive" else "delayed"
    query = f"state={state}&topic={topic}{'&delay=1' if path == '/jobs/reschedule' else ''}"
    for empty, bound in itertools.product(("key=", "key"), ("all=true", "limit=9", "all=true&dryRun=true")):
        refusal = server.request(method, f"{path}?{query}&{empty}&{bound}", check=False).expect(400)
        assert refusal["errors"] == [{"field": "key", "detail": "must not be empty in an action on many jobs"}]
    assert found(server, f"topic={topic}&state=delayed") == ["a", "b"] and found(server, f"topic={topic}&state=delayed&key=") == ["b"]


def test_a_filter_must_be_a_key(server, topic):
    for wrong in "x" * 129, "%01", "%ff", "a&key=b":
        assert server.get(f"/jobs?topic={topic}&key={wrong}").fields() == ["key"]


_databases = itertools.count(1)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_history_keeps_and_finds_them(kind, receiver, topic):
    postgres = PostgresServer() if kind == "postgresql" else None
    where = postgres.create(f"keys{next(_databases)}") if postgres else f"sqlite:{scratch.file('keys.sqlite')}"
    server = Duepost("--breaker", "off", "--history", where)
    try:
        receiver.script(topic, 410, 200, job_id="dead")
        schedule(server, receiver, topic, {"dead": 'c"1', "a": 'c"1', "b": "c2", "c": None}, delay=0, labels=["l"], priority=8)
        query = f"topic={topic}&source=history&state=any"
        until(lambda: count(server, query) == 4, 20, "all are in the history")
        assert [found(server, f"{query}&key={key}") for key in ("c%221", "c2", "", "l")] == [["a", "dead"], ["b"], ["c"], []]
        assert found(server, f"{query}&key=c%221&label=l") == ["a", "dead"] and found(server, f"{query}&label=c2") == []
        assert found(server, f"topic={topic}&source=history&state=dead&key=c%221") == ["dead"] and count(server, f"{query}&key=") == 1
        shown = server.get(f"/jobs/{topic}/a").expect(200)
        assert lane_of(shown) == ('c"1', 8) and shown["labels"] == ["l"]
        server.request("POST", f"/jobs/redrive?topic={topic}&source=history&key=c%221&all=true").expect(200)
        until(lambda: receiver.count(topic) == 5, 20, "the dead job is delivered")
        ended = f"topic={topic}&source=history&state=delivered&key=c%221"
        until(lambda: found(server, ended) == ["a", "dead"], 20, "it keeps its key")
    finally:
        server.stop()
        if postgres:
            postgres.stop()


# ---- where jobs come from, and who gets them ----

def test_schedules_create_jobs_with_them(server, receiver, topic):
    path = f"/schedules/{topic}/s"
    job = {"url": receiver.url(), "key": 'c"1', "priority": 2}
    shown = put(server, path, every=3600, startAt="2030-01-01T00:00:00Z", job=job).expect(201)
    assert shown["job"] == job
    put(server, f"/schedules/{topic}/t", every=3600, startAt="2030-01-01T00:00:00Z", job={"url": receiver.url(), "priority": 5}).expect(201)
    names = [[each["scheduleId"] for each in server.get(f"/schedules/{topic}?key={key}").expect(200)["schedules"]] for key in ("c%221", "", "c")]
    assert names == [["s"], ["t"], []]
    put(server, f"/topics/{topic}", paused=True).expect(200)
    created = server.request("POST", f"{path}/run").expect(202)
    assert lane_of(server.job(topic, created["jobId"])) == ('c"1', 2)
    changed = server.request("PATCH", path, json.dumps({"job": {"retry": 1}}), JSON).expect(200)
    assert changed["job"] == {**job, "retry": 1}
    changed = server.request("PATCH", path, json.dumps({"job": {"key": "c2", "priority": None}}), JSON).expect(200)
    assert changed["job"] == {"url": receiver.url(), "key": "c2", "retry": 1}
    assert "key" not in server.request("PATCH", path, json.dumps({"job": {"key": None}}), JSON).expect(200)["job"]
    reply = put(server, path, every=3600, job={"url": receiver.url(), "key": "", "priority": 10})
    assert reply.fields() == ["job.key", "job.priority"]


def test_the_jobs_of_a_group_have_them(server, receiver, topic):
    put(server, f"/groups/{topic}", endpoints={name: {"url": receiver.url(f"/{name}")} for name in ("one", "two")}).expect(201)
    sent = {"topic": topic, "jobId": "a", "group": topic, "delay": 3600, "key": "c1", "priority": 0}
    server.post(sent).expect(201)
    assert [lane_of(server.job(topic, f"a~{name}")) for name in ("one", "two")] == [("c1", 0)] * 2
    server.post(sent).expect(200)
    server.post({**sent, "key": "c2"}).expect(409)


def test_callbacks_name_them_and_have_none(server, receiver, topic):
    for job_id, named in ("a", {"key": 'c"1', "priority": 9}), ("b", {}):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), onDelivered=receiver.url("/callback"), **named)
    arrivals = until(lambda: receiver.count(f"{topic}~callbacks") == 2 and receiver.of(f"{topic}~callbacks"), 20, "the callbacks")
    told = {document["jobId"]: document for document in (json.loads(each.body) for each in arrivals)}
    assert (told["a"]["key"], told["a"]["priority"]) == ('c"1', 9)
    assert not {"key", "priority"} & set(told["b"])


def test_workers_see_them(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", key="c1", priority=8)
    server.schedule(topic=topic, jobId="b")
    jobs = {job["jobId"]: job for job in lease(server, topic, max=2)}
    assert lane_of(jobs["a"]) == ("c1", 8) and lane_of(jobs["b"]) == (None, 5)


def test_the_command_line_sets_and_finds_them(server, receiver, topic):
    def command(*words, code=0):
        done = subprocess.run([duepost.BINARY, *words], env={**os.environ, "DUEPOST_SERVER": server.url}, capture_output=True, text=True,
                              timeout=30 * SLOW)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr
    for name, more in ("a", ["--key", 'c"1', "--priority", "7"]), ("b", ["--key=c2"]), ("c", []):
        command("schedule", f"{topic}/{name}", "--url", receiver.url(), "--delay", "1h", *more)
    assert lane_of(server.job(topic, "a")) == ('c"1', 7)
    listed = [[job["jobId"] for job in json.loads(command("jobs", "--topic", topic, f"--key={key}", "--json"))] for key in ('c"1', "c2", "", "x")]
    assert listed == [["a"], ["b"], ["c"], []]
    command("schedules", "set", f"{topic}/s", "--every", "1h", "--url", receiver.url(), "--key", "c3", "--priority", "0")
    job = server.get(f"/schedules/{topic}/s").expect(200)["job"]
    assert (job["key"], job["priority"]) == ("c3", 0)
    command("cancel", "--topic", topic, "--state", "delayed", "--key", "c2", "--all")
    assert found(server, f"topic={topic}") == ["a", "c"]
    assert "key: must not be empty" in command("cancel", "--topic", topic, "--state", "delayed", "--key", "", "--all", code=1)
    assert found(server, f"topic={topic}") == ["a", "c"]
    assert "--priority is x: expected a whole number from 0 to 9" in command("schedule", f"{topic}/d", "--priority", "x", code=2)
