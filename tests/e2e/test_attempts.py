"""The last attempts of a job."""

import json

import pytest

from patience import until
from receiver import CLOSE, HANG, Answer
from timestamp import to_ms

SHOWN = "\ufffd"


def attempts(server, topic, job_id="a"):
    answer = server.get(f"/jobs/{topic}/{job_id}/attempts").expect(200)
    assert (answer["topic"], answer["jobId"]) == (topic, job_id)
    return answer["attempts"]


def fail(server, receiver, topic, *answers, job_id="a"):
    """Schedules a job whose attempts get these answers, and returns the attempts. After the last of these attempts,
    the job waits an hour for its next attempt."""
    receiver.script(topic, *answers, HANG, job_id=job_id)
    waits = [*[0.05] * (len(answers) - 1), 3600]
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retrySchedule=waits)
    until(lambda: server.job(topic, job_id)["attempts"] == len(answers), 10, "the failed attempts")
    return attempts(server, topic, job_id)


def test_each_attempt_says_how_it_went(server, receiver, topic):
    found = fail(server, receiver, topic, Answer(503, body=b"The order is locked."), CLOSE, Answer(404, delay=0.2), 302)
    assert [attempt.pop("attempt") for attempt in found] == [1, 2, 3, 4]
    for attempt, arrival in zip(found, receiver.of(topic)):
        assert 0 <= arrival.at_ms - to_ms(attempt["at"]) < 5000
    assert found[2]["durationMs"] >= 200
    assert server.job(topic, "a")["lastAttempt"] == found[-1]
    assert [{name: value for name, value in attempt.items() if name not in ("at", "durationMs")} for attempt in found] == [
        {"status": 503, "answer": "The order is locked."}, {"error": "reset", "errorDetail": found[1]["errorDetail"]}, {"status": 404}, {"status": 302}]
    assert found[1]["errorDetail"]


def test_before_the_first_attempt_there_is_none(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    assert attempts(server, topic) == []


def test_an_attempt_without_a_connection_has_its_error(server, topic):
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:1/", retrySchedule=[3600])
    until(lambda: server.job(topic, "a")["attempts"] == 1, 5, "the attempt")
    found, = attempts(server, topic)
    assert found["error"] == "connect" and "answer" not in found
    assert "127.0.0.1 port 1" in found["errorDetail"] and "Connection refused" in found["errorDetail"]
    assert server.job(topic, "a")["lastAttempt"]["errorDetail"] == found["errorDetail"]
    assert found["errorDetail"] in server.get(f"/jobs/{topic}/a/why").expect(200)["detail"]


ALL_BYTES = bytes(range(256))
PLAIN = "".join(chr(byte) if byte in b"\t\n\r" or 0x20 <= byte < 0x7f else SHOWN for byte in range(256))


@pytest.mark.parametrize("body, answer, is_truncated", [
    (b'{"error": "no \\ such \\"order\\""}', '{"error": "no \\ such \\"order\\""}', False),
    ("grüße, € 5, 😀".encode(), "grüße, € 5, 😀", False),
    (b"x" * 1024, "x" * 1024, False),
    (b"x" * 1025, "x" * 1024, True),
    (b"x" * 60_000, "x" * 1024, True),
    (b"x" * 1_000_000, "x" * 1024, True),
    ("€".encode() * 400, "€" * 341, True),
    (ALL_BYTES, PLAIN, False),
    (ALL_BYTES * 5, PLAIN * 4, True),
    (b"\0" * 2000, SHOWN * 1024, True),
], ids=["json", "utf8", "just kept", "just over", "large", "too large", "torn", "all bytes", "binary", "nul"])
def test_an_answer_is_shown_as_far_as_it_can_be(server, receiver, topic, body, answer, is_truncated):
    found, = fail(server, receiver, topic, Answer(500, body=body))
    assert found["answer"] == answer
    assert found.get("answerTruncated", False) is is_truncated
    assert server.job(topic, "a")["state"] == "delayed"


def test_an_answer_that_did_not_come_whole_says_so(server, receiver, topic):
    found, = fail(server, receiver, topic, Answer(500, body=b"half", body_bytes=100))
    assert found["answer"] == "half" and found["answerTruncated"]


def test_the_last_ten_are_kept(server, receiver, topic):
    receiver.script(topic, *[Answer(500, body=f"no {number}".encode()) for number in range(1, 15)])
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.02] * 13)
    assert server.wait_for_state(topic, "a", "dead")["attempts"] == 14
    found = attempts(server, topic)
    assert [(attempt["attempt"], attempt["answer"]) for attempt in found] == [(n, f"no {n}") for n in range(5, 15)]
    times = [to_ms(attempt["at"]) for attempt in found]
    assert times == sorted(times)


def test_they_stay_when_a_dead_job_is_run_again(server, receiver, topic):
    receiver.script(topic, 500, 410, Answer(503, body=b"again"), HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.02])
    server.wait_for_state(topic, "a", "dead")
    server.request("PATCH", f"/jobs/{topic}/a", '{"retrySchedule": [3600]}', {"Content-Type": "application/json"}).expect(200)
    server.run(topic, "a").expect(202)
    until(lambda: len(attempts(server, topic)) == 3, 5, "the third attempt")
    found = attempts(server, topic)
    assert [(attempt["attempt"], attempt["status"]) for attempt in found] == [(1, 500), (2, 410), (1, 503)]
    assert server.job(topic, "a")["attempts"] == 1


def test_they_go_with_their_job(server, receiver, topic):
    for job_id, end in (("delivered", 200), ("cancelled", HANG), ("replaced", HANG)):
        receiver.script(topic, 500, end, job_id=job_id)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retrySchedule=[3600])
        until(lambda job_id=job_id: attempts(server, topic, job_id), 5, "the first attempt")
    server.run(topic, "delivered").expect(202)
    server.wait_for_state(topic, "delivered", None)
    server.cancel(topic, "cancelled").expect(200)
    for job_id in "delivered", "cancelled":
        server.get(f"/jobs/{topic}/{job_id}/attempts").expect(404)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=60)
    server.request("PUT", f"/jobs/{topic}/replaced", json.dumps({"url": receiver.url(), "delay": 60}),
                   {"Content-Type": "application/json"}).expect(200)
    assert [attempts(server, topic, job_id) for job_id in ("delivered", "cancelled", "replaced")] == [[], [], []]


def test_topics_do_not_share_them(server, receiver, topic):
    fail(server, receiver, topic, Answer(500, body=b"one"))
    fail(server, receiver, topic + "-2", Answer(501, body=b"two"))
    assert [(a["status"], a["answer"]) for name in (topic, topic + "-2") for a in attempts(server, name)] == [
        (500, "one"), (501, "two")]


def test_they_outlive_the_process_and_are_no_matter_of_its_log(start, receiver, topic, data):
    first = start("--log-level", "debug", data=data)
    found = fail(first, receiver, topic, Answer(500, body=b"canary-7421"), Answer(501, body=b"canary-7422"))
    assert first.terminate() == 0
    assert "canary" not in first.log()
    second = start(data=data)
    assert attempts(second, topic) == found and found[0]["answer"] == "canary-7421"
    receiver.script(topic, Answer(502, body=b"canary-7423"), HANG, job_id="a")
    second.run(topic, "a").expect(202)
    second.wait_for_state(topic, "a", "dead")
    assert [attempt["attempt"] for attempt in attempts(second, topic)] == [1, 2, 3]
    assert "canary" not in second.log()


def test_an_unknown_job_has_no_attempts(server, start, topic):
    server.get(f"/jobs/{topic}/none/attempts").expect(404)
    assert server.get(f"/jobs/{topic}/none/attempts?limit=1").fields() == ["limit"]
    server.request("POST", f"/jobs/{topic}/none/attempts").expect(405)
    start("--redis", "redis://127.0.0.1:1", ready=False).get(f"/jobs/{topic}/a/attempts").expect(503)
