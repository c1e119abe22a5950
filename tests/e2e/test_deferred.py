"""Deferred ends: a receiver answers 202 with Duepost-Defer, and a later request with its token ends the attempt."""

import json
import subprocess
import time

import pytest

from duepost import ROOT
from patience import SLOW, until
from receiver import Answer, HANG
from timestamp import to_ms
from tokens import TokenFile

JSON, MERGE = {"Content-Type": "application/json"}, {"Content-Type": "application/merge-patch+json"}


def put(server, topic, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON)


def defer(value="1h", status=202, **more):
    return Answer(status, headers=(("Duepost-Defer", str(value)),), **more)


def end(server, topic, way, token, job_id="a", **members):
    return server.request("POST", f"/topics/{topic}/{way}", json.dumps({"jobId": job_id, "token": token, **members}), JSON)


def state(server, topic, job_id="a"):
    reply = server.get(f"/jobs/{topic}/{job_id}")
    return None if reply.status == 404 else reply.expect(200)["state"]


def deferred(server, receiver, topic, lease="1h", job_id="a", settings=None, **members):
    """Schedules a job whose receiver defers, and returns its token when the lease is a worker's."""
    put(server, topic, url=receiver.url(), defer=True, retention=3600, **(settings or {})).expect(200)
    receiver.script(topic, defer(lease), job_id=job_id)
    server.schedule(topic=topic, jobId=job_id, **members)
    until(lambda: receiver.count(topic) >= 1, 20, "the request")
    until(lambda: receiver.of(topic)[-1].answered_at_ms, 20, "the answer")
    time.sleep(0.2)  # until the lease is a worker's; the token may be used earlier
    return receiver.of(topic)[-1].headers["duepost-token"]


# ---- the ends ----

def test_the_token_completes_the_job(server, receiver, topic):
    token = deferred(server, receiver, topic)
    time.sleep(6)  # longer than the lease of a consumer
    assert state(server, topic) == "leased" and receiver.count(topic) == 1
    answer = end(server, topic, "complete", token, result={"price": 12.50}).expect(200)
    assert answer == {"jobId": "a", "topic": topic, "state": "delivered"}
    job = server.job(topic, "a")
    assert (job["state"], job["result"], job["attempts"]) == ("delivered", {"price": 12.50}, 1)
    assert job["lastAttempt"]["status"] == 200 and job["lastAttempt"]["durationMs"] >= 6000
    assert receiver.count(topic) == 1


def test_the_url_to_call(server, receiver, topic):
    deferred(server, receiver, topic)
    url = receiver.of(topic)[0].headers["duepost-end-url"]
    assert url == f"http://127.0.0.1:{server.port}/topics/{topic}/"


def test_retry_and_bury(server, receiver, topic):
    token = deferred(server, receiver, topic)
    receiver.script(topic, defer(), job_id="a")
    answer = end(server, topic, "retry", token, delay=0, error="the disk is full").expect(200)
    assert answer["state"] in ("ready", "delayed")
    until(lambda: receiver.count(topic) == 2, 20, "the second attempt")
    second = receiver.of(topic)[1]
    assert second.attempt == 2 and second.headers["duepost-token"] != token
    assert server.job(topic, "a")["lastAttempt"]["errorDetail"] == "the disk is full"
    stale = end(server, topic, "complete", token)
    assert stale.status == 409 and stale.json["state"] == "leased"
    assert end(server, topic, "bury", second.headers["duepost-token"], error="no such order").expect(200)["reason"] == "rejected"
    assert state(server, topic) == "dead"


def test_a_lease_that_runs_out_is_a_failed_attempt(server, receiver, topic):
    put(server, topic, url=receiver.url(), defer=True, retrySchedule=[3600]).expect(200)
    receiver.script(topic, defer("1s"))
    server.schedule(topic=topic, jobId="a")
    job = until(lambda: (job := server.job(topic, "a")) and job["attempts"] == 1 and job, 20, "the failed attempt")
    assert job["state"] == "delayed" and job["lastAttempt"]["error"] == "lease_expired"
    assert receiver.count(topic) == 1


def test_extend_tells_the_progress(server, receiver, topic):
    token = deferred(server, receiver, topic, lease="20s")
    until_at = end(server, topic, "extend", token, lease=7200, progress=0.25).expect(200)["leaseUntil"]
    assert 7100 < (to_ms(until_at) - time.time() * 1000) / 1000 <= 7200
    assert server.job(topic, "a")["progress"] == 0.25
    end(server, topic, "extend", token, progress={"step": "print", "of": 3}).expect(200)
    assert server.job(topic, "a")["progress"] == {"step": "print", "of": 3}
    end(server, topic, "extend", token).expect(200)
    assert server.job(topic, "a")["progress"] == {"step": "print", "of": 3}
    end(server, topic, "complete", token).expect(200)
    assert server.job(topic, "a")["progress"] == {"step": "print", "of": 3} and "result" not in server.job(topic, "a")


@pytest.mark.parametrize("progress, expected", [(1.5, 400), (-0.1, 400), ("x" * 4095, 400), (1, 200), (0, 200), (None, 200), ("half", 200), (["a"], 200)])
def test_which_progress_is_possible(server, receiver, topic, progress, expected):
    token = deferred(server, receiver, topic)
    answer = end(server, topic, "extend", token, progress=progress)
    assert answer.status == expected
    if expected == 400:
        assert answer.json["errors"][0]["field"] == "progress"


def test_a_result_has_a_bound(server, receiver, topic):
    token = deferred(server, receiver, topic)
    answer = end(server, topic, "complete", token, result="x" * 65535)
    assert answer.status == 400 and answer.json["errors"][0]["field"] == "result"
    end(server, topic, "complete", token, result="x" * 65534).expect(200)
    assert server.job(topic, "a")["result"] == "x" * 65534


def test_a_complete_that_is_repeated(server, receiver, topic):
    token = deferred(server, receiver, topic)
    for _ in range(3):
        assert end(server, topic, "complete", token).expect(200)["state"] == "delivered"
    late = end(server, topic, "retry", token)
    assert late.status == 409 and late.json["state"] == "delivered"


# ---- before the 202 ----

@pytest.mark.parametrize("status", [202, 200, 500])
@pytest.mark.parametrize("way, then", [("complete", "delivered"), ("bury", "dead"), ("retry", "delayed")])
def test_an_end_before_the_answer_wins(server, receiver, topic, status, way, then):
    put(server, topic, url=receiver.url(), defer=True, retention=3600).expect(200)
    answers = []

    def act(arrival):
        answers.append(end(server, topic, way, arrival.headers["duepost-token"], **({"delay": 3600} if way == "retry" else {})))
        return defer() if status == 202 else Answer(status)

    receiver.script(topic, act)
    server.schedule(topic=topic, jobId="a")
    until(lambda: answers, 20, "the end")
    assert answers[0].status == 200, answers[0].body
    time.sleep(1)
    job = server.job(topic, "a")
    assert job["state"] == then and receiver.count(topic) == 1
    assert job["attempts"] == 1


def test_an_end_before_the_answer_is_counted_once(start, receiver, topic):
    server = start()  # only the first topics of a process have metrics of their own
    put(server, topic, url=receiver.url(), defer=True, retention=3600).expect(200)

    def act(arrival):
        end(server, topic, "complete", arrival.headers["duepost-token"]).expect(200)
        return Answer(200, delay=0.1)

    receiver.script(topic, act)
    server.schedule(topic=topic, jobId="a")
    until(lambda: receiver.count(topic) == 1 and receiver.of(topic)[0].answered_at_ms, 20, "the answer")
    time.sleep(1)
    assert f'duepost_jobs_ended_total{{topic="{topic}",how="delivered"}} 1\n' in server.get("/metrics").body.decode()


def test_an_extend_before_the_answer_keeps_the_longer_lease(server, receiver, topic):
    put(server, topic, url=receiver.url(), defer=True).expect(200)

    def act(arrival):
        end(server, topic, "extend", arrival.headers["duepost-token"], lease=10800, progress=0.1).expect(200)
        return defer("1m")

    receiver.script(topic, act)
    server.schedule(topic=topic, jobId="a")
    until(lambda: receiver.count(topic) == 1 and receiver.of(topic)[0].answered_at_ms, 20, "the answer")
    time.sleep(1)
    job = server.job(topic, "a")
    assert job["state"] == "leased" and job["progress"] == 0.1
    again = end(server, topic, "extend", receiver.of(topic)[0].headers["duepost-token"], lease=1)
    assert again.status == 200


@pytest.mark.parametrize("answer, then", [(Answer(200), "delivered"), (Answer(500), "delayed"), (Answer(410), "dead"),
                                          (defer("soon"), "delayed"), (Answer(200, headers=(("Duepost-Again", "1h"),)), "delayed")])
@pytest.mark.parametrize("more", [{}, {"retention": 3600, "results": True}])
def test_an_answer_ends_an_attempt_that_was_extended_before(server, receiver, topic, answer, then, more):
    """A receiver may report its progress, and then answer as always."""
    put(server, topic, url=receiver.url(), defer=True, retrySchedule=[3600], **more).expect(200)

    def act(arrival):
        for progress in 0.3, 0.6:
            end(server, topic, "extend", arrival.headers["duepost-token"], lease=2, progress=progress).expect(200)
        return answer

    receiver.script(topic, act)
    server.schedule(topic=topic, jobId="a", onDelivered=receiver.url("/told"))
    until(lambda: receiver.count(topic) == 1 and receiver.of(topic)[0].answered_at_ms, 20, "the answer")
    expected = None if then == "delivered" and not more else then
    until(lambda: state(server, topic) == expected, 20, "the end")
    time.sleep(3)
    assert state(server, topic) == expected and receiver.count(topic) == 1
    assert expected is None or server.job(topic, "a")["lastAttempt"].get("error") != "lease_expired"
    late = end(server, topic, "complete", receiver.of(topic)[0].headers["duepost-token"])
    assert late.status == (200 if then == "delivered" else 409)  # 200: like a complete that is repeated
    if then == "delivered":
        until(lambda: receiver.count(f"{topic}~callbacks") == 1, 20, "the callback")


def test_without_an_answer_an_attempt_that_was_extended_goes_on(server, receiver, topic):
    put(server, topic, url=receiver.url(), defer=True, retention=3600, timeout=1).expect(200)

    def act(arrival):
        end(server, topic, "extend", arrival.headers["duepost-token"], lease=3600).expect(200)
        return HANG

    receiver.script(topic, act)
    server.schedule(topic=topic, jobId="a")
    until(lambda: receiver.count(topic) == 1, 20, "the request")
    time.sleep(3)
    assert state(server, topic) == "leased" and receiver.count(topic) == 1
    end(server, topic, "complete", receiver.of(topic)[0].headers["duepost-token"]).expect(200)


# ---- answers that do not defer ----

@pytest.mark.parametrize("headers, status, detail", [
    ((("Duepost-Defer", "soon"),), 202, "The answer has Duepost-Defer: soon; expected are seconds"),
    ((("Duepost-Defer", "13h"),), 202, "12 hours"),
    ((("Duepost-Defer", "0"),), 202, "1 s to 12 hours"),
    ((("Duepost-Defer", "1h"),), 200, "needs the status 202"),
])
def test_a_header_that_cannot_be_kept_is_a_failed_attempt(server, receiver, topic, headers, status, detail):
    put(server, topic, url=receiver.url(), defer=True, retrySchedule=[3600]).expect(200)
    receiver.script(topic, Answer(status, headers=headers))
    server.schedule(topic=topic, jobId="a")
    job = until(lambda: (job := server.job(topic, "a")) and job["attempts"] == 1 and job, 20, "the failed attempt")
    assert job["lastAttempt"]["error"] == "protocol" and detail in job["lastAttempt"]["errorDetail"]


def test_without_the_setting_there_is_no_token(server, receiver, topic):
    put(server, topic, url=receiver.url(), retrySchedule=[3600]).expect(200)
    receiver.script(topic, defer())
    server.schedule(topic=topic, jobId="a")
    job = until(lambda: (job := server.job(topic, "a")) and job["attempts"] == 1 and job, 20, "the failed attempt")
    assert "set defer of the topic to true" in job["lastAttempt"]["errorDetail"]
    assert "duepost-token" not in receiver.of(topic)[0].headers


def test_a_batch_of_a_pattern_leaves_no_token(server, receiver, topic):
    put(server, topic + "*", url=receiver.url(), batch={"size": 2}).expect(200)
    put(server, topic, defer=True, retrySchedule=[3600]).expect(200)
    receiver.script(topic, defer())
    server.schedule(topic=topic, jobId="a")
    job = until(lambda: (job := server.job(topic, "a")) and job["attempts"] == 1 and job, 20, "the failed attempt")
    assert "batch" in job["lastAttempt"]["errorDetail"]
    put(server, topic + "*").expect(200)


def test_a_202_without_the_header_delivers(server, receiver, topic):
    put(server, topic, url=receiver.url(), defer=True, retention=3600).expect(200)
    receiver.script(topic, Answer(202))
    server.schedule(topic=topic, jobId="a")
    server.wait_for_state(topic, "a", "delivered")


@pytest.mark.parametrize("other", [{"batch": {"size": 2}}, {"delivery": "pull"}])
def test_settings_that_exclude_it(server, topic, other):
    answer = put(server, topic, url="http://127.0.0.1:9/", defer=True, **other)
    assert answer.status == 400 and {"field": "defer"}.items() <= answer.json["errors"][-1].items()


# ---- tokens ----

def test_a_token_is_for_one_job(server, receiver, topic):
    """Both jobs are claimed together, and have the same nonce."""
    put(server, topic, url=receiver.url(), defer=True).expect(200)
    receiver.script(topic, defer(), defer())
    server.schedule_all([{"topic": topic, "jobId": job_id} for job_id in "ab"]) if hasattr(server, "schedule_all") else \
        server.request("POST", "/jobs", json.dumps([{"topic": topic, "jobId": job_id} for job_id in "ab"]), JSON)
    until(lambda: receiver.count(topic) == 2, 20, "both requests")
    tokens = {arrival.headers["duepost-job-id"]: arrival.headers["duepost-token"] for arrival in receiver.of(topic)}
    assert end(server, topic, "complete", tokens["b"], job_id="a").status == 409
    assert state(server, topic, "a") == "leased"
    for job_id in "ab":
        end(server, topic, "complete", tokens[job_id], job_id=job_id).expect(200)


@pytest.mark.parametrize("change", [lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"), lambda t: "p" + t[1:].split(".")[0], lambda t: t[1:],
                                    lambda t: t.replace(".", "..", 1), lambda t: t + "x" * 40, lambda t: "d" + "." * 20, lambda t: "d", lambda t: t.rsplit(".", 1)[0] + "."])
def test_a_token_that_was_changed_ends_nothing(server, receiver, topic, change):
    token = deferred(server, receiver, topic)
    for way in ("complete", "retry", "bury", "extend", "release"):
        assert end(server, topic, way, change(token)).status in (400, 409)
    assert state(server, topic) == "leased"
    end(server, topic, "complete", token).expect(200)


# ---- cancelled, replaced ----

def test_a_cancelled_job(server, receiver, topic):
    token = deferred(server, receiver, topic)
    server.request("DELETE", f"/jobs/{topic}/a").expect(200)
    late = end(server, topic, "complete", token)
    assert late.status == 409 and late.json["state"] == "cancelled"


def test_a_replaced_job(server, receiver, topic):
    token = deferred(server, receiver, topic)
    server.request("PUT", f"/jobs/{topic}/a", json.dumps({"delay": 3600}), JSON)
    late = end(server, topic, "complete", token)
    assert late.status == 409 and "replaced" in late.json["detail"]
    assert state(server, topic) == "delayed"


def test_a_deferred_job_holds_its_place(server, receiver, topic):
    token = deferred(server, receiver, topic, settings={"maxInFlight": 1})
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="b")
    time.sleep(1)
    assert receiver.count(topic) == 1 and state(server, topic, "b") == "ready"
    end(server, topic, "complete", token).expect(200)
    until(lambda: receiver.count(topic) == 2, 20, "the next job")


# ---- results ----

@pytest.mark.parametrize("body, result", [(b'{"a": [1, 2.50]}', {"a": [1, 2.5]}), (b" 17 \n", 17), (b"paid", "paid"), ("\u00e9\"\n".encode(), "\u00e9\"\n")])
def test_the_answer_is_the_result(server, receiver, topic, body, result):
    put(server, topic, url=receiver.url(), results=True, retention=3600).expect(200)
    receiver.script(topic, Answer(200, body=body))
    server.schedule(topic=topic, jobId="a")
    server.wait_for_state(topic, "a", "delivered")
    assert server.job(topic, "a")["result"] == result


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"x" * 65537])
def test_an_answer_that_is_not_kept(server, receiver, topic, body):
    put(server, topic, url=receiver.url(), results=True, retention=3600).expect(200)
    receiver.script(topic, Answer(200, body=body))
    server.schedule(topic=topic, jobId="a")
    server.wait_for_state(topic, "a", "delivered")
    assert "result" not in server.job(topic, "a")


# ---- a clock that is turned ----

def test_a_manual_clock(start, receiver, topic):
    server = start("--clock", "manual")

    def turn(**how):
        return server.request("POST", "/clock", json.dumps(how), JSON).expect(200)["fired"]

    put(server, topic, url=receiver.url(), defer=True, retrySchedule=[600]).expect(200)
    receiver.script(topic, defer("1h"), 200)
    server.schedule(topic=topic, jobId="a", delay="1m")
    begun, = turn(advance="2m")
    until_at = server.job(topic, "a")["leaseUntil"]
    assert begun == {"at": begun["at"], "topic": topic, "jobId": "a", "event": "attempt", "attempt": 1, "status": 202, "outcome": "deferred", "nextAt": until_at}
    lapsed, delivered = turn(untilIdle=True)
    assert (lapsed["event"], lapsed["at"]) == ("lapsed", until_at)
    assert (delivered["attempt"], delivered["outcome"]) == (2, "delivered")
    assert to_ms(delivered["at"]) - to_ms(until_at) == 600_000


# ---- without another token ----

@pytest.fixture
def guarded(start):
    tokens = TokenFile()
    text = tokens.add("all")
    tokens.add("reader", ["read"])
    server = start("--tokens", str(tokens.path))
    return server.with_token(text), server.with_token(None), server.with_token(tokens.texts["reader"])


def test_the_token_of_an_attempt_is_enough(guarded, receiver, topic):
    server, guest, reader = guarded
    token = deferred(server, receiver, topic)
    assert end(guest, topic, "extend", token, progress=0.5).expect(200)["state"] == "leased"
    assert end(reader, topic, "extend", token).status == 403  # a token of the server has its own rights
    assert end(guest, topic, "release", token).status == 401  # no way of the receiver
    for wrong in ("none", token[:-2] + "xx", "p" + token[1:], "p-" + token[1:].split(".")[0]):
        for way in ("complete", "retry", "bury", "extend"):
            refused = end(guest, topic, way, wrong)
            assert refused.status == 401 and "Duepost-Token" in refused.json["detail"] and "state" not in refused.json
    assert end(guest, topic, "complete", token, job_id="other").status == 401
    assert end(guest, topic + "x", "complete", token).status == 401
    end(guest, topic, "complete", token, result=1).expect(200)
    late = end(guest, topic, "bury", token)
    assert late.status == 409 and late.json["state"] == "delivered"
    assert server.job(topic, "a")["result"] == 1


def test_many_ends_without_another_token(guarded, receiver, topic):
    server, guest, _ = guarded
    token = deferred(server, receiver, topic)
    items = [{"jobId": "a", "token": "no"}, {"jobId": "a", "token": token}, {"jobId": "b", "token": token}]
    results = guest.request("POST", f"/topics/{topic}/complete", json.dumps(items), JSON).expect(207)["results"]
    assert [result["status"] for result in results] == [401, 200, 401]


def test_the_token_is_not_used_more_often_than_once_a_second(guarded, receiver, topic):
    server, guest, _ = guarded
    token = deferred(server, receiver, topic)
    statuses = [end(guest, topic, "extend", token).status for _ in range(90)]
    assert statuses[:60] == [200] * 60 and 429 in statuses[60:]
    assert end(server, topic, "complete", token).status == 200


# ---- losses ----

@pytest.mark.parametrize("is_killed", [True, False])
def test_another_process_knows_the_token(start, redis, receiver, topic, is_killed):
    store = redis()
    server = start(redis=store)
    token = deferred(server, receiver, topic)
    server.kill() if is_killed else server.terminate()
    server = start(redis=store)
    assert state(server, topic) == "leased"
    end(server, topic, "complete", token).expect(200)
    assert state(server, topic) == "delivered" and receiver.count(topic) == 1


def test_the_process_dies_before_the_answer(start, redis, receiver, topic):
    """The outcome of this attempt is unknown, so the next attempt has the same number and another token."""
    store = redis()
    server = start(redis=store)
    put(server, topic, url=receiver.url(), defer=True, retention=3600).expect(200)
    receiver.script(topic, Answer(202, headers=(("Duepost-Defer", "1h"),), delay=2 * SLOW), defer())
    server.schedule(topic=topic, jobId="a")
    until(lambda: receiver.count(topic) == 1, 20, "the request")
    server.kill()
    server = start(redis=store)
    until(lambda: receiver.count(topic) == 2, 30, "the next attempt")
    time.sleep(0.5)
    first, second = receiver.of(topic)
    assert (first.attempt, second.attempt) == (1, 1)
    assert end(server, topic, "complete", first.headers["duepost-token"]).status == 409
    end(server, topic, "complete", second.headers["duepost-token"]).expect(200)


def test_a_lease_that_ran_out_while_no_process_was_there(start, redis, receiver, topic):
    store = redis()
    server = start(redis=store)
    deferred(server, receiver, topic, lease="1s", retrySchedule=[0.1])
    server.kill()
    time.sleep(1.5)
    receiver.script(topic, 200, job_id="a")
    server = start(redis=store)
    server.wait_for_state(topic, "a", "delivered")
    assert [arrival.attempt for arrival in receiver.of(topic)] == [1, 2]


def test_why_and_the_end_of_the_lease(server, receiver, topic):
    deferred(server, receiver, topic)
    job = server.job(topic, "a")
    why = server.get(f"/jobs/{topic}/a/why").expect(200)
    assert "has deferred the end" in why["detail"] and job["leaseUntil"] in why["detail"]
    assert 3500_000 < to_ms(job["leaseUntil"]) - time.time() * 1000 <= 3600_000


def test_the_callback_has_the_result(server, receiver, topic):
    token = deferred(server, receiver, topic, onDelivered=receiver.url("/told"))
    end(server, topic, "complete", token, result={"n": 1.50}).expect(200)
    told = until(lambda: next(iter(receiver.of(f"{topic}~callbacks")), None), 20, "the callback")
    document = json.loads(told.body)
    assert (document["outcome"], document["result"], document["attempts"]) == ("delivered", {"n": 1.5}, 1)
    assert b'"result":{"n": 1.5}' in told.body


# ---- script/receiver ----

def receiver_script(*options):
    process = subprocess.Popen([ROOT / "script" / "receiver", *options, "0"], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1]


def test_the_receiver_for_trials_defers(server, topic):
    process, url = receiver_script("--defer", "500ms")
    try:
        put(server, topic, url=url, defer=True, retention=3600).expect(200)
        server.schedule(topic=topic, jobId="a")
        server.wait_for_state(topic, "a", "delivered")
        assert f"attempt 1 of {topic}/a" in process.stdout.readline()
        assert f"completed {topic}/a" in process.stdout.readline()  # it says so after the job is delivered
    finally:
        process.kill()
        process.communicate()


def test_the_receiver_for_trials_fails_and_is_slow(server, topic):
    process, url = receiver_script("--fail", "50%", "--slow", "p99=200ms")
    try:
        put(server, topic, url=url, retention=3600, retrySchedule=[0.05] * 50).expect(200)
        jobs = [{"topic": topic, "jobId": f"{n}"} for n in range(20)]
        server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)
        for job in jobs:
            server.wait_for_state(topic, job["jobId"], "delivered")
    finally:
        process.kill()
    assert process.communicate()[0].count("answer 503 to") > 2


@pytest.mark.parametrize("options, expected", [(("--fail", "120%"), "a share such as 20%"), (("--slow", "2s"), "p99=TIME"), (("--defer", "soon"), "a time such as 200ms")])
def test_the_receiver_for_trials_refuses(options, expected):
    done = subprocess.run([ROOT / "script" / "receiver", *options], capture_output=True, text=True, timeout=20 * SLOW)
    assert done.returncode == 2 and expected in done.stderr
