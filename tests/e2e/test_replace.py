"""PUT replaces a job by another one."""

import concurrent.futures
import json
import time

import pytest

from duepost import Client
from fronts import COMPRESSING
from patience import SLOW, until, watch
from receiver import HANG, Answer
from timestamp import to_ms
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}


def put(server, topic, job_id, headers=None, /, **members):
    return server.request("PUT", f"/jobs/{topic}/{job_id}", json.dumps(members), {**JSON, **(headers or {})})


def test_a_put_job_is_new_or_takes_the_place_of_the_old_one(server, receiver, topic):
    first = put(server, topic, "a", url=receiver.url(), delay=60, body=1).expect(201)
    assert first["topic"] == topic and first["jobId"] == "a" and first["state"] == "delayed"
    time.sleep(0.01)
    again = put(server, topic, "a", topic=topic, jobId="a", url=receiver.url(), delay=90, body=2).expect(200)
    job = server.job(topic, "a")
    assert to_ms(again["dueAt"]) - to_ms(first["dueAt"]) >= 30010 and job["dueAt"] == again["dueAt"]
    assert to_ms(job["createdAt"]) == to_ms(job["dueAt"]) - 90000 and job["body"] == 2


def test_a_job_that_is_put_again_and_again_is_delivered_once_in_its_last_form(server, receiver, topic):
    for i in range(20):
        put(server, topic, "a", url=receiver.url(), delay=0.4 * SLOW, body=i)
        time.sleep(0.02)
    until(lambda: receiver.count(topic), 3, "delivery")
    watch(0.6, lambda: receiver.count(topic) == 1, "a second delivery")
    assert receiver.of(topic)[0].body == b"19"


def test_a_job_that_waits_for_a_retry_starts_over_and_a_dead_one_stays_dead(server, receiver, topic):
    receiver.script(topic, 500, 200, job_id="waits")
    receiver.script(topic, 410, 200, job_id="dead")
    for job_id in ("waits", "dead"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retrySchedule=[3600])
    until(lambda: server.job(topic, "waits")["attempts"] == 1, 5, "a failed attempt")
    server.wait_for_state(topic, "dead", "dead")
    for job_id, status, state in ("waits", 200, None), ("dead", 201, "dead"):
        put(server, topic, job_id, url=receiver.url(), delay=60).expect(status)
        job = server.job(topic, job_id)
        assert job["state"] == "delayed" and job["attempts"] == 0 and "lastAttempt" not in job
        put(server, topic, job_id, url=receiver.url()).expect(200)
        until(lambda: len(receiver.of(topic, job_id)) == 2, 5, "the new job's attempt")
        server.wait_for_state(topic, job_id, state)
        assert [arrival.attempt for arrival in receiver.of(topic, job_id)] == [1, 1]


def test_a_ready_job_is_replaced(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", '{"paused":true}', JSON).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body=1)
    server.wait_for_state(topic, "a", "ready")
    put(server, topic, "a", url=receiver.url(), body=2).expect(200)
    server.request("DELETE", f"/topics/{topic}").expect(200)
    until(lambda: receiver.count(topic), 3, "delivery")
    assert receiver.of(topic)[0].body == b"2"


def test_a_put_during_an_attempt_keeps_the_newest_event(server, receiver, topic):
    receiver.script(topic, Answer(500, delay=1.5 * SLOW), 200)
    put(server, topic, "a", url=receiver.url(), body=1, retrySchedule=[1]).expect(201)
    until(lambda: receiver.count(topic) == 1, 5, "the attempt of the old job begins")
    for body in (2, 3):
        answer = put(server, topic, "a", url=receiver.url(), delay=3 * SLOW, body=body).expect(200)
        assert answer["state"] == "delayed" and answer.get("attemptInFlight", False) == (body == 2)
    until(lambda: "attempt_replaced" in server.log(), 5, "the outcome of the old attempt is in the log")
    line, = [line for line in server.log().splitlines() if "attempt_replaced" in line]
    assert f"job={topic}/a" in line and "status=500" in line and "reason=replaced" in line
    job = server.job(topic, "a")
    assert (job["state"], job["attempts"], job["body"]) == ("delayed", 0, 3)
    until(lambda: receiver.count(topic) == 2, 5, "the new job is due at its own time")
    server.wait_for_state(topic, "a", None)
    watch(1, lambda: receiver.count(topic) == 2, "nothing is sent for the replaced job")
    old, new = receiver.of(topic)
    assert (old.body, new.body, new.attempt) == (b"1", b"3", 1) and new.at_ms - old.at_ms >= 3000 * SLOW


@pytest.mark.parametrize("settings", [{"order": "fifo"}, {"maxInFlight": 1}])
def test_the_new_job_waits_behind_the_attempt_of_the_old_one(server, receiver, topic, settings):
    """The attempt keeps its place in flight, so its successor does not overlap with it."""
    server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)
    receiver.script(topic, Answer(200, delay=1.5 * SLOW), 200)
    put(server, topic, "a", url=receiver.url(), body=1).expect(201)
    until(lambda: receiver.count(topic) == 1, 5, "the attempt of the old job begins")
    put(server, topic, "a", url=receiver.url(), body=2).expect(200)
    until(lambda: receiver.count(topic) == 2, 10, "the new job's attempt")
    old, new = receiver.of(topic)
    assert new.body == b"2" and new.at_ms - old.at_ms >= 1500 * SLOW
    server.wait_for_state(topic, "a", None)


def test_a_condition_holds_for_a_leased_job_too(server, receiver, topic):
    receiver.script(topic, HANG, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    server.wait_for_state(topic, "a", "leased")
    tag = server.get(f"/jobs/{topic}/a").headers["ETag"]
    for headers in ({"If-Match": '"other"'}, {"If-None-Match": "*"}, {"If-None-Match": tag}):
        put(server, topic, "a", headers, url=receiver.url(), delay=60).expect(412)
    assert server.get(f"/jobs/{topic}/a").headers["ETag"] == tag
    reply = put(server, topic, "a", {"If-Match": tag}, url=receiver.url(), delay=60)
    assert reply.expect(200)["attemptInFlight"] and reply.headers["ETag"] == server.get(f"/jobs/{topic}/a").headers["ETag"]
    put(server, topic, "a", {"If-Match": tag}, url=receiver.url(), delay=60).expect(412)
    server.cancel(topic, "a").expect(200)


def test_a_replaced_job_is_told_and_reported_to_nobody(start, receiver, topic, tmp_path):
    """As for a cancelled job, no callback is sent. The history shows the job as cancelled, with the reason replaced."""
    server = start("--history", f"sqlite:{tmp_path}/history.db", "--history-bodies", "off")
    receiver.script(topic, Answer(200, delay=SLOW), 200)
    put(server, topic, "a", url=receiver.url(), onDelivered=receiver.url("/old"), onDead=receiver.url("/old"), body=1).expect(201)
    until(lambda: receiver.count(topic) == 1, 5, "the attempt of the old job begins")
    put(server, topic, "a", url=receiver.url(), body=2).expect(200)
    until(lambda: len(server.get(f"/jobs?topic={topic}&state=any&source=history").expect(200)["jobs"]) == 2, 15, "both jobs are in the history")
    replaced, = server.get(f"/jobs?topic={topic}&state=cancelled&source=history").expect(200)["jobs"]
    assert replaced["reason"] == "replaced" and replaced["jobId"] == "a"
    delivered, = server.get(f"/jobs?topic={topic}&state=delivered&source=history").expect(200)["jobs"]
    assert "reason" not in delivered
    watch(0.5, lambda: receiver.count(f"{topic}~callbacks") == 0, "no callback")


def test_a_worker_learns_that_its_job_was_replaced(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"delivery": "pull"}), JSON).expect(200)
    put(server, topic, "a", body=1).expect(201)

    def lease():
        return server.request("POST", f"/topics/{topic}/lease", json.dumps({"lease": 60, "wait": 5}), JSON).expect(200)["jobs"][0]

    def end(what, job, **members):
        return server.request("POST", f"/topics/{topic}/{what}", json.dumps({"jobId": "a", "token": job["token"], **members}), JSON)
    old = lease()
    assert put(server, topic, "a", body=2).expect(200)["attemptInFlight"]
    for what, members in ("extend", {"lease": 30}), ("complete", {}):
        answer = end(what, old, **members).expect(409)
        assert "a new job has replaced it" in answer["detail"] and answer["state"] in ("ready", "delayed")
    new = lease()
    assert new["body"] == 2
    end("complete", old).expect(409)
    end("complete", new).expect(200)
    assert server.job(topic, "a") is None


def test_an_invalid_put_names_its_errors_and_changes_nothing(server, receiver, topic):
    tag = put(server, topic, "a", url=receiver.url(), delay=60).headers["ETag"]
    wrong = {"topic": topic + "x", "jobId": "b", "delay": -1, "colour": 1}
    assert put(server, topic, "a", **wrong).fields() == ["topic", "jobId", "delay", "colour"]
    assert put(server, topic, "a", topic="a b", jobId=7, url="http://10.0.0.1/").fields() == ["topic", "jobId"]
    assert put(server, topic, "a", url="http://10.0.0.1/").fields() == ["url"]
    assert put(server, topic, "a", url=receiver.url(), ttl=5, delay=5).fields() == ["ttl"]
    assert put(server, topic, "a", {"If-Match": "a"}, url=receiver.url()).fields() == ["If-Match"]
    for text in ("", "[]", "{"):
        assert server.request("PUT", f"/jobs/{topic}/a", text, JSON).fields() == [""]
    assert server.request("PUT", f"/jobs/{topic}/a?x=1", "{}", JSON).fields() == ["x"]
    server.request("PUT", f"/jobs/{topic}/a", "{}", {"Content-Type": "application/merge-patch+json"}).expect(415)
    assert server.get(f"/jobs/{topic}/a").headers["ETag"] == tag


def test_a_full_pool_accepts_only_replacements(start, receiver, topic):
    server = start("--max-jobs", "1", "--max-body", "1KiB")
    put(server, topic, "a", url=receiver.url(), delay=60).expect(201)
    put(server, topic, "b", url=receiver.url(), delay=60).expect(507)
    put(server, topic, "a", url=receiver.url(), delay=60).expect(200)
    put(server, topic, "a", url=receiver.url(), body="x" * 1100).expect(413)


def test_without_redis_nothing_is_replaced(start, receiver, topic):
    server = start("--redis", "redis://127.0.0.1:1", ready=False)
    put(server, topic, "a", url=receiver.url()).expect(503)


def test_an_idempotency_key_changes_nothing_about_it(server, receiver, topic):
    for body, status in ((1, 201), (2, 200)):
        put(server, topic, "a", {"Idempotency-Key": "k"}, url=receiver.url(), delay=60, body=body).expect(status)
    assert server.job(topic, "a")["body"] == 2


def test_the_last_of_concurrent_puts_stays_and_each_is_answered(server, receiver, topic):
    put(server, topic, "a", url=receiver.url(), delay=60).expect(201)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda i: put(server, topic, "a", url=receiver.url(), delay=60 + i, body=i), range(40)))
    assert {reply.status for reply in replies} == {200}
    assert server.get(f"/jobs/{topic}/a").headers["ETag"] in [reply.headers["ETag"] for reply in replies]
    assert len(server.get(f"/jobs?state=delayed&topic={topic}").json["jobs"]) == 1


# ---- ETag and If-Match ----

def test_every_answer_names_the_job_as_it_is(server, receiver, topic):
    for options in ({"delay": 60}, {"dueAt": "2030-01-01T00:00:00Z", "ttl": 315360000}):
        reply = put(server, topic, "a", url=receiver.url(), **options)
        read = server.get(f"/jobs/{topic}/a")
        assert reply.headers["ETag"] == read.headers["ETag"] == server.request("HEAD", f"/jobs/{topic}/a").headers["ETag"]
    server.request("PUT", f"/topics/{topic}", '{"paused":true}', JSON).expect(200)
    reply = put(server, topic, "a", url=receiver.url())
    assert reply.headers["ETag"] == server.get(f"/jobs/{topic}/a").headers["ETag"]


def test_a_tag_changes_with_state_place_and_members(server, receiver, topic):
    receiver.script(topic, Answer(500, delay=0.3), 410)
    tags = [put(server, topic, "a", url=receiver.url(), delay=60, headers={"X": "1"}).headers["ETag"]]
    tags.append(put(server, topic, "a", url=receiver.url(), delay=60, headers={"X": "2"}).headers["ETag"])
    put(server, topic, "a", url=receiver.url(), retrySchedule=[3600])
    for state in ("leased", "delayed"):
        server.wait_for_state(topic, "a", state)
        tags.append(server.get(f"/jobs/{topic}/a").headers["ETag"])
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", "dead")
    tags.append(server.get(f"/jobs/{topic}/a").headers["ETag"])
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_change_with_if_match_needs_the_current_etag(server, receiver, topic, method):
    job = json.dumps({"url": receiver.url(), "delay": 60})

    def change(if_match):
        return server.request(method, f"/jobs/{topic}/a", job if method == "PUT" else None, {**JSON, "If-Match": if_match})
    for if_match in ("*", '"x"'):
        change(if_match).expect(412 if method == "PUT" else 404)
    old = put(server, topic, "a", url=receiver.url(), delay=60).headers["ETag"]
    new = put(server, topic, "a", url=receiver.url(), delay=61).headers["ETag"]
    for if_match in (old, f"W/{old}", f'{old[:-1]}-gzip"', '"x"', '"x", "y,z"', f'{new[:-3]}0"'):
        change(if_match).expect(412)
    for if_match in ("", "x", "'x'", '"x', '"x" "y"', "W/", "*, *"):
        assert change(if_match).fields() == ["If-Match"]
    assert server.get(f"/jobs/{topic}/a").headers["ETag"] == new
    for seen in '"x", {old},"{tag}"', 'W/"{tag}"', '"{tag}-gzip"':
        new = put(server, topic, "a", url=receiver.url(), delay=61).headers["ETag"]
        change(seen.format(old=old, tag=new[1:-1])).expect(200)
    if method == "PUT":
        change("*").expect(200)
    server.cancel(topic, "a")


def test_a_put_may_be_for_a_new_job_only(server, receiver, topic):
    new = {"If-None-Match": "*"}
    put(server, topic, "a", new, url=receiver.url(), delay=60).expect(201)
    tag = server.get(f"/jobs/{topic}/a").headers["ETag"]
    put(server, topic, "a", new, url=receiver.url(), delay=61).expect(412)
    assert server.get(f"/jobs/{topic}/a").headers["ETag"] == tag
    put(server, topic, "a", {"If-None-Match": f'"x", {tag}'}, url=receiver.url(), delay=61).expect(412)
    put(server, topic, "a", {"If-None-Match": '"x"', "if-none-match": tag}, url=receiver.url(), delay=61).expect(412)  # two header lines are one list
    put(server, topic, "a", {"If-None-Match": '"x"', "if-none-match": "*"}, url=receiver.url(), delay=61).expect(400)
    put(server, topic, "a", {"If-None-Match": "*", "if-none-match": '"x"'}, url=receiver.url(), delay=61).expect(400)
    put(server, topic, "a", {"If-None-Match": '"x", "y"'}, url=receiver.url(), delay=61).expect(200)
    assert put(server, topic, "a", {"If-None-Match": "x"}, url=receiver.url()).fields() == ["If-None-Match"]
    assert put(server, topic, "a", {**new, "If-Match": "*"}, url=receiver.url()).fields() == ["If-None-Match"]
    server.cancel(topic, "a").expect(200)
    receiver.script(topic, Answer(410), HANG)
    put(server, topic, "a", new, url=receiver.url()).expect(201)
    server.wait_for_state(topic, "a", "dead")
    put(server, topic, "a", new, url=receiver.url(), timeout=60).expect(201)  # the id of a dead job is free for a new job
    server.wait_for_state(topic, "a", "leased")
    put(server, topic, "a", new, url=receiver.url()).expect(412)
    server.cancel(topic, "a").expect(200)


def test_one_of_many_requests_with_if_none_match_creates_the_job(server, receiver, topic):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda i: put(server, topic, "a", {"If-None-Match": "*"}, url=receiver.url(), delay=60, body=i), range(16)))
    assert sorted(reply.status for reply in replies) == [201] + [412] * 15
    made, = [body for body, reply in enumerate(replies) if reply.status == 201]
    assert server.job(topic, "a")["body"] == made
    server.cancel(topic, "a")


def test_a_patch_may_exclude_etags(server, receiver, topic):
    def patch(none_match, members):
        headers = {"Content-Type": "application/merge-patch+json", "If-None-Match": none_match}
        return server.request("PATCH", f"/jobs/{topic}/a", json.dumps(members), headers)
    patch("*", {"timeout": 5}).expect(404)
    old = put(server, topic, "a", url=receiver.url(), delay=60).headers["ETag"]
    patch("*", {"timeout": 5}).expect(412)
    patch(old, {"timeout": 5}).expect(412)
    patch('"x"', {"timeout": 5}).expect(200)
    patch(old, {"timeout": 6}).expect(200)
    server.cancel(topic, "a")


def test_a_leased_job_is_cancelled_as_it_was_seen(server, receiver, topic):
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    server.wait_for_state(topic, "a", "leased")
    tag = server.get(f"/jobs/{topic}/a").headers["ETag"]
    time.sleep(2.5)  # meanwhile, duepost renews the job's lease
    assert server.request("DELETE", f"/jobs/{topic}/a", headers={"If-Match": tag}).expect(200)["attemptInFlight"]


@pytest.mark.parametrize("name", COMPRESSING)
def test_a_job_is_edited_behind_a_compressing_proxy(start, receiver, topic, name):
    """Such a proxy makes the ETag weak. The dashboard sends it back as it came."""
    tokens = TokenFile()
    server = start("--tokens", str(tokens.path), token=tokens.add("all"))
    front = COMPRESSING[name](server.port)
    paths = {f"/jobs/{topic}/a": {"url": receiver.url(), "delay": 60}, f"/groups/{topic}": {"endpoints": {"a": {"url": receiver.url()}}},
             f"/schedules/{topic}/a": {"cron": "0 0 1 1 *", "job": {"url": receiver.url()}}}
    try:
        through = Client(front.host, front.port, server.token)
        for path, content in paths.items():
            server.request("PUT", path, json.dumps(content), JSON).expect(201)
            seen = through.request("GET", path, headers={"Accept-Encoding": "gzip"}, check=False).headers
            assert seen["Content-Encoding"] == "gzip" and seen["ETag"].startswith('W/"')
            tag = {**JSON, "If-Match": seen["ETag"]}
            excluded = {**JSON, "If-None-Match": seen["ETag"]}
            assert through.request("PUT", path, json.dumps(content), excluded, check=False).status == 412
            assert through.request("PUT", path, json.dumps(content), tag, check=False).status == 200
            if path.startswith("/jobs"):
                assert through.request("PATCH", path, '{"delay": 70}', tag, check=False).status == 412
                tag["If-Match"] = through.request("GET", path, headers={"Accept-Encoding": "gzip"}, check=False).headers["ETag"]
                assert through.request("PATCH", path, '{"delay": 70}', tag, check=False).status == 200
            through.close()
    finally:
        front.stop()
