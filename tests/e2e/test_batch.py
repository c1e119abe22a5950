"""Many jobs in one request: each is answered as if it had been sent alone."""

import concurrent.futures
import json
import os
import signal
import socket
import time

import pytest

from patience import SLOW, until
from receiver import Answer
from test_metrics import numbers
from test_validation import GOOD

NDJSON = {"Content-Type": "application/x-ndjson"}
MOST = 10_000


def job_of(receiver, topic, job_id, **more):
    return {"topic": topic, "jobId": str(job_id), "url": receiver.url(), "delay": 60, **more}


def post_many(server, jobs):
    return server.post(jobs).expect(207)["results"]


def post_lines(server, text):
    return server.request("POST", "/jobs", text, NDJSON)


def statuses(results):
    return [result["status"] for result in results]


def is_pending(server, topic):
    return {job["jobId"] for job in server.get(f"/jobs?state=delayed&topic={topic}&limit=1000").expect(200)["jobs"]}


def test_all_jobs_of_an_array_arrive(server, receiver, topic):
    results = post_many(server, [job_of(receiver, topic, i, delay=0, body={"n": i}) for i in range(300)])
    assert [(r["status"], r["jobId"], r["topic"], r["state"]) for r in results] == [
        (201, str(i), topic, "delayed") for i in range(300)]
    until(lambda: receiver.count(topic) == 300, 10, lambda: f"{receiver.count(topic)} of 300")
    assert {a.job_id: json.loads(a.body)["n"] for a in receiver.of(topic)} == {str(i): i for i in range(300)}


@pytest.mark.parametrize("end", ["\n", "\r\n", "", "\n\n \r\n"], ids=repr)
def test_lines_are_jobs(server, receiver, topic, end):
    lines = [json.dumps(job_of(receiver, topic, i)) for i in range(3)]
    results = post_lines(server, ("\r\n" if end == "\r\n" else "\n\n").join(lines) + end).expect(207)["results"]
    assert [(r["status"], r["jobId"]) for r in results] == [(201, "0"), (201, "1"), (201, "2")]


def test_one_job_in_an_array_is_a_batch_too(server, receiver, topic):
    assert statuses(post_many(server, [job_of(receiver, topic, "a")])) == [201]
    assert statuses(post_lines(server, json.dumps(job_of(receiver, topic, "b"))).expect(207)["results"]) == [201]


def test_the_server_creates_missing_ids(server, receiver, topic):
    job = {"topic": topic, "url": receiver.url(), "delay": 60}
    ids = {result["jobId"] for result in post_many(server, [job] * 100)}
    assert len(ids) == 100 and ids == is_pending(server, topic)


def test_each_job_is_answered_as_if_it_had_come_alone(server, receiver, topic):
    """Jobs are sent one by one, and then in a batch: the results are the same."""
    there = job_of(receiver, topic, "there")
    server.schedule(**there)
    refused = [there, {**there, "delay": 61}, {}, 1, [], "x", {**there, "topic": "a b", "colour": 1}, {**there, "headers": {"Host": "x"}},
               {**there, "url": "http://10.0.0.1/"}, {**there, "url": "nowhere", "retry": 101}]
    alone = [server.post(json.dumps(job)) for job in refused if not isinstance(job, list)]
    together = post_many(server, [job for job in refused if not isinstance(job, list)])
    for reply, result in zip(alone, together):
        expected = {key: value for key, value in reply.json.items() if key not in ("type", "title")}
        assert result == {"status": reply.status, **expected}
    assert statuses(together) == [200, 409, 400, 400, 400, 400, 400, 400, 400]
    assert post_many(server, [[]])[0]["errors"] == [{"field": "", "detail": "must be an object"}]


@pytest.mark.parametrize("text", ['{"topic":"a","topic":"b"}', '{"body":' + "[" * 40 + "]" * 40 + "}", '{"body":"\\ud800"}'], ids=lambda t: t[:20])
def test_a_rule_that_is_not_of_json_concerns_only_its_job(server, receiver, topic, text):
    good = json.dumps(job_of(receiver, topic, "a"))
    alone = server.post(text).expect(400)
    for results in (server.post(f"[{text},{good}]"), post_lines(server, f"{text}\n{good}")):
        bad, _ = results.expect(207)["results"]
        assert bad == {"status": 400, "detail": alone["detail"], "errors": alone["errors"]}
    assert is_pending(server, topic) == {"a"}


def test_the_first_of_two_jobs_with_one_id_wins(server, receiver, topic):
    job, other = job_of(receiver, topic, "a", body=1), job_of(receiver, topic, "a", body=2)
    results = post_many(server, [job, other, job, job_of(receiver, topic, "b")])
    assert statuses(results) == [201, 409, 200, 201]
    assert results[2]["dueAt"] == results[1]["dueAt"] == results[0]["dueAt"]
    assert server.job(topic, "a")["body"] == 1


def test_a_batch_can_be_repeated(server, receiver, topic):
    jobs = [job_of(receiver, topic, i) for i in range(600)]
    assert statuses(post_many(server, jobs[:300])) == [201] * 300
    assert statuses(post_many(server, jobs)) == [200] * 300 + [201] * 300


BAD_ARRAYS = ["[]", "[ ]", "[", "[{}", "[{}, ]", "[{}] x", "[{} {}]", "[{]}]", "[nonsense]", "[{'a':1}]", '["\x01"]', "[{}]]"]
BAD_LINES = ["", "\n\r\n \n", "{}\n{\n}\n", "{}\nnonsense", "{} {}", "{}\n\ufeff{}", "{},\n{}"]


@pytest.mark.parametrize("text, headers", [(t, {"Content-Type": "application/json"}) for t in BAD_ARRAYS] + [(t, NDJSON) for t in BAD_LINES], ids=repr)
def test_bad_framing_refuses_the_whole_and_stores_nothing(server, receiver, topic, text, headers):
    good = json.dumps(job_of(receiver, topic, "a"))
    if text.startswith("[") and text not in ("[]", "[ ]"):
        text = f"[{good}," + text[1:]
    elif headers is NDJSON and text.strip():
        text = f"{good}\n{text}"
    problem = server.request("POST", "/jobs", text.encode(), headers).expect(400)
    assert [error["field"] for error in problem["errors"]] == [""], problem
    assert is_pending(server, topic) == set()


def test_lines_are_named_when_they_are_no_json(server):
    problem = post_lines(server, '{}\n\n{"a":\n').expect(400)
    assert problem["errors"][0]["detail"] == "ends too early, at byte 9, in line 3"


def test_ten_thousand_jobs_and_not_one_more(start, receiver, topic):
    server = start()
    jobs = [job_of(receiver, topic, i) for i in range(MOST)]
    results = post_many(server, jobs)
    assert statuses(results) == [201] * MOST
    assert [result["jobId"] for result in results] == [job["jobId"] for job in jobs]
    assert numbers(server)[f'duepost_jobs_accepted_total{{topic="{topic}"}}'] == MOST
    for text, headers in ((json.dumps([*jobs, jobs[0]]), {"Content-Type": "application/json"}),
                          ("\n".join(["{}"] * (MOST + 1)), NDJSON)):
        problem = server.request("POST", "/jobs", text, headers).expect(400)
        assert problem["errors"] == [{"field": "", "detail": "must have 1 to 10000 jobs"}]


def sized(members, size):
    """Returns the JSON of a job with this size in bytes."""
    text = json.dumps({**members, "body": ""})
    return text.replace('"body": ""', '"body": "' + "x" * (size - len(text)) + '"')


@pytest.mark.parametrize("has_lines", [False, True])
def test_many_may_be_larger_than_one_but_each_has_the_limit_of_one(start, receiver, topic, has_lines):
    server = start("--max-body", "2000")
    jobs = [sized(job_of(receiver, topic, i), 2000) for i in range(20)]
    jobs[7] = sized(job_of(receiver, topic, 7), 2001)
    text = "\n".join(jobs) if has_lines else "  [" + ",".join(jobs) + "]"
    results = server.request("POST", "/jobs", text, NDJSON if has_lines else {"Content-Type": "application/json"}).expect(207)["results"]
    assert results.pop(7) == {"status": 413, "detail": "The job is over 2000 bytes."}
    assert statuses(results) == [201] * 19


def test_sixteen_mib_and_not_a_byte_more(start, receiver, topic):
    server = start()
    jobs = [sized(job_of(receiver, topic, i), 1 << 20) for i in range(15)]
    text = "[" + ",".join(jobs) + "]"
    fitting = text + " " * ((16 << 20) - len(text))
    assert statuses(server.post(fitting).expect(207)["results"]) == [201] * 15
    assert server.post(fitting + " ").status == 413
    assert server.request("POST", "/jobs", "\n" * ((16 << 20) + 1), NDJSON).status == 413


def test_a_single_job_over_the_limit_is_refused_and_not_kept(start, topic):
    server = start("--max-body", "1000")
    large = json.dumps({**GOOD, "topic": topic, "body": "x" * (15 << 20)})
    before = resident_kib(server.pid)
    assert server.post(large).status == 413
    assert server.post(" " * 2000 + "[]").status == 413, "what it is must show within the limit of one"
    assert resident_kib(server.pid) - before < 8 << 10


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


KEEPS_FREED_MEMORY = "DUEPOST_TEST_FAULTS" in os.environ  # the build with the sanitizer


def test_the_bodies_of_ended_attempts_go_back_to_the_system(start, receiver, topic):
    """All attempts fail at once. The new records are a little longer than the claimed ones."""
    server = start("--max-in-flight", "64")
    before = resident_kib(server.pid)
    for job_id in range(64):
        receiver.script(topic, Answer(500, delay=5 * SLOW), job_id=str(job_id))
    for job_id in range(64):
        server.schedule(**{**job_of(receiver, topic, job_id), "delay": 0, "body": "x" * 1_000_000, "timeout": 300, "retrySchedule": [600]})
    until(lambda: receiver.count(topic) == 64, 5 * SLOW, "all attempts")
    assert resident_kib(server.pid) - before > 50 << 10
    until(lambda: numbers(server)["duepost_in_flight"] == 0, 30 * SLOW, "the ends")
    assert KEEPS_FREED_MEMORY or resident_kib(server.pid) - before < 30 << 10


def test_large_requests_are_bounded_in_number(start, receiver, topic):
    """Each reactor reads 16 large requests at a time. Further large requests are refused until some of these
    16 have ended. The jobs are invalid, so that duepost answers without Redis. On a busy disk, Redis could take
    longer than the 30 s for which the server waits for the rest of the bodies."""
    server = start("--max-body", "1000")
    text = json.dumps([{"topic": topic, "jobId": str(i)} for i in range(100)])
    head = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text)
    links = [socket.create_connection((server.host, server.port)) for _ in range(200)]
    for link in links:
        link.sendall(head + text[:2000].encode())
    refused = until(lambda: next((r for r in [server.post(text)] if r.status == 503), None), 10, "refused")
    assert "nothing changed" in refused.json["detail"]
    server.post([job_of(receiver, topic, "a")]).expect(207)
    for link in links:
        link.close()
    until(lambda: server.post(text).status == 207, 10, "taken again")


def test_an_idempotency_key_is_for_one_job(server, receiver, topic):
    reply = server.post([job_of(receiver, topic, "a")], headers={"Idempotency-Key": "k"})
    assert reply.fields() == ["Idempotency-Key"]
    assert server.job(topic, "a") is None


def test_a_full_pool_takes_what_fits(start, receiver, topic):
    server = start("--max-jobs", "3")
    results = post_many(server, [job_of(receiver, topic, i) for i in range(5)] + [job_of(receiver, topic, 1)])
    assert statuses(results) == [201, 201, 201, 507, 507, 200]


def test_while_redis_is_away_each_job_is_refused(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    behind.kill()
    until(lambda: server.get("/readyz").status == 503, 5, "away")
    results = post_many(server, [job_of(receiver, topic, 1), {}, job_of(receiver, topic, 2)])
    assert statuses(results) == [503, 400, 503]
    assert "nothing changed" in results[0]["detail"]


def test_redis_dies_in_the_middle(start, redis, receiver, topic):
    """Kills Redis while a batch is scheduled. Afterwards, the confirmed jobs exist and the refused jobs do not. For
    the remaining jobs, the answer says that the outcome is unknown."""
    behind = redis()
    server = start(redis=behind)
    jobs = [job_of(receiver, topic, i) for i in range(MOST)]
    reply = in_the_middle(server, jobs, behind.kill)
    results = reply.expect(207)["results"]
    assert {201, 503} == set(statuses(results))
    behind.start()
    until(lambda: server.get("/readyz").status == 200, 10, "ready")
    for i in range(0, MOST, 97):
        there, result = server.job(topic, i) is not None, results[i]
        assert there if result["status"] == 201 else not there or "unknown" in result["detail"], result
    again = post_many(server, jobs)
    assert set(statuses(again)) == {200, 201}
    assert all(now == 200 for now, before in zip(statuses(again), statuses(results)) if before == 201)


def in_the_middle(server, jobs, action):
    """Posts the jobs, and calls action when duepost has accepted some of them."""
    text = json.dumps(jobs)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reply = pool.submit(server.post, text, False)
        topic = jobs[0]["topic"]
        until(lambda: numbers(server).get(f'duepost_jobs_accepted_total{{topic="{topic}"}}', 0) > 0, 10, "some")
        action()
        return reply.result()


def test_the_drain_waits_for_a_batch(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    jobs = [job_of(receiver, topic, i) for i in range(MOST)]
    reply = in_the_middle(server, jobs, lambda: server.process.send_signal(signal.SIGTERM))
    assert set(statuses(reply.expect(207)["results"])) == {201}
    assert server.process.wait(10) == 0


def test_a_batch_continues_without_its_client(server, receiver, topic):
    text = json.dumps([job_of(receiver, topic, i) for i in range(2000)])
    with socket.create_connection((server.host, server.port)) as link:
        link.sendall(b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text))
        link.sendall(text.encode())
    until(lambda: server.job(topic, 1999), 10, "the last job")


def test_a_large_batch_lets_others_pass(server, receiver, topic):
    """While batches of 10,000 jobs are scheduled, a request with a single job is answered long before them."""
    batches = [json.dumps([job_of(receiver, topic, f"{n}-{i}") for i in range(MOST)]) for n in range(3)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        replies = [pool.submit(server.post, text, False) for text in batches]
        singles = []
        while not any(reply.done() for reply in replies) and len(singles) < 50:
            began = time.monotonic()
            server.schedule(topic=topic, url=receiver.url(), delay=60)
            singles.append(time.monotonic() - began)
        assert [reply.result().status for reply in replies] == [207] * 3
    assert len(singles) >= 3, singles
