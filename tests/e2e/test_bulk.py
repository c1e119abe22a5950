"""Bulk actions: what a filter finds is cancelled or run again, unless it has changed meanwhile."""

import concurrent.futures
import json
import time

import pytest

from patience import until
from redis_gate import RedisGate
from test_filters import FAR, JSON, bury, count, found, schedule
from timestamp import from_ms, to_ms


@pytest.fixture
def gated(start, redis):
    """A duepost whose commands a gate can hold back, that gate, and another duepost at the same Redis."""
    shared = redis()
    gate = RedisGate(shared)
    yield start("--breaker", "off", redis=gate.address), gate, start("--breaker", "off", redis=shared)
    gate.stop()


def with_change_between(gate, held, method, path, change):
    """The answer to a bulk request for one job, whose action is held back until change() is confirmed."""
    server, key = held
    gate.hold(key)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.request, method, path)
        gate.wait()
        change()
        gate.release()
        return answer.result().expect(200)


SKIPPED = {"matched": 1, "done": 0, "skipped": 1}


@pytest.mark.parametrize("method, path, done", [("DELETE", "/jobs?state=dead&topic=", 1), ("POST", "/jobs/redrive?topic=", 0)])
def test_a_job_that_was_put_under_the_id_of_a_dead_one_is_left_alone(gated, receiver, topic, method, path, done):
    """The dead one can be cancelled still; it cannot come back while its id is taken."""
    server, gate, other = gated
    bury(server, receiver, topic, 1)
    job = {"url": receiver.url(), "dueAt": from_ms(FAR)}

    def put():
        reply = other.request("PUT", f"/jobs/{topic}/j000", json.dumps(job), JSON)
        assert reply.status in (200, 201)
    answer = with_change_between(gate, (server, f"{topic}/j000"), method, path + topic, put)
    job = other.job(topic, "j000")
    assert job and job["state"] == "delayed" and job["dueAt"] == from_ms(FAR)
    assert answer == {"matched": 1, "done": done, "skipped": 1 - done}


def test_a_job_that_was_posted_under_the_id_of_a_dead_one_is_not_cancelled(gated, receiver, topic):
    server, gate, other = gated
    other.request("PUT", f"/topics/{topic}", json.dumps({"retention": 600}), JSON).expect(200)
    bury(server, receiver, topic, 1)
    job = {"topic": topic, "jobId": "j000", "url": receiver.url(), "dueAt": from_ms(FAR)}
    answer = with_change_between(gate, (server, f"{topic}/j000"), "DELETE", f"/jobs?state=dead&topic={topic}",
                                 lambda: other.post(job).expect(201))
    assert other.job(topic, "j000")["state"] == "delayed"
    assert answer["matched"] == 1 and answer["done"] + answer["skipped"] == 1


def test_a_delayed_job_that_was_changed_meanwhile_is_not_cancelled(gated, receiver, topic):
    server, gate, other = gated
    schedule(server, topic, receiver, 1)
    patch = json.dumps({"body": {"amount": 2}})
    answer = with_change_between(
        gate, (server, f"{topic}/j000"), "DELETE", f"/jobs?state=delayed&topic={topic}",
        lambda: other.request("PATCH", f"/jobs/{topic}/j000", patch, {"Content-Type": "application/merge-patch+json"}).expect(200))
    assert other.job(topic, "j000")["body"] == {"amount": 2}
    assert answer == SKIPPED


def test_what_changes_while_a_bulk_action_runs_is_confirmed_and_stays(start, redis, receiver, topic):
    """Without a gate: owners replace jobs while a bulk action is under way."""
    server = start("--breaker", "off", redis=redis())
    total = 600
    server.schedule_many([{"topic": topic, "jobId": f"j{i}", "url": receiver.url(), "dueAt": from_ms(FAR)} for i in range(total)])

    def put(i):
        server.request("PUT", f"/jobs/{topic}/j{i}", json.dumps({"url": receiver.url(), "dueAt": from_ms(FAR + 1 + i)}), JSON)
        return i

    def cancel():
        cursor, skipped = "", 0
        while cursor is not None:
            page = server.request("DELETE", f"/jobs?state=delayed&topic={topic}&dueBefore={from_ms(FAR + 1)}&limit=1000{cursor}").expect(200)
            skipped += page["skipped"]
            cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
        return skipped
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        puts = [pool.submit(put, i) for i in range(total)]
        cancels = [pool.submit(cancel) for _ in range(3)]
        for each in puts + cancels:
            each.result()
    assert count(server, f"state=delayed&topic={topic}") == total
    assert len(found(server, f"state=delayed&topic={topic}&limit=1000")) == total


# ---- walks end ----

def test_what_dies_again_is_not_run_again_by_the_same_walk(start, receiver, topic):
    """It lands behind the cursor."""
    server = start("--breaker", "off")
    receiver.script(topic, *[410] * 200)
    server.schedule_many([{"topic": topic, "jobId": f"j{i:03}", "url": receiver.url()} for i in range(20)])
    until(lambda: count(server, f"state=dead&topic={topic}") == 20, 10, "all dead")
    cursor, done = "", 0
    for page_number in range(1, 41):
        page = server.request("POST", f"/jobs/redrive?topic={topic}&limit=2{cursor}").expect(200)
        done += page["done"]
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
        until(lambda: receiver.count(topic) == 20 + done, 10, "the page's jobs have been POSTed")
        until(lambda: count(server, f"state=dead&topic={topic}") == 20, 10, "and are dead again")
    assert (page_number, done) == (11, 20) or (page_number, done) == (10, 20)
    until(lambda: receiver.count(topic) == 40, 10, "each was POSTed twice")


def test_a_walk_finds_what_was_there_when_it_began(server, receiver, topic):
    schedule(server, topic, receiver, 4)
    query = f"state=delayed&topic={topic}&limit=2"
    page = server.get(f"/jobs?{query}").expect(200)
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 0.003, 5, "a later millisecond")
    for i in (4, 5):
        server.schedule(topic=topic, jobId=f"j{i:03}", url=receiver.url(), dueAt=from_ms(FAR + i))
    ids = [job["jobId"] for job in page["jobs"]]
    while "cursor" in page:
        page = server.get(f"/jobs?{query}&cursor={page['cursor']}").expect(200)
        ids += [job["jobId"] for job in page["jobs"]]
    assert ids == ["j000", "j001", "j002", "j003"]
    page = server.request("DELETE", f"/jobs?{query}").expect(200)
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 0.003, 5, "a later millisecond")
    server.schedule(topic=topic, jobId="new", url=receiver.url(), dueAt=from_ms(FAR + 9))
    done = page["done"]
    while "cursor" in page:
        page = server.request("DELETE", f"/jobs?{query}&cursor={page['cursor']}").expect(200)
        done += page["done"]
    assert done == 6 and found(server, f"state=delayed&topic={topic}") == ["new"]


def test_a_dry_run_changes_nothing(server, receiver, topic):
    bury(server, receiver, topic, 3)
    redrive = f"/jobs/redrive?topic={topic}&dryRun=true"
    assert server.request("POST", redrive).expect(200) == {"matched": 3, "done": 0, "skipped": 0}
    page = server.request("POST", redrive + "&limit=2").expect(200)
    assert page["matched"] == 2
    assert server.request("POST", f"{redrive}&limit=2&cursor={page['cursor']}").expect(200)["matched"] == 1
    assert server.request("DELETE", f"/jobs?state=dead&topic={topic}&dryRun=true").expect(200)["matched"] == 3
    assert count(server, f"state=dead&topic={topic}") == 3
    assert server.request("POST", f"/jobs/redrive?topic={topic}&dryRun=yes").fields() == ["dryRun"]
    assert server.request("POST", f"/jobs/redrive?topic={topic}&dryRun=false").expect(200)["done"] == 3


def test_a_page_that_is_asked_for_late_is_no_burst(start, receiver, topic):
    """The next page's jobs are spread from when it was asked for, at the earliest."""
    server = start("--breaker", "off")
    bury(server, receiver, topic, 12)
    path = f"/jobs/redrive?topic={topic}&perSecond=4&limit=6"
    page = server.request("POST", path).expect(200)
    until(lambda: receiver.count(topic) == 12 + 6, 10, "the first page's jobs have been POSTed")
    server.request("PUT", f"/topics/{topic}", json.dumps({"paused": True}), JSON).expect(200)
    late = time.monotonic() + 1.5
    until(lambda: time.monotonic() > late, 5, "the second page is late")
    asked_ms = time.time() * 1000
    server.request("POST", f"{path}&cursor={page['cursor']}").expect(200)
    jobs = [job for state in ("ready", "delayed")
            for job in server.get(f"/jobs?state={state}&topic={topic}").expect(200)["jobs"]]
    dues = sorted(to_ms(job["dueAt"]) for job in jobs)
    assert len(dues) == 6 and dues[0] >= asked_ms - 1
    assert dues[5] >= asked_ms + 1249 and dues[5] - dues[4] == 250
