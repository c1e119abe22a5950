"""GET /jobs/T/ID?wait= and POST /jobs?wait=: requests that wait for the end of a job, over processes, losses and kills."""

import json
import threading
import time

import pytest

from duepost import parse
from patience import SLOW, until
from pull import JSON, end, lease_one, make_pull, name
from receiver import Answer
from tokens import TokenFile

SOON = 0.05  # seconds from the end of a job to the answer, without the time of the slow builds of tests


class Waiting:
    """A request in a thread of its own, with its answer and when it came."""

    def __init__(self, server, target, method="GET", body=None, headers=None):
        self.answer = None
        client = server.with_token(server.token)

        def run():
            self.answer = client.request(method, target, body, headers)
            self.at = time.monotonic()
            client.close()
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def has_answer(self):
        return not self.thread.is_alive()

    def reply(self, seconds=30):
        self.thread.join(seconds * SLOW)
        assert self.answer, "no answer"
        return self.answer


def job_of(topic, job_id="a", wait="60s"):
    return f"/jobs/{topic}/{job_id}?wait={wait}"


def wait_noted(behind, job):
    """Waits until Redis has the wait."""
    until(lambda: behind.command("ZSCORE", "duepost:{0}:waited", job) != b"$-1\r\n", 10, f"a wait for {job}")


def post(server, wait="60s", headers=None, **job):
    return server.request("POST", f"/jobs?wait={wait}", json.dumps(job), {**JSON, **(headers or {})})


@pytest.fixture
def bare(redis, start):
    """A server without a history and its Redis."""
    behind = redis()
    return start("--history", "off", "--breaker", "off", redis=behind), behind


# ---- the end ----

def test_a_request_is_answered_when_the_job_is_delivered(bare, receiver, topic):
    server, behind = bare
    receiver.script(topic, Answer(200, body=b"done", delay=0.5))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    job = server.get(job_of(topic)).expect(200)
    assert (job["state"], job["attempts"], job["lastAttempt"]["status"]) == ("delivered", 1, 200)
    assert server.get(job_of(topic)).expect(200)["state"] == "delivered"  # kept for a minute
    assert behind.command("EXISTS", "duepost:{0}:waited") == b":0\r\n"


def test_post_schedules_and_waits_for_the_end(bare, receiver, topic):
    server, _ = bare
    receiver.script(topic, Answer(202, body=b"the reply"))
    reply = post(server, topic=topic, jobId="a", url=receiver.url())
    job = reply.expect(201)
    assert (job["state"], job["attempts"], job["lastAttempt"]["status"]) == ("delivered", 1, 202)
    assert reply.headers["Location"].endswith(f"jobs/{topic}/a") and reply.headers["ETag"] == server.get(f"/jobs/{topic}/a").headers["ETag"]
    assert server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"][0]["answer"] == "the reply"


def test_the_time_is_over_before_the_end(server, receiver, topic):
    began = time.monotonic()
    job = post(server, "0.5s", topic=topic, jobId="a", url=receiver.url(), delay=60).expect(201)
    assert job["state"] == "delayed" and job["attempts"] == 0
    assert server.get(job_of(topic, wait="0.5s")).expect(200)["state"] == "delayed"
    assert 1 <= time.monotonic() - began < 10 * SLOW
    assert server.get(job_of(topic, wait="0s")).expect(200)["state"] == "delayed"
    server.cancel(topic, "a")


def test_each_end_is_an_answer(bare, receiver, topic):
    server, behind = bare
    receiver.script(topic, 410, job_id="gone")
    for job_id, members in ("gone", {"delay": 1}), ("cancelled", {"delay": 60}), ("expired", {"delay": 1, "ttl": 2, "retrySchedule": [60]}):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), **members)
    receiver.script(topic, 503, job_id="expired")
    waits = {job_id: Waiting(server, job_of(topic, job_id)) for job_id in ("gone", "cancelled", "expired")}
    wait_noted(behind, f"{topic}/cancelled")
    server.cancel(topic, "cancelled")
    assert waits["cancelled"].reply().expect(200)["state"] == "cancelled"
    assert waits["gone"].reply().expect(200)["reason"] == "gone"
    assert waits["expired"].reply().expect(200)["reason"] == "expired"


def test_workers_end_awaited_jobs(bare, topic):
    server, behind = bare
    make_pull(server, topic)
    wait = Waiting(server, "/jobs?wait=60s", "POST", json.dumps({"topic": topic, "jobId": "a"}), JSON)
    until(lambda: server.request("GET", f"/jobs/{topic}/a").status == 200, 10, "the job")
    job = lease_one(server, topic)
    assert not wait.has_answer()
    end(server, "complete", topic, name(job)).expect(200)
    ended = wait.reply().expect(201)
    assert (ended["state"], ended["attempts"], ended["lastAttempt"]["status"]) == ("delivered", 1, 200)


def test_a_wait_goes_on_for_the_job_that_replaces_another(bare, receiver, topic):
    server, behind = bare
    receiver.script(topic, Answer(200, delay=2), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "an attempt")
    wait = Waiting(server, job_of(topic))
    wait_noted(behind, f"{topic}/a")
    put = server.request("PUT", f"/jobs/{topic}/a", json.dumps({"url": receiver.url(), "delay": 1, "body": 2}), JSON)
    assert put.expect(200)["attemptInFlight"]
    job = wait.reply().expect(200)
    assert (job["state"], job["body"], job["attempts"]) == ("delivered", 2, 1)


def test_there_is_no_such_job(server, topic):
    began = time.monotonic()
    server.get(job_of(topic)).expect(404)
    assert time.monotonic() - began < 5 * SLOW


# ---- changes ----

def test_with_if_none_match_each_change_is_an_answer(bare, receiver, topic):
    server, behind = bare
    receiver.script(topic, Answer(503, delay=0.5), Answer(200, delay=0.5))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=1, retrySchedule=[1])
    tag, states = server.get(f"/jobs/{topic}/a").headers["ETag"], []
    while not states or states[-1] != "delivered":
        reply = server.request("GET", job_of(topic), headers={"If-None-Match": tag})
        states.append(reply.expect(200)["state"])
        tag = reply.headers["ETag"]
    assert [state for state in states if state != "ready"] == ["leased", "delayed", "leased", "delivered"]


def test_an_unchanged_job_is_304(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    tag = server.get(f"/jobs/{topic}/a").headers["ETag"]
    for tags in tag, "*", f'W/{tag}, "x"':
        reply = server.request("GET", job_of(topic, wait="0.2s"), headers={"If-None-Match": tags})
        assert (reply.status, reply.body, reply.headers["ETag"]) == (304, b"", tag)
    wait = Waiting(server, job_of(topic), headers={"If-None-Match": tag})
    time.sleep(0.5)
    assert not wait.has_answer()
    server.request("PATCH", f"/jobs/{topic}/a", '{"priority":1}', JSON).expect(200)
    assert wait.reply(5).expect(200)["priority"] == 1
    server.request("GET", job_of(topic), headers={"If-None-Match": "nothing"}).expect(400)
    server.cancel(topic, "a")


# ---- bad requests and limits ----

@pytest.mark.parametrize("query", ["wait=61s", "wait=", "wait=-1s", "wait=1s&wait=2s", "wait=1s&group=g"])
def test_a_wrong_wait_is_400(server, topic, query):
    assert server.get(f"/jobs/{topic}/a?{query}").expect(400)["errors"]
    assert server.request("POST", f"/jobs?{query}", json.dumps({"topic": topic, "url": "http://127.0.0.1:9/"}), JSON).expect(400)["errors"]


def test_only_one_job_can_be_waited_for(server, topic):
    many = server.request("POST", "/jobs?wait=1s", json.dumps([{"topic": topic, "url": "http://127.0.0.1:9/"}]), JSON)
    assert "one job" in many.expect(400)["detail"]
    group = server.request("POST", "/jobs?wait=1s", json.dumps({"topic": topic, "group": "g"}), JSON)
    assert "one job" in group.expect(400)["detail"]


def test_waiting_requests_have_a_limit_and_leave_it_with_their_connections(start, receiver, topic):
    server = start("--max-waiting-leases", "2")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    links = [server.connect() for _ in range(2)]
    for link in links:
        link.sendall(f"GET {job_of(topic)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def is_full():
        return server.request("GET", job_of(topic, wait="0.01s")).status == 503
    time.sleep(0.5 * SLOW)  # or a request of is_full could take a place
    until(is_full, 10, "two requests wait")
    assert "--max-waiting-leases" in server.get(job_of(topic)).expect(503)["detail"]
    refused = post(server, topic=topic, jobId="b", url=receiver.url())
    assert "nothing changed" in refused.expect(503)["detail"]
    server.get(f"/jobs/{topic}/b").expect(404)
    links[0].close()
    until(lambda: not is_full(), 10, "the place of the client that has left")
    links[1].close()
    server.cancel(topic, "a")


def test_rights(start, receiver, topic):
    tokens = TokenFile()
    writer, reader, both = (tokens.add("writer", ["schedule"]), tokens.add("reader", ["read"], topics=f"{topic}"),
                            tokens.add("both", ["schedule", "read"]))
    server = start("--tokens", str(tokens.path), token=both)
    assert "scope read" in post(server.with_token(writer), topic=topic, url=receiver.url()).expect(403)["detail"]
    assert post(server, topic=topic, jobId="a", url=receiver.url()).expect(201)["state"] == "delivered"
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=60)
    server.schedule(topic=f"{topic}-other", jobId="b", url=receiver.url(), delay=60)
    server.with_token(reader).get(job_of(f"{topic}-other", "b")).expect(404)
    wait = Waiting(server.with_token(reader), job_of(topic, "b", "3s"))
    time.sleep(0.5)
    tokens.remove("reader")
    server.reload("tokens_read")
    assert "lost this right" in wait.reply().expect(403)["detail"]


# ---- processes and losses ----

def test_the_answer_comes_at_once_over_processes(redis, start, receiver, topic):
    behind = redis()
    first, second = (start("--history", "off", redis=behind) for _ in range(2))
    make_pull(first, topic)
    late = []
    for number in range(10):
        job_id = str(number)
        first.schedule(topic=topic, jobId=job_id)
        waits = [Waiting(server, job_of(topic, job_id)) for server in (first, second, second)]
        wait_noted(behind, f"{topic}/{job_id}")
        time.sleep(0.1 * SLOW)
        end(first, "complete", topic, name(lease_one(first, topic))).expect(200)
        ended = time.monotonic()
        assert {wait.reply().expect(200)["state"] for wait in waits} == {"delivered"}
        late.append(max(wait.at for wait in waits) - ended)
    assert sorted(late)[5] < SOON * SLOW, late


def test_many_waits_for_one_job_cost_one_read(start, receiver, topic):
    server = start("--reactors", "1", "--max-connections", "3000")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    links = []
    for _ in range(300):
        links.append(server.connect())
        links[-1].sendall(f"GET {job_of(topic)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    until(lambda: b"duepost_waiting_leases" in server.get("/metrics").body, 10, "metrics")
    time.sleep(0.5 * SLOW)

    def commands():
        return sum(float(line.split()[-1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith("duepost_redis_commands_total"))
    before = commands()
    server.cancel(topic, "a")
    for link in links:
        link.settimeout(20 * SLOW)
        received = b""
        while b"}" not in received:
            received += link.recv(65536)
        assert parse(received).json["state"] == "cancelled"
        link.close()
    assert commands() - before < 100


def test_a_lost_connection_to_redis_loses_no_answer(bare, topic):
    server, behind = bare
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    wait = Waiting(server, job_of(topic))
    wait_noted(behind, f"{topic}/a")
    job = lease_one(server, topic)
    behind.command("CLIENT", "KILL", "TYPE", "pubsub")  # the announcement is lost
    end(server, "complete", topic, name(job)).expect(200)
    assert wait.reply().expect(200)["state"] == "delivered"


def test_a_killed_redis_loses_no_answer(bare, topic):
    server, behind = bare
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    wait = Waiting(server, job_of(topic))
    wait_noted(behind, f"{topic}/a")
    behind.kill()
    time.sleep(0.5)
    behind.start()
    until(lambda: server.get("/readyz").status == 200, 20, "Redis is back")
    end(server, "complete", topic, name(lease_one(server, topic))).expect(200)
    assert wait.reply(40).expect(200)["state"] == "delivered"


def test_a_killed_process_leaves_the_end_to_be_read(redis, start, receiver, topic):
    behind = redis()
    first, second = (start("--history", "off", redis=behind) for _ in range(2))
    make_pull(second, topic)
    second.schedule(topic=topic, jobId="a")
    link = first.connect()
    link.sendall(f"GET {job_of(topic)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    wait_noted(behind, f"{topic}/a")
    first.kill()
    end(second, "complete", topic, name(lease_one(second, topic))).expect(200)
    assert second.get(job_of(topic)).expect(200)["state"] == "delivered"
    link.close()


def test_a_repeated_post_finds_the_end(bare, receiver, topic):
    server, _ = bare
    key = {"Idempotency-Key": "k"}
    first = post(server, headers=key, topic=topic, url=receiver.url()).expect(201)
    again = post(server, headers=key, topic=topic, url=receiver.url()).expect(201)
    assert (again["jobId"], again["state"]) == (first["jobId"], "delivered") and receiver.count(topic) == 1


def test_a_debounced_job_answers_all_that_wait(bare, receiver, topic):
    server, _ = bare
    job = json.dumps({"topic": topic, "url": receiver.url(), "debounce": {"key": "k", "wait": 1}})
    waits = [Waiting(server, "/jobs?wait=60s", "POST", job, JSON) for _ in range(3)]
    replies = [wait.reply() for wait in waits]
    assert sorted(reply.status for reply in replies) == [200, 200, 201]
    assert {(reply.json["state"], reply.json["jobId"]) for reply in replies} == {("delivered", replies[0].json["jobId"])}


def test_a_drain_answers_with_the_job_as_it_is(start, receiver, topic):
    server = start()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    wait = Waiting(server, job_of(topic))
    time.sleep(0.5 * SLOW)
    assert server.terminate() == 0
    assert wait.reply().expect(200)["state"] == "delayed"


def test_waits_are_forgotten(bare, topic):
    """A process writes how long a wait lasts, so that another one can remove it."""
    server, behind = bare
    behind.command("ZADD", "duepost:{0}:waited", "1", f"{topic}/a")
    until(lambda: behind.command("EXISTS", "duepost:{0}:waited") == b":0\r\n", 10, "the old wait is gone")


def test_with_a_manual_clock_a_wait_is_real_time(manual, receiver, topic):
    server, clock = manual()
    assert post(server, "0.3s", topic=topic, jobId="a", url=receiver.url(), delay=3600).expect(201)["state"] == "delayed"
    wait = Waiting(server, job_of(topic))
    time.sleep(0.3)
    clock.advance("1h")
    assert wait.reply().expect(200)["state"] == "delivered"
