"""How the API shows a job, alone and in lists."""

import json
import time

import pytest

from patience import until
from receiver import HANG, Answer
from timestamp import to_ms


def test_a_delayed_job_shows_everything(server, receiver, topic):
    before = time.time() * 1000
    answer = server.schedule(topic=topic, jobId="a", url=receiver.url("/p?token=secret"), delay=60.5, retry=2,
                             retrySchedule=[1, 2.5], timeout=0.75, body={"n": [1, None]},
                             headers={"Authorization": "Bearer secret", "content-type": "text/x", "X-Key": "secret"})
    job = server.job(topic, "a")
    assert abs(to_ms(job.pop("createdAt")) - before) < 1000
    assert job == {"jobId": "a", "topic": topic, "state": "delayed", "dueAt": answer["dueAt"],
                   "url": receiver.url("/p?***"), "delay": 60.5, "retry": 2, "retrySchedule": [1, 2.5], "timeout": 0.75,
                   "headers": {"Authorization": "***", "content-type": "text/x", "X-Key": "***"},
                   "body": {"n": [1, None]}, "priority": 5, "attempts": 0}


def test_defaults_are_shown(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), dueAt="2030-01-01T00:00:00Z")
    job = server.job(topic, "a")
    assert job["retry"] == 9 and job["timeout"] == 30 and job["headers"] == {} and job["attempts"] == 0
    assert job["retrySchedule"] == [15, 180, 600, 1800, 1800, 3600, 7200, 21600, 54000]
    assert "delay" not in job and "body" not in job and "lastAttempt" not in job


def test_the_body_is_shown_byte_for_byte(server, receiver, topic):
    body = '{ "a": 1.10, "b" : 1E2,"c":123456789012345678901234567890, "d":"\\u00e9\\/" }'
    server.post(f'{{"topic":"{topic}","jobId":"a","url":"{receiver.url()}","delay":60,"body": {body} }}').expect(201)
    assert body.encode() in server.get(f"/jobs/{topic}/a").body


def test_a_leased_job_is_shown_without_due_time(server, receiver, topic):
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    job = server.wait_for_state(topic, "a", "leased")
    assert "dueAt" not in job and "lastAttempt" not in job and job["attempts"] == 0
    server.cancel(topic, "a")


def test_a_failed_attempt_is_shown(server, receiver, topic):
    receiver.script(topic, Answer(503, delay=0.1))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[60])
    job = until(lambda: (job := server.job(topic, "a"))["attempts"] and job, 5, "an attempt")
    last = job["lastAttempt"]
    assert job["attempts"] == 1 and job["state"] == "delayed" and last["status"] == 503 and "error" not in last
    assert 100 <= last["durationMs"] < 1000
    ended = to_ms(last["at"]) + last["durationMs"]
    assert abs(to_ms(job["dueAt"]) - 60000 - ended) < 200


def test_a_dead_job_says_why(server, receiver, topic):
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0)
    job = server.wait_for_state(topic, "a", "dead")
    assert job["reason"] == "retries_exhausted" and job["attempts"] == 1 and job["lastAttempt"]["status"] == 500
    assert abs(to_ms(job["deadAt"]) - time.time() * 1000) < 2000


def test_unknown_jobs_are_404(server, topic):
    assert server.get(f"/jobs/{topic}/a").status == 404
    assert server.run(topic, "a").status == 404
    assert server.cancel(topic, "a").status == 404


def test_head_answers_as_get_without_the_body(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    for path, status in ((f"/jobs/{topic}/a", 200), (f"/jobs/{topic}/b", 404), ("/healthz", 200), ("/readyz", 200),
                         (f"/jobs?state=delayed&topic={topic}", 200), ("/jobs?limit=0", 400), ("/nothing", 404)):
        head, get = server.request("HEAD", path), server.get(path)
        assert head.status == get.status == status
        assert head.headers["Content-Type"] == get.headers["Content-Type"]
        assert head.headers["Content-Length"] == get.headers["Content-Length"] == str(len(get.body))


def pages(server, query):
    cursor, result = "", []
    while True:
        page = server.get(f"/jobs?{query}{cursor}").expect(200)
        result.append([job["jobId"] for job in page["jobs"]])
        if "cursor" not in page:
            return result
        cursor = f"&cursor={page['cursor']}"


def test_delayed_jobs_are_listed_by_due_time_in_pages(server, receiver, topic):
    for i in range(25):
        server.schedule(topic=topic, jobId=f"j{i:02}", url=receiver.url(), delay=1000 - i)
    found = pages(server, f"state=delayed&topic={topic}&limit=10")
    assert [len(page) for page in found if page] == [10, 10, 5]
    assert sum(found, []) == [f"j{24 - i:02}" for i in range(25)]
    assert pages(server, f"state=delayed&topic={topic}x") == [[]]


def test_a_listed_job_looks_as_when_it_is_read(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url("/?a=b"), delay=60, body={"n": 1}, headers={"X": "y"})
    assert server.get(f"/jobs?state=delayed&topic={topic}").expect(200)["jobs"] == [server.job(topic, "a")]


def test_ties_are_listed_once_each(server, receiver, topic):
    for i in range(12):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), dueAt="2030-01-01T00:00:00Z")
    listed = sum(pages(server, f"state=delayed&topic={topic}&limit=5"), [])
    assert sorted(listed) == sorted(f"j{i}" for i in range(12))


def test_each_state_has_its_list(start, receiver, topic):
    server = start("--max-in-flight-topic", "1")
    receiver.script(topic, HANG, job_id="leased")
    receiver.script(topic, 410, job_id="dead")
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    server.wait_for_state(topic, "dead", "dead")
    server.schedule(topic=topic, jobId="leased", url=receiver.url(), timeout=60)
    server.wait_for_state(topic, "leased", "leased")
    server.schedule(topic=topic, jobId="ready", url=receiver.url())
    server.schedule(topic=topic, jobId="delayed", url=receiver.url(), delay=60)
    assert server.wait_for_state(topic, "ready", "ready")["dueAt"]
    for state in ("delayed", "ready", "leased", "dead"):
        assert pages(server, f"state={state}&topic={topic}") == [[state]]
    for state in ("leased", "dead"):
        assert pages(server, f"state={state}") == [[state]]
    assert pages(server, f"state=dead&topic={topic}x") == [[]]


def test_a_delayed_job_can_be_run_now(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    answer = server.run(topic, "a").expect(202)
    assert answer["jobId"] == "a" and answer["topic"] == topic
    assert abs(to_ms(answer["dueAt"]) - time.time() * 1000) < 1000
    until(lambda: receiver.count(topic) == 1, 2, "delivery")


def test_a_waiting_retry_that_is_run_keeps_its_count(server, receiver, topic):
    receiver.script(topic, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[3600])
    until(lambda: server.job(topic, "a")["attempts"] == 1, 5, "a failed attempt")
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", None)
    assert [a.attempt for a in receiver.of(topic)] == [1, 2]


def test_a_dead_job_that_is_run_starts_over(server, receiver, topic):
    receiver.script(topic, 500, 410, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05], body={"k": 1.10})
    assert server.wait_for_state(topic, "a", "dead")["attempts"] == 2
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", None)
    assert [a.attempt for a in receiver.of(topic)] == [1, 2, 1]
    assert {a.body for a in receiver.of(topic)} == {json.dumps({"k": 1.10}).encode()}


def test_a_leased_job_cannot_be_run(server, receiver, topic):
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    server.wait_for_state(topic, "a", "leased")
    assert server.run(topic, "a").expect(409)["state"] == "leased"
    server.cancel(topic, "a")


@pytest.mark.parametrize("url, shown", [("http://127.0.0.1:9", "http://127.0.0.1:9"), ("http://127.0.0.1:9/a?", None),
                                        ("http://127.0.0.1:9/a?b=c&d", "http://127.0.0.1:9/a?***")])
def test_only_the_query_of_a_url_is_masked(server, topic, url, shown):
    server.schedule(topic=topic, jobId="a", url=url, delay=60)
    seen = server.job(topic, "a")["url"]
    assert seen == shown if shown else seen in (url, url + "***")


def test_health_and_readiness(server):
    server.get("/healthz").expect(200)
    server.get("/healthz?probe=1").expect(200)
    ready = server.get("/readyz").expect(200)
    assert ready["redis"]["evictionPolicy"] == "noeviction" and ready["redis"]["role"] == "master"
    assert int(ready["redis"]["version"].split(".")[0]) >= 7
    assert ready["durability"] == {"configured": "fsync", "inForce": "fsync"}
