"""Groups: a job that is sent to all endpoints of a group, or to none."""

import json
import time

import pytest

from patience import SLOW, until, watch
from receiver import HANG
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}
FAR = 3600


def put(server, name, endpoints, **headers):
    return server.request("PUT", f"/groups/{name}", json.dumps({"endpoints": endpoints}), {**JSON, **headers})


def patch(server, name, endpoints, **headers):
    return server.request("PATCH", f"/groups/{name}", json.dumps({"endpoints": endpoints}), {**JSON, **headers})


def remove(server, name, **headers):
    return server.request("DELETE", f"/groups/{name}", headers=headers)


def make(server, receiver, name, *endpoints):
    put(server, name, {endpoint: {"url": receiver.url(f"/{endpoint}")} for endpoint in endpoints}).expect(201)


def states(server, topic, job_id, group):
    """Returns the states of the jobs by endpoint, or None if there are no such jobs."""
    reply = server.get(f"/jobs/{topic}/{job_id}?group={group}")
    return None if reply.status == 404 else {job["endpoint"]: job["state"] for job in reply.expect(200)["jobs"]}


def cancel(server, topic, job_id, group):
    return server.request("DELETE", f"/jobs/{topic}/{job_id}?group={group}")


# ---- groups ----

def test_a_group_is_made_read_changed_and_removed(server, topic):
    url = "http://127.0.0.1:9/hook"
    made = put(server, topic, {"a": {"url": url + "?key=1", "headers": {"X-Key": "s", "Content-Type": "text/a"}}, "b": {"url": url}})
    shown = {"group": topic, "endpoints": {"a": {"url": url + "?***", "headers": {"X-Key": "***", "Content-Type": "text/a"}}, "b": {"url": url}}}
    assert made.expect(201) == shown
    read = server.get(f"/groups/{topic}")
    assert read.expect(200) == shown and read.headers["ETag"] == made.headers["ETag"]
    changed = patch(server, topic, {"a": {"headers": {"x-key": None}}, "b": None, "c": {"url": url, "method": "PUT"}})
    assert changed.expect(200)["endpoints"] == {"a": {"url": url + "?***", "headers": {"Content-Type": "text/a"}}, "c": {"url": url, "method": "PUT"}}
    assert changed.headers["ETag"] != made.headers["ETag"]
    assert put(server, topic, {"d": {"url": url}}).expect(200)["endpoints"] == {"d": {"url": url}}
    assert remove(server, topic).expect(200) == {"group": topic, "state": "removed"}
    server.get(f"/groups/{topic}").expect(404)
    remove(server, topic).expect(404)
    patch(server, topic, {}).expect(404)


def test_a_change_may_have_a_condition(server, topic):
    endpoints = {"a": {"url": "http://127.0.0.1:9/"}}
    put(server, topic, endpoints, **{"If-Match": "*"}).expect(412)
    tag = put(server, topic, endpoints, **{"If-None-Match": "*"}).headers["ETag"]
    put(server, topic, endpoints, **{"If-None-Match": "*"}).expect(412)
    other = patch(server, topic, {"b": endpoints["a"]}, **{"If-Match": tag})
    other.expect(200)
    for reply in (patch(server, topic, {}, **{"If-Match": tag}), remove(server, topic, **{"If-Match": tag}),
                  put(server, topic, endpoints, **{"If-Match": tag})):
        reply.expect(412)
    remove(server, topic, **{"If-Match": "nothing in quotes"}).expect(400)
    remove(server, topic, **{"If-Match": other.headers["ETag"]}).expect(200)


URL = {"url": "http://127.0.0.1:9/"}


@pytest.mark.parametrize("text,fields", [
    ({}, ["endpoints"]),
    ({"endpoints": []}, ["endpoints"]),
    ({"endpoints": {}}, ["endpoints"]),
    ({"endpoints": {str(number): URL for number in range(101)}}, ["endpoints"]),
    ({"endpoints": {"a b": URL, "c": {}, "d": 1, "e": {**URL, "headers": {"Host": "x"}}, "f": {**URL, "urls": 1}}},
     ["endpoints.a b", "endpoints.c.url", "endpoints.d", "endpoints.e.headers.Host", "endpoints.f.urls"]),
    ({"endpoints": {"a": {"url": "http://10.1.1.1/"}, "b": {"url": "ftp://b/"}}}, ["endpoints.b.url"]),
    ({"endpoints": {"a": {"url": "http://10.1.1.1/"}, "b": URL}}, ["endpoints.a.url"]),
    ({"endpoints": {"a": URL}, "name": 1}, ["name"]),
    ({"endpoints": {"a": {**URL, "method": "BREW"}}}, ["endpoints.a.method"]),
], ids=lambda value: json.dumps(value)[:40])
def test_a_wrong_group_is_refused(server, topic, text, fields):
    reply = server.request("PUT", f"/groups/{topic}", json.dumps(text), JSON)
    assert reply.fields() == fields
    server.get(f"/groups/{topic}").expect(404)
    put(server, topic, {"old": URL}).expect(201)
    if "endpoints" in text and isinstance(text["endpoints"], dict) and 0 < len(text["endpoints"]) < 101:
        assert server.request("PATCH", f"/groups/{topic}", json.dumps(text), JSON).fields()
    assert set(server.get(f"/groups/{topic}").expect(200)["endpoints"]) == {"old"}


def test_a_group_is_as_large_as_it_may_be(server, topic):
    most = {f"{number}{'x' * 61}": {**URL, "headers": {"X-Long": "v" * 2000}} for number in range(100, 200)}
    assert len(put(server, topic, most).expect(201)["endpoints"]) == 100
    assert patch(server, topic, {"one-more": URL}).fields() == ["endpoints"]
    more = {name: {**URL, "headers": {"X-Long": "v" * 3000}} for name in most}
    assert put(server, topic, more).fields() == [""]
    text = json.dumps({"endpoints": {"a": URL}}) + " " * 600_000
    assert server.request("PATCH", f"/groups/{topic}", text, JSON).fields() == [""]
    server.request("PUT", f"/groups/{topic}", " " * 2_000_000, JSON).expect(413)
    server.request("PATCH", f"/groups/{topic}", " " * 2_000_000, JSON).expect(413)
    for method in "PUT", "PATCH":
        server.request(method, f"/groups/{topic}", "{}", {"Content-Type": "text/plain"}).expect(415)


def test_wrong_queries_and_methods_of_groups_are_refused(server, topic):
    put(server, topic, {"a": URL}).expect(201)
    assert server.get(f"/groups/{topic}?x=1").fields() == ["x"]
    assert server.get("/groups?x=1").fields() == ["x"]
    assert server.request("DELETE", f"/groups/{topic}?x=1").fields() == ["x"]
    server.request("POST", f"/groups/{topic}").expect(405)
    server.request("POST", "/groups").expect(405)
    server.get("/groups/a~b").expect(404)


def test_groups_are_listed_page_by_page(start):
    server = start()
    assert server.get("/groups").expect(200) == {"groups": []}
    names = sorted(f"g-{number}" for number in range(7))
    for name in names:
        put(server, name, {"a": URL}).expect(201)
    found, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/groups?limit=3{cursor and '&cursor=' + cursor}").expect(200)
        found += [group["group"] for group in page["groups"]]
        cursor = page.get("cursor")
    assert found == names
    assert server.get("/topics").expect(200)["topics"] == []


# ---- sends ----

def test_a_job_reaches_each_endpoint_as_it_is_there(server, receiver, topic):
    put(server, topic, {"a": {"url": receiver.url("/a"), "headers": {"X-Own": "group", "X-Key": "a"}},
                        "b": {"url": receiver.url("/b")}}).expect(201)
    text = f'{{"topic":"{topic}","jobId":"j/1","group":"{topic}","body":{{"n": 1.10}},"headers":{{"x-own":"job"}}}}'
    reply = server.post(text)
    sent = reply.expect(201)
    assert reply.headers["Location"] == f"jobs/{topic}/j%2F1?group={topic}"
    assert [(job["endpoint"], job["jobId"], job["state"]) for job in sent["jobs"]] == [("a", "j/1~a", "delayed"), ("b", "j/1~b", "delayed")]
    assert (sent["jobId"], sent["topic"], sent["group"], sent["state"]) == ("j/1", topic, topic, "delayed")
    until(lambda: receiver.count(topic) == 2, 10, "both are delivered")
    first, second = sorted(receiver.of(topic), key=lambda arrival: arrival.target)
    assert (first.target, first.job_id, second.target, second.job_id) == ("/a", "j%2F1~a", "/b", "j%2F1~b")
    assert first.body == second.body == b'{"n": 1.10}'
    assert (first.headers["x-own"], first.headers["x-key"]) == ("job", "a")
    assert second.headers["x-own"] == "job" and "x-key" not in second.headers


def test_hidden_values_of_an_endpoint_stay_hidden(server, receiver, topic):
    put(server, topic, {"a": {"url": receiver.url("/a?key=1"), "headers": {"X-Key": "secret"}}}).expect(201)
    server.schedule(topic=topic, jobId="j", group=topic, delay=FAR)
    assert server.get(f"/jobs/{topic}/j/sent?group={topic}").expect(200) == server.get(f"/jobs/{topic}/j?group={topic}").expect(200)
    job = server.job(topic, "j~a")
    assert (job["url"], job["headers"]) == (receiver.url("/a?***"), {"X-Key": "***"})
    elsewhere = json.dumps({"url": "http://127.0.0.2:9/"})
    assert server.request("PATCH", f"/jobs/{topic}/j~a", elsewhere, JSON).fields() == ["headers"]


def test_all_jobs_or_none(server, receiver, topic):
    make(server, receiver, topic, "a", "b", "c")
    server.schedule(topic=topic, jobId="j~b", url=receiver.url(), delay=FAR)
    reply = server.post({"topic": topic, "jobId": "j", "group": topic, "delay": FAR})
    assert f"{topic}/j~b" in reply.expect(409)["detail"]
    assert server.job(topic, "j~a") is None and server.job(topic, "j~c") is None
    server.get(f"/jobs/{topic}/j?group={topic}").expect(404)
    server.cancel(topic, "j~b").expect(200)
    server.schedule(topic=topic, jobId="j", group=topic, delay=FAR)
    assert states(server, topic, "j", topic) == {"a": "delayed", "b": "delayed", "c": "delayed"}


def test_the_same_again_is_not_sent_twice(server, receiver, topic):
    make(server, receiver, topic, "a", "b")
    job = {"topic": topic, "jobId": "j", "group": topic, "delay": FAR, "body": 1}
    first = server.schedule(**job)
    assert server.post(job).expect(200) == first
    server.post({**job, "body": 2}).expect(409)
    # A repeated request gets the first answer even if the group has changed meanwhile, or was removed.
    patch(server, topic, {"a": None, "z": URL}).expect(200)
    assert server.post(job).expect(200) == first
    remove(server, topic).expect(200)
    assert server.post(job).expect(200) == first
    server.cancel(topic, "j~a").expect(200)
    assert server.post(job).expect(200)["jobs"][0] == {"endpoint": "a", "jobId": "j~a", "state": "ended"}
    server.cancel(topic, "j~b").expect(200)
    assert server.post(job).fields() == ["group"]


@pytest.mark.parametrize("members,field", [
    ({"group": "nowhere"}, "group"), ({"group": "a~b"}, "group"), ({"group": 1}, "group"), ({"group": ""}, "group"),
    ({"group": "x", "url": "http://127.0.0.1:9/"}, "group")], ids=str)
def test_a_wrong_send_is_refused(server, topic, members, field):
    assert server.post({"topic": topic, **members}).fields() == [field]


def test_limits_of_a_send(server, receiver, topic):
    put(server, topic, {str(number): URL for number in range(10)}).expect(201)
    large = {"topic": topic, "group": topic, "delay": FAR, "body": "x" * 500_000}
    assert "4194304" in server.post(large).expect(413)["detail"]
    assert server.post({"topic": topic, "group": topic, "jobId": "i" * 254}).fields() == ["jobId"]
    assert server.get(f"/topics/{topic}").expect(200)["jobs"]["delayed"] == 0
    server.schedule(**{**large, "body": "x" * 400_000})
    assert server.get(f"/topics/{topic}").expect(200)["jobs"]["delayed"] == 10
    headers = {f"X-{number}": "v" for number in range(50)}
    put(server, topic, {"a": {**URL, "headers": {"Y": "1"}}}).expect(200)
    assert server.post({"topic": topic, "group": topic, "headers": headers}).fields() == ["headers"]
    patch(server, topic, {"a": {"method": "GET", "headers": None}}).expect(200)
    assert server.post({"topic": topic, "group": topic, "body": 1}).fields() == ["body"]
    server.schedule(topic=topic, group=topic, delay=FAR)


def test_many_jobs_may_have_groups(server, receiver, topic):
    make(server, receiver, topic, "a", "b")
    job = {"topic": topic, "group": topic, "delay": FAR}
    jobs = [{**job, "jobId": "1"}, {"topic": topic, "url": receiver.url(), "delay": FAR}, {**job, "jobId": "1"},
            {**job, "jobId": "1", "body": 1}, {**job, "group": "none"}, {**job, "body": "x" * 1_000_000}]
    jobs += [{"topic": topic, "group": topic, "jobId": f"now-{number}"} for number in range(40)]
    results = server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)["results"]
    assert [result["status"] for result in results] == [201, 201, 200, 409, 400, 201] + 40 * [201]
    assert (results[0]["group"], results[0]["state"], "jobs" in results[0]) == (topic, "delayed", False)
    assert "1~a" in results[3]["detail"] and results[4]["errors"][0]["field"] == "group"
    assert states(server, topic, "1", topic) == {"a": "delayed", "b": "delayed"}
    until(lambda: receiver.count(topic) == 80, 10, "each endpoint has its jobs")
    put(server, topic, {str(number): {"url": receiver.url()} for number in range(10)}).expect(200)
    large = server.request("POST", "/jobs", json.dumps([{**job, "body": "x" * 500_000}, {**job, "jobId": "2"}]), JSON)
    assert [result["status"] for result in large.expect(207)["results"]] == [413, 201]


def replace(server, topic, job_id, headers=None, **job):
    return server.request("PUT", f"/jobs/{topic}/{job_id}", json.dumps({"group": topic, **job}), {**JSON, **(headers or {})})


def test_put_replaces_what_was_sent(server, receiver, topic):
    make(server, receiver, topic, "a", "b")
    reply = replace(server, topic, "j", delay=FAR, body=1)
    made = reply.expect(201)
    assert reply.headers["Location"] == f"../../jobs/{topic}/j?group={topic}" and "ETag" not in reply.headers
    assert [job["jobId"] for job in made["jobs"]] == ["j~a", "j~b"] and (made["state"], made["group"]) == ("delayed", topic)
    server.schedule(topic=topic, jobId="j~c", url=receiver.url(), delay=FAR)  # the PUT below replaces this job, like any job that waits
    patch(server, topic, {"a": None, "c": {"url": receiver.url("/c")}}).expect(200)
    again = replace(server, topic, "j", body=2).expect(200)
    assert [job["endpoint"] for job in again["jobs"]] == ["b", "c"]
    assert server.job(topic, "j~a") is None
    until(lambda: receiver.count(topic) == 2, 10, "both are delivered")
    assert sorted((arrival.job_id, arrival.body) for arrival in receiver.of(topic)) == [("j~b", b"2"), ("j~c", b"2")]
    until(lambda: states(server, topic, "j", topic) == {"b": "ended", "c": "ended"}, 10, "both are over")
    replace(server, topic, "j", delay=FAR).expect(201)


def test_put_of_a_group_takes_all_or_none(server, receiver, topic):
    make(server, receiver, topic, "a", "hangs", "z")
    receiver.script(topic, HANG, job_id="j~hangs")
    replace(server, topic, "j", timeout=60 * SLOW).expect(201)
    until(lambda: receiver.count(topic) == 3 and server.job(topic, "j~a") is None, 10, "one goes on")
    # If the group has the endpoint "hangs", a PUT of j replaces the job j~hangs during its attempt, and otherwise cancels it.
    put(server, topic, {endpoint: {"url": receiver.url()} for endpoint in ("a", "hangs")}).expect(200)
    replace(server, topic, "j", delay=FAR).expect(200)
    assert states(server, topic, "j", topic) == {"a": "delayed", "hangs": "delayed"}
    put(server, topic, {endpoint: {"url": receiver.url()} for endpoint in ("a", "z")}).expect(200)
    replace(server, topic, "j", delay=FAR).expect(200)
    assert states(server, topic, "j", topic) == {"a": "delayed", "z": "delayed"} and server.job(topic, "j~hangs") is None
    cancel(server, topic, "j", topic).expect(200)
    replace(server, topic, "k", {"If-None-Match": "*"}, delay=FAR).expect(201)
    replace(server, topic, "k", {"If-None-Match": "*"}, delay=1).expect(412)
    replace(server, topic, "k", {"If-Match": "*"}, delay=1).expect(400)
    replace(server, topic, "k", {"If-None-Match": '"0123"'}, delay=1).expect(400)
    assert states(server, topic, "k", topic) == {"a": "delayed", "z": "delayed"}
    assert replace(server, topic, "n", group="nowhere").fields() == ["group"]
    assert replace(server, topic, "i" * 254).fields() == ["jobId"]
    assert replace(server, topic, "n", url=receiver.url()).fields() == ["group"]
    assert server.get(f"/topics/{topic}").expect(200)["jobs"]["delayed"] == 2


def test_where_a_group_is_not_taken(server, receiver, topic):
    make(server, receiver, topic, "a")
    server.schedule(topic=topic, jobId="p", url=receiver.url(), delay=FAR)
    assert server.request("PATCH", f"/jobs/{topic}/p", json.dumps({"group": topic}), JSON).fields() == ["group"]


def test_a_key_holds_for_the_whole_send(server, receiver, topic):
    make(server, receiver, topic, "a", "b")
    job, key = {"topic": topic, "group": topic}, {"Idempotency-Key": topic}
    first = server.post(job, headers=key).expect(201)
    until(lambda: receiver.count(topic) == 2, 10, "both are delivered")
    until(lambda: server.job(topic, first["jobs"][0]["jobId"]) is None, 10, "the first is over")
    remove(server, topic).expect(200)
    again = server.post(job, headers=key).expect(201)
    assert (again["jobId"], again["jobs"]) == (first["jobId"], first["jobs"])
    server.post({**job, "delay": 1}, headers=key).expect(422)
    watch(0.5, lambda: receiver.count(topic) == 2, "no more deliveries")


@pytest.mark.parametrize("body,endpoints", [
    (1, {"c": {**URL, "method": "GET"}}), ("x" * 500_000, {str(number): URL for number in range(10)})], ids=["method", "size"])
def test_a_repeat_gets_its_answer_though_the_group_no_longer_fits(server, receiver, topic, body, endpoints):
    make(server, receiver, topic, "a", "b")
    job, key = {"topic": topic, "group": topic, "delay": FAR, "body": body}, {"Idempotency-Key": topic}
    first, named = server.post(job, headers=key).expect(201), server.schedule(**job, jobId="j")
    put(server, topic, endpoints).expect(200)
    again = server.post(job, headers=key).expect(201)
    assert (again["jobId"], again["jobs"]) == (first["jobId"], first["jobs"])
    assert server.post({**job, "jobId": "j"}).expect(200) == named
    server.post({**job, "delay": 1}, headers=key).expect(422)
    assert server.post(job).status in (400, 413)


def test_cancel_takes_those_that_are_left_as_they_were_sent(server, receiver, topic):
    make(server, receiver, topic, "a", "b", "hangs")
    receiver.script(topic, HANG, job_id="j~hangs")
    receiver.script(topic, 500, job_id="j~b")
    server.schedule(topic=topic, jobId="j", group=topic, timeout=60 * SLOW, retrySchedule=[FAR])
    until(lambda: states(server, topic, "j", topic) == {"a": "ended", "b": "delayed", "hangs": "leased"}, 10,
          lambda: states(server, topic, "j", topic))
    put(server, topic, {"other": URL}).expect(200)
    server.get(f"/jobs/{topic}/j?group=another").expect(404)
    cancel(server, topic, "j", "another").expect(404)
    assert cancel(server, topic, "j", topic).expect(200) == {"state": "cancelled", "cancelled": 2, "attemptInFlight": True}
    assert server.job(topic, "j~b") is None and server.job(topic, "j~hangs") is None
    cancel(server, topic, "j", topic).expect(404)
    assert server.request("DELETE", f"/jobs/{topic}/j?group=").fields() == ["group"]
    assert server.request("DELETE", f"/jobs/{topic}/j?grup=x").fields() == ["grup"]
    assert server.get(f"/jobs/{topic}/j?group=a~b").fields() == ["group"]
    server.request("DELETE", f"/jobs/{topic}/j?group={topic}", headers={"If-Match": "*"}).expect(400)
    assert f'event=group_job_cancelled who=- from=127.0.0.1 job={topic}/j outcome=done' in server.log()


def test_another_job_with_the_id_of_a_sent_job_is_not_cancelled(server, receiver, topic):
    make(server, receiver, topic, "a", "b")
    server.schedule(topic=topic, jobId="j", group=topic, delay=FAR)
    server.request("DELETE", f"/jobs/{topic}/j~a").expect(200)
    server.schedule(topic=topic, jobId="j~a", url=receiver.url("/own"), delay=FAR)
    assert states(server, topic, "j", topic) == {"a": "ended", "b": "delayed"}
    assert cancel(server, topic, "j", topic).expect(200)["cancelled"] == 1
    assert cancel(server, topic, "j", topic).status == 404
    assert server.get(f"/jobs/{topic}/j~a").expect(200)["state"] == "delayed"
    server.get(f"/jobs/{topic}/j~b").expect(404)


def test_ended_jobs_that_are_kept_are_shown_as_such(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", '{"retention":3600}', JSON).expect(200)
    make(server, receiver, topic, "a", "b", "c")
    receiver.script(topic, 410, job_id="j~b")
    receiver.script(topic, 500, job_id="j~c")
    server.schedule(topic=topic, jobId="j", group=topic, retrySchedule=[FAR])
    until(lambda: states(server, topic, "j", topic) == {"a": "delivered", "b": "dead", "c": "delayed"}, 10,
          lambda: states(server, topic, "j", topic))
    assert cancel(server, topic, "j", topic).expect(200)["cancelled"] == 2


# ---- rules for jobs that apply to jobs of groups, too ----

def test_pause_and_ttl_hold(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", '{"paused":true}', JSON).expect(200)
    make(server, receiver, topic, "a", "b")
    server.schedule(topic=topic, jobId="j", group=topic, ttl=1)
    server.schedule(topic=topic, jobId="k", group=topic)
    time.sleep(1.1)
    assert receiver.count(topic) == 0
    server.request("PUT", f"/topics/{topic}", "{}", JSON).expect(200)
    for endpoint in "a", "b":
        assert server.wait_for_state(topic, f"j~{endpoint}", "dead")["reason"] == "expired"
    until(lambda: sorted(arrival.job_id for arrival in receiver.of(topic)) == ["k~a", "k~b"], 10, "the others are delivered")


def test_a_limit_in_flight_holds(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", '{"maxInFlight":1}', JSON).expect(200)
    make(server, receiver, topic, "a", "b", "c")
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="j", group=topic, timeout=60 * SLOW)
    until(lambda: receiver.count(topic) == 1, 10, "one is in flight")
    watch(0.5, lambda: receiver.count(topic) == 1, "only one")
    assert cancel(server, topic, "j", topic).expect(200)["cancelled"] == 3


def test_the_bound_of_jobs_takes_all_or_none(start, receiver):
    server = start("--max-jobs", "5")
    make(server, receiver, "g", "a", "b", "c")
    server.schedule(topic="t", jobId="j", group="g", delay=FAR)
    server.post({"topic": "t", "jobId": "k", "group": "g", "delay": FAR}).expect(507)
    assert server.get("/topics/t").expect(200)["jobs"]["delayed"] == 3
    assert server.post({"topic": "t", "jobId": "j", "group": "g", "delay": FAR}).expect(200)["jobId"] == "j"
    server.schedule(topic="t", url=receiver.url(), delay=FAR)


def test_jobs_of_a_group_are_signed(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"secrets": ["whsec_" + "A" * 32]}), JSON).expect(200)
    make(server, receiver, topic, "a", "b")
    server.schedule(topic=topic, jobId="j", group=topic)
    until(lambda: receiver.count(topic) == 2, 10, "both are delivered")
    ids = {arrival.headers["webhook-id"] for arrival in receiver.of(topic)}
    assert len(ids) == 2 and all(arrival.headers["webhook-signature"].startswith("v1,") for arrival in receiver.of(topic))


def test_the_durability_class_holds(start, redis, topic):
    """duepost refuses all requests about groups if Redis does not provide the configured durability."""
    server = start("--durability", "fsync", redis=redis(aof=False), ready=False)
    until(lambda: "fsync" in server.get("/readyz").expect(503)["detail"], 10, "/readyz names the durability")
    for reply in (put(server, topic, {"a": URL}), remove(server, topic), server.post({"topic": topic, "group": topic}),
                  cancel(server, topic, "j", topic)):
        assert "durability" in reply.expect(503)["detail"]


def test_a_target_is_checked_again_before_each_attempt(start, receiver, data):
    """The allowed addresses may have changed since the group was created."""
    server = start(data=data)
    make(server, receiver, "g", "a")
    server.terminate()
    server = start(data=data, allow=None)
    server.schedule(topic="t", jobId="j", group="g")
    assert server.wait_for_state("t", "j~a", "dead")["reason"] == "target_refused"


def test_a_token_needs_the_right_to_the_group(start, receiver):
    tokens = TokenFile()
    root = tokens.add("root")
    tokens.add("both", topics="t-*", groups="g-*")
    tokens.add("topics-only", topics="t-*")
    tokens.add("groups-only", groups="g-*")
    server = start("--tokens", str(tokens.path), token=root)
    for name in "g-1", "h-1":
        put(server, name, {"a": URL}).expect(201)
    server.schedule(topic="t-1", jobId="j", group="h-1", delay=FAR)
    both, topics, groups = (server.with_token(tokens.texts[name]) for name in ("both", "topics-only", "groups-only"))
    both.schedule(topic="t-1", jobId="k", group="g-1", delay=FAR)
    for client, topic, group in ((both, "t-1", "h-1"), (both, "u-1", "g-1"), (topics, "t-1", "g-1"), (groups, "t-1", "h-1")):
        client.post({"topic": topic, "group": group}).expect(403)
    groups.schedule(topic="anything", group="g-1", delay=FAR)
    for client, names in ((server, ["g-1", "h-1"]), (both, ["g-1"]), (groups, ["g-1"]), (topics, [])):
        assert [group["group"] for group in client.get("/groups").expect(200)["groups"]] == names
    both.get("/groups/h-1").expect(403)
    put(both, "h-1", {"a": URL}).expect(403)
    both.get("/jobs/t-1/j?group=h-1").expect(404)
    cancel(both, "t-1", "j", "h-1").expect(404)
    both.get("/jobs/t-1/k?group=g-1").expect(200)
    cancel(both, "t-1", "k", "g-1").expect(200)
    for name in "both", "topics-only", "groups-only":
        assert remove(server.with_token(tokens.texts[name]), "h-1").status == 403


# ---- failures ----

def test_sends_survive_a_kill(start, redis, receiver, topic):
    """If a process is killed while it sends a job to a group, all jobs of this send exist, or none."""
    behind = redis()
    server = start(redis=behind)
    make(server, receiver, topic, *"abcdefgh")
    server.schedule(topic=topic, jobId="j", group=topic, delay=FAR)
    server.kill()
    server = start(redis=behind)
    assert set(states(server, topic, "j", topic).values()) == {"delayed"}
    assert server.post({"topic": topic, "jobId": "j", "group": topic, "delay": FAR}).expect(200)["jobId"] == "j"
    assert cancel(server, topic, "j", topic).expect(200)["cancelled"] == 8


def test_without_redis_nothing_changes(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    make(server, receiver, topic, "a")
    behind.freeze()
    try:
        until(lambda: server.get("/readyz").status == 503, 20, "not ready")
        for reply in (put(server, topic, {"b": URL}), patch(server, topic, {"b": URL}), remove(server, topic), server.get(f"/groups/{topic}"),
                      server.get("/groups"), server.post({"topic": topic, "group": topic}), cancel(server, topic, "j", topic),
                      server.get(f"/jobs/{topic}/j/sent?group={topic}")):
            reply.expect(503)
    finally:
        behind.thaw()
    until(lambda: server.get("/readyz").status == 200, 20, "ready again")
    assert set(server.get(f"/groups/{topic}").expect(200)["endpoints"]) == {"a"}


def test_a_group_that_cannot_be_read_is_refused_and_replaced(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    behind.command("HSET", "duepost:{0}:groups", topic, "nonsense")
    assert server.get(f"/groups/{topic}").expect(200)["endpoints"] == {}
    patch(server, topic, {"a": URL}).expect(409)
    server.post({"topic": topic, "group": topic}).expect(409)
    server.request("PUT", f"/jobs/{topic}/j", json.dumps({"group": topic}), JSON).expect(409)
    put(server, topic, {"a": URL}).expect(200)
    later = '{"endpoints":{"a":{"url":"http://127.0.0.1:9/","later":1}},"needs":["later"]}'
    behind.command("HSET", "duepost:{0}:groups", topic, later)
    patch(server, topic, {"a": URL}).expect(409)
    server.post({"topic": topic, "group": topic}).expect(409)
    behind.command("HSET", "duepost:{0}:groups", topic, later.replace('"needs":["later"]', '"more":2'))
    patch(server, topic, {"a": {"headers": {"X": "1"}}}).expect(200)
    text = behind.command("HGET", "duepost:{0}:groups", topic).split(b"\r\n")[1]
    assert json.loads(text) == {
        "endpoints": {"a": {"url": "http://127.0.0.1:9/", "headers": {"X": "1"}, "later": 1}}, "more": 2}
    server.schedule(topic=topic, group=topic, delay=FAR)


def test_a_send_is_forgotten_some_time_after_its_jobs(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    make(server, receiver, topic, "a", "b")
    server.schedule(topic=topic, jobId="short", group=topic)
    server.schedule(topic=topic, jobId="long", group=topic, delay=FAR)
    until(lambda: receiver.count(topic) == 2, 10, "both are delivered")
    until(lambda: server.job(topic, "short~a") is None and server.job(topic, "short~b") is None, 10, "both are over")
    for job_id in "short", "long":  # as if the time had come at which duepost may forget these sends
        behind.command("ZADD", "duepost:{0}:sends_until", "XX", "1", f"{topic}/{job_id}")
    until(lambda: states(server, topic, "short", topic) is None, 10, "the send is forgotten")
    assert states(server, topic, "long", topic) == {"a": "delayed", "b": "delayed"}
    until(lambda: behind.command("ZCOUNT", "duepost:{0}:sends_until", "-inf", "1") == b":0\r\n", 10, "the other one is looked at later")
