"""Idempotency-Key: a request that is repeated with the same key gets the first answer, and its job is delivered
once."""

import concurrent.futures
import contextlib
import json

import pytest
import contract
from clock import MANUAL, ManualClock
from patience import until, watch


@contextlib.contextmanager
def frozen(redis):
    redis.freeze()
    try:
        yield
    finally:
        redis.thaw()


def keyed(server, key, job):
    return server.post(job, headers={"Idempotency-Key": key})


def test_the_same_request_is_answered_the_same_again(server, receiver, topic):
    job = {"topic": topic, "url": receiver.url(), "delay": 0.2, "body": {"a": 1}}
    first = keyed(server, '"8e03978e-40d5"', job).expect(201)
    assert keyed(server, '"8e03978e-40d5"', job).expect(201) == first
    assert keyed(server, "8e03978e-40d5", job).expect(201) == first  # without quotes, as many clients send it
    until(lambda: receiver.count(topic) == 1, 5, "delivery")
    assert keyed(server, '"8e03978e-40d5"', job).expect(201) == first
    watch(0.5, lambda: receiver.count(topic) == 1, "delivered twice")


def test_another_request_with_the_key_is_422(server, receiver, topic):
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 100}
    keyed(server, "k", job).expect(201)
    keyed(server, "k", {**job, "delay": 101}).expect(422)
    keyed(server, "k", {**job, "jobId": "b"}).expect(422)
    assert server.job(topic, "b") is None


def test_a_key_belongs_to_its_topic(server, receiver, topic):
    for name in (topic + ".a", topic + ".b"):
        keyed(server, "k", {"topic": name, "jobId": "a", "url": receiver.url(), "delay": 100}).expect(201)


def test_an_error_is_not_kept(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=100)
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 50}
    keyed(server, "k", job).expect(409)
    server.cancel(topic, "a").expect(200)
    keyed(server, "k", job).expect(201)


def test_an_answer_that_the_job_was_there_already_is_kept(server, receiver, topic):
    """The first answer is 200, because the job exists already. If duepost did not keep this answer, a repeated
    request would schedule the job again after its delivery."""
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 1}
    server.post(job).expect(201)
    first = keyed(server, "k", job).expect(200)
    assert keyed(server, "k", job).expect(201)["dueAt"] == first["dueAt"]
    keyed(server, "k", {**job, "delay": 2}).expect(422)
    server.wait_for_state(topic, "a", None)
    assert keyed(server, "k", job).expect(201)["dueAt"] == first["dueAt"]
    watch(0.5, lambda: server.job(topic, "a") is None, "scheduled again")
    keyed(server, "other", job).expect(201)


def test_an_answer_that_the_jobs_of_a_group_were_there_already_is_kept(server, receiver, topic):
    group = topic.replace("_", "-")
    server.request("PUT", f"/groups/{group}", '{"endpoints":{"x":{"url":"%s"},"y":{"url":"%s"}}}' % (receiver.url(), receiver.url()),
                   {"Content-Type": "application/json"}).expect(201)
    job = {"topic": topic, "jobId": "a", "group": group, "delay": 1}
    server.post(job).expect(201)
    first = keyed(server, "k", job).expect(200)
    for job_id in "a~x", "a~y":
        server.wait_for_state(topic, job_id, None)
    assert keyed(server, "k", job).expect(201)["jobs"] == first["jobs"]
    watch(0.5, lambda: receiver.count(topic) == 2, "sent again")


def test_a_key_is_as_long_as_the_contract_says(server, receiver, topic):
    parameter, = [each for each in contract.document["paths"]["/jobs"]["post"]["parameters"] if each.get("name") == "Idempotency-Key"]
    longest = "a" * (parameter["schema"]["maxLength"] - 2)  # the quotes count as characters, too
    job = {"topic": topic, "url": receiver.url(), "delay": 100}
    assert keyed(server, longest, job).expect(201) == keyed(server, f'"{longest}"', job).expect(201)
    for key in longest + "a", f'"{longest}a"':
        keyed(server, key, job).expect(400)


@pytest.mark.parametrize("key", ['""', '"a', '"a"b"', "a" * 300, '"a\\x"', "ä"])
def test_an_invalid_key_is_400(server, receiver, topic, key):
    answer = keyed(server, key, {"topic": topic, "jobId": "a", "url": receiver.url()}).expect(400)
    if "errors" in answer:
        assert answer["errors"][0]["field"] == "Idempotency-Key"
    assert server.job(topic, "a") is None


# ---- idempotencyKey, the key of each of many jobs ----

def many(server, jobs):
    return server.post(jobs).expect(207)["results"]


def test_each_of_many_jobs_has_a_key_of_its_own(server, receiver, topic):
    jobs = [{"topic": topic, "url": receiver.url(), "idempotencyKey": f"k{n}", "body": n} for n in range(3)]
    first = many(server, jobs)
    assert [result["status"] for result in first] == [201] * 3
    until(lambda: receiver.count(topic) == 3, 5, "deliveries")
    more = [*jobs, {**jobs[0], "idempotencyKey": "k3"}, {**jobs[1], "body": "another"}]
    again = many(server, more)
    assert again[:3] == first and again[3]["status"] == 201 and again[4]["status"] == 422
    until(lambda: receiver.count(topic) == 4, 5, "the new job")
    watch(0.5, lambda: receiver.count(topic) == 4, "delivered twice")


def test_a_key_twice_in_one_request_is_one_job(server, receiver, topic):
    job = {"topic": topic, "url": receiver.url(), "idempotencyKey": "k", "delay": 100}
    first, second, third = many(server, [job, job, {**job, "delay": 101}])
    assert first == second and first["status"] == 201 and third["status"] == 422


def test_the_member_and_the_header_are_one_store(server, receiver, topic):
    job = {"topic": topic, "url": receiver.url(), "delay": 100}
    first = server.post({**job, "idempotencyKey": "k"}).expect(201)
    assert server.post({**job, "idempotencyKey": "k"}).expect(201) == first
    assert many(server, [{**job, "idempotencyKey": "k"}])[0]["jobId"] == first["jobId"]
    keyed(server, "k", job).expect(422)
    reply = keyed(server, "other", {**job, "idempotencyKey": "k"})
    assert reply.status == 400 and reply.fields() == ["idempotencyKey"]


def test_lines_and_jobs_of_groups_have_keys(server, receiver, topic):
    server.request("PUT", f"/groups/{topic}", json.dumps({"endpoints": {"a": {"url": receiver.url()}}}), {"Content-Type": "application/json"})
    lines = "".join(json.dumps({"topic": topic, "idempotencyKey": f"k{n}", **where}) + "\n"
                    for n, where in enumerate([{"url": receiver.url()}, {"group": topic}]))
    first, again = (server.request("POST", "/jobs", lines, {"Content-Type": "application/x-ndjson"}).expect(207)["results"] for _ in range(2))
    assert first == again and [result["status"] for result in first] == [201, 201]
    until(lambda: receiver.count(topic) == 2, 5, "deliveries")
    watch(0.3, lambda: receiver.count(topic) == 2, "delivered twice")


@pytest.mark.parametrize("key, words", [("", "1 to 255"), ("a" * 256, "255"), ("ä", "visible ASCII"), ("a\n", "visible ASCII"), (7, "string")])
def test_an_invalid_key_of_a_job_is_400(server, receiver, topic, key, words):
    result, good = many(server, [{"topic": topic, "url": receiver.url(), "idempotencyKey": key}, {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 9}])
    assert result["status"] == 400 and result["errors"][0]["field"] == "idempotencyKey" and words in result["errors"][0]["detail"]
    assert good["status"] == 201


def test_only_a_new_job_has_a_key(server, receiver, topic):
    job = {"url": receiver.url(), "delay": 100, "idempotencyKey": "k"}
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=100)
    for method in "PUT", "PATCH":
        reply = server.request(method, f"/jobs/{topic}/a", json.dumps(job), {"Content-Type": "application/json"})
        assert reply.status == 400 and reply.fields() == ["idempotencyKey"]
    reply = server.post({"topic": topic, "url": receiver.url(), "idempotencyKey": "k", "debounce": {"key": "a", "wait": 1}})
    assert reply.status == 400 and reply.fields() == ["idempotencyKey"]


def test_many_whose_answer_was_lost_can_be_repeated(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    jobs = [{"topic": topic, "url": receiver.url(), "idempotencyKey": f"k{n}", "delay": 0.1} for n in range(50)]
    server.schedule(topic=topic, jobId="warm", url=receiver.url(), delay=100)
    with frozen(behind):
        lost = server.post(jobs).expect(207)["results"]
        assert {result["status"] for result in lost} == {503}
    until(lambda: server.get("/readyz").status == 200, 10, "Redis")
    again = many(server, jobs)
    assert [result["status"] for result in again] == [201] * 50 and many(server, jobs) == again
    until(lambda: receiver.count(topic) == 50, 10, "deliveries")
    watch(0.5, lambda: receiver.count(topic) == 50, "delivered twice")


def test_a_key_is_forgotten_after_its_window(start, receiver, topic):
    server = start("--idempotency-window", "12h", *MANUAL)
    clock = ManualClock(server)
    job = {"topic": topic, "url": receiver.url(), "delay": "30d"}
    first = keyed(server, "k", job).expect(201)
    clock.advance(12 * 3600 - 1)
    assert keyed(server, "k", job).expect(201) == first
    clock.advance(2)
    assert keyed(server, "k", job).expect(201)["jobId"] != first["jobId"]


def test_a_request_whose_answer_was_lost_can_be_repeated(start, redis, receiver, topic):
    """The first answer is 503, outcome unknown, because Redis froze after it had received the command. The repetition
    schedules no second job."""
    behind = redis()
    server = start(redis=behind)
    job = {"topic": topic, "url": receiver.url(), "delay": 0.1}
    with frozen(behind):
        lost = keyed(server, "k", job).expect(503)
    assert "unknown" in lost["detail"] and "Idempotency-Key" in lost["detail"]
    until(lambda: keyed(server, "k", job).status == 201, 10, "an answer")
    until(lambda: receiver.count(topic) > 0, 5, "delivery")
    watch(1, lambda: receiver.count(topic) == 1, "delivered twice")


def test_while_the_first_request_runs_a_second_one_is_409(start, redis, receiver, topic):
    behind = redis()
    server = start("--reactors", "1", redis=behind)
    job = {"topic": topic, "url": receiver.url(), "delay": 100}
    with frozen(behind):
        statuses = sorted(answer.status for answer in server.post_together(job, 2, {"Idempotency-Key": "k"}))
    assert statuses == [409, 503]


def test_the_longest_topic_and_key_fit(server, receiver):
    """A topic of a sibling has twice the length."""
    for name in "t" * 128, "t" * 128 + "~" + "s" * 127:
        job = {"topic": name, "url": receiver.url(), "delay": 100}
        first = many(server, [{**job, "idempotencyKey": "k" * 255}])
        assert many(server, [{**job, "idempotencyKey": "k" * 255}]) == first and server.get("/readyz").status == 200
        assert server.post({**job, "idempotencyKey": "k" * 255}).status == first[0]["status"]


def test_a_key_of_a_job_that_is_throttled(server, receiver, topic):
    """A repeated job gets the answer that it was throttled, also when another job would be accepted."""
    job = {"topic": topic, "url": receiver.url(), "delay": 100, "throttle": {"key": "a", "per": 60}}
    keyed_jobs = [{**job, "idempotencyKey": "k1"}, {**job, "idempotencyKey": "k2"}]
    first = many(server, keyed_jobs)
    assert [result["status"] for result in first] == [201, 200] and first[0]["jobId"] == first[1]["jobId"]
    assert [result["jobId"] for result in many(server, keyed_jobs)] == [first[0]["jobId"]] * 2
    assert server.get(f"/jobs?topic={topic}").expect(200)["jobs"][0]["jobId"] == first[0]["jobId"]


def test_a_key_of_an_array_and_of_a_request_together_is_one_job(server, receiver, topic):
    """Arrays and requests with one job that come at the same time."""
    job = {"topic": topic, "url": receiver.url(), "delay": 100, "idempotencyKey": "k"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        alone = [pool.submit(server.post, job) for _ in range(8)]
        arrays = [pool.submit(many, server, [job] * 20) for _ in range(8)]
        ids = {result["jobId"] for each in arrays for result in each.result()} | {
            each.result().json["jobId"] for each in alone if each.result().status != 409}
    assert len(ids) == 1 and len(server.get(f"/jobs?topic={topic}").expect(200)["jobs"]) == 1
