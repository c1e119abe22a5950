"""Scheduling: the answers, which jobs count as the same, and the time of arrival."""

import json
import time
import urllib.parse

import pytest

from patience import SLOW, until
from timestamp import from_ms, to_ms


def test_a_job_without_delay_arrives_at_once(server, receiver, topic):
    answer = server.schedule(topic=topic, jobId="a", url=receiver.url())
    assert answer["topic"] == topic and answer["jobId"] == "a" and answer["state"] == "delayed"
    assert abs(to_ms(answer["dueAt"]) - time.time() * 1000) < 1000 * SLOW
    until(lambda: receiver.count(topic), 1, "delivery")
    server.wait_for_state(topic, "a", None)


def test_location_names_the_job(server, receiver, topic):
    reply = server.post({"topic": topic, "jobId": "a:b~c", "url": receiver.url(), "delay": 60})
    reply.expect(201)
    assert reply.headers["Location"] == f"jobs/{topic}/a:b~c"  # without a prefix that a proxy may have removed
    assert server.get(urllib.parse.urljoin("/jobs", reply.headers["Location"])).expect(200)["jobId"] == "a:b~c"
    assert server.get(f"/jobs/{topic}/a%3Ab%7Ec").expect(200)["jobId"] == "a:b~c"


def test_ids_of_the_server_are_unique_and_sort_by_time(server, receiver, topic):
    ids = []
    for _ in range(20):
        ids.append(server.schedule(topic=topic, url=receiver.url(), delay=60)["jobId"])
        time.sleep(0.002)
    assert len(set(ids)) == 20 and ids == sorted(ids)


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8",
                                          "application/json;charset=UTF-8", "Application/JSON"])
def test_json_is_accepted_with_and_without_charset(server, receiver, topic, content_type):
    server.request("POST", "/jobs", json.dumps({"topic": topic, "url": receiver.url(), "delay": 60}),
                   {"Content-Type": content_type}).expect(201)


def test_jobs_arrive_on_time_and_never_early(server, receiver, topic):
    due = {}
    for i in range(150):
        answer = server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), delay=1 + i * 0.01)
        due[f"j{i}"] = to_ms(answer["dueAt"])
    until(lambda: receiver.count(topic) == 150, 10, lambda: f"{receiver.count(topic)} of 150 deliveries")
    late = [arrival.at_ms - due[arrival.job_id] for arrival in receiver.of(topic)]
    assert min(late) >= 0, f"{-min(late)} ms early"
    assert max(late) < 500 * SLOW, f"{max(late)} ms late"


def test_due_at_is_kept_to_the_millisecond(server, receiver, topic):
    at = int(time.time() * 1000) + 1234
    assert to_ms(server.schedule(topic=topic, jobId="a", url=receiver.url(), dueAt=from_ms(at))["dueAt"]) == at
    until(lambda: receiver.count(topic), 5, "delivery")
    assert 0 <= receiver.of(topic)[0].at_ms - at < 500 * SLOW


def test_due_at_takes_any_offset(server, receiver, topic):
    answer = server.schedule(topic=topic, url=receiver.url(), dueAt="2030-01-01T05:30:00.25+05:30")
    assert answer["dueAt"] == "2030-01-01T00:00:00.250Z"


def test_due_at_in_the_past_is_now(server, receiver, topic):
    before = time.time() * 1000
    answer = server.schedule(topic=topic, url=receiver.url(), dueAt="2001-01-01T00:00:00Z")
    assert to_ms(answer["dueAt"]) >= before - 1000
    until(lambda: receiver.count(topic), 1, "delivery")


def test_delay_counts_from_the_schedule_script_in_milliseconds_rounded_up(server, receiver, topic):
    for delay, ms in ((60.0001, 60001), (60.001, 60001), ("6e1", 60000), ("60.0000", 60000)):
        before = int(time.time() * 1000)
        text = f'{{"topic":"{topic}","url":"{receiver.url()}","delay":{delay}}}'
        due = to_ms(server.post(text).expect(201)["dueAt"])
        after = int(time.time() * 1000) + 1
        assert before + ms <= due <= after + ms + 1


def test_the_same_job_again_is_answered_the_same(server, receiver, topic):
    first = server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60, "body": {"n": 1}})
    again = server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60, "body": {"n": 1}})
    assert (first.status, again.status) == (201, 200)
    assert again.json == first.json
    assert again.headers["Location"] == first.headers["Location"]


def test_same_means_numbers_by_value_and_headers_in_any_order(server, receiver, topic):
    head = f'{{"topic":"{topic}","jobId":"a","url":"{receiver.url()}",'
    server.post(head + '"delay":60,"retrySchedule":[1,2.5],"timeout":5,"headers":{"A":"1","B":"2"}}').expect(201)
    server.post(head + '"timeout":5.000,"headers":{"B":"2","A":"1"},"retrySchedule":[1.0,25e-1],"delay":6e1}').expect(200)


@pytest.mark.parametrize("name, change", [
    ("body as spelt", {"body": '{"n":1.0}'}), ("body white space", {"body": '{"n": 1}'}), ("no body", {"body": None}),
    ("delay", {"delay": "61"}), ("no delay", {"delay": None}), ("retry", {"retry": "3"}), ("no retry", {"retry": None}),
    ("schedule", {"retrySchedule": "[1]"}), ("timeout", {"timeout": "6"}), ("no timeout", {"timeout": None}),
    ("header value", {"headers": '{"A":"2"}'}), ("no headers", {"headers": None}),
    ("url", {"url": '"http://127.0.0.1:9/other"'}),
])
def test_another_job_under_the_id_is_a_conflict(server, receiver, topic, name, change):
    job = {"topic": f'"{topic}"', "jobId": '"a"', "url": f'"{receiver.url()}"', "delay": "60", "body": '{"n":1}',
           "retry": "2", "retrySchedule": "[1,2]", "timeout": "5", "headers": '{"A":"1"}'}

    def spell(members):
        return "{" + ",".join(f'"{key}":{value}' for key, value in members.items() if value is not None) + "}"
    first = server.post(spell(job)).expect(201)
    problem = server.post(spell({**job, **change})).expect(409)
    assert problem["state"] == "delayed" and problem["dueAt"] == first["dueAt"], name
    server.post(spell(job)).expect(200)


def test_an_id_is_free_again_after_delivery(server, receiver, topic):
    for round_number in (1, 2):
        server.schedule(topic=topic, jobId="a", url=receiver.url(), body=round_number)
        server.wait_for_state(topic, "a", None)
    assert [a.body for a in receiver.of(topic)] == [b"1", b"2"]


def test_a_dead_job_does_not_hold_its_id(server, receiver, topic):
    """After the death of a job, a POST with its id creates a new job, which is delivered. It does not matter whether
    the POST is the same as for the dead job. The dead job stays listed."""
    for job_id, again in ("same", {}), ("other", {"body": 1}):
        receiver.script(topic, 410, 200, job_id=job_id)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
        server.wait_for_state(topic, job_id, "dead")
        assert server.post({"topic": topic, "jobId": job_id, "url": receiver.url(), **again}).expect(201)["state"] == "delayed"
        until(lambda: len(receiver.of(topic, job_id)) == 2, 5, "the new job's attempt")
        assert server.wait_for_state(topic, job_id, "dead")["attempts"] == 1
    dead = server.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"]
    assert [job["jobId"] for job in dead] == ["same", "other"]


def test_the_same_id_in_two_topics_names_two_jobs(server, receiver, topic):
    for name in (topic, topic + "x"):
        server.schedule(topic=name, jobId="a", url=receiver.url(), delay=60)
    server.cancel(topic, "a").expect(200)
    assert server.job(topic + "x", "a")


def test_no_more_jobs_than_max_jobs(start, receiver, topic):
    server = start("--max-jobs", "3")
    for i in range(3):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=60)
    assert server.post({"topic": topic, "jobId": "3", "url": receiver.url(), "delay": 60}).status == 507
    server.post({"topic": topic, "jobId": "2", "url": receiver.url(), "delay": 60}).expect(200)
    server.cancel(topic, "1").expect(200)
    server.schedule(topic=topic, jobId="3", url=receiver.url(), delay=60)
