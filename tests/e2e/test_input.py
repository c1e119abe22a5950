"""Input in forms that clients commonly use: null, durations, ids with any characters, a slash at the end, and misspelt
names."""

import json
import re
import urllib.parse

import pytest

import contract
from patience import until
from receiver import Answer

JSON = {"Content-Type": "application/json"}


def test_null_is_absent(server, receiver, topic):
    absent = {name: None for name in ("jobId", "delay", "dueAt", "ttl", "expiresAt", "retry", "retrySchedule", "timeout", "headers")}
    made = server.schedule(topic=topic, url=receiver.url(), body={"a": None}, **absent)
    assert len(made["jobId"]) == 26
    until(lambda: receiver.count(topic) == 1, 10, "delivered")
    assert json.loads(receiver.of(topic)[0].body) == {"a": None}
    server.request("PUT", f"/jobs/{topic}/put", json.dumps({"url": receiver.url(), "delay": 60, "headers": {"X-A": None, "X-B": "b"}, "ttl": None}), JSON)
    assert server.job(topic, "put")["headers"].keys() == {"X-B"}
    server.request("PUT", f"/topics/{topic}", json.dumps({"paused": None, "rate": {"jobs": 1, "per": 1, "burst": None}}), JSON).expect(200)
    settings = server.get(f"/topics/{topic}").expect(200)["settings"]
    assert settings == {"rate": {"jobs": 1, "per": 1, "burst": 1}} or settings["rate"]["jobs"] == 1 and "paused" not in settings


def test_a_job_with_nulls_is_the_same_job(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "delay": "1h", "ttl": None, "headers": None}).expect(200)


def test_durations_are_accepted_in_place_of_seconds(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="15m", ttl="1h30m", timeout="2m", retrySchedule=["10s", "1h", 5])
    job = server.job(topic, "a")
    assert (job["delay"], job["timeout"], job["retrySchedule"]) == (900, 120, [10, 3600, 5])
    kind = {"Content-Type": "application/merge-patch+json"}
    assert server.request("PATCH", f"/jobs/{topic}/a", json.dumps({"delay": "20m"}), kind).expect(200)["delay"] == 1200
    settings = {"timeout": "1m", "retention": "1d", "retrySchedule": ["1m"], "rate": {"jobs": 10, "per": "1m"}}
    assert server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)["settings"]["retention"] == 86400
    settings = server.request("PATCH", f"/topics/{topic}", json.dumps({"retention": "1h"}), kind).expect(200)["settings"]
    assert settings["retention"] == 3600 and settings["rate"]["per"] == 60
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic) == 1, 10, "delivered")
    assert server.wait_for_state(topic, "a", "delivered")["state"] == "delivered"  # the job is kept after its end, so the scripts have read the retention as well
    for wrong in ("15", "m", "1h-3m", "", "1w", "15 m"):
        assert server.post({"topic": topic, "url": receiver.url(), "delay": wrong}).fields() == ["delay"]


def test_an_unknown_field_says_which_one_was_meant(server, receiver, topic):
    reply = server.post({"topic": topic, "url": receiver.url(), "job_id": "a", "retrys": 1, "colour": "red"})
    assert [(error["field"], error["detail"]) for error in reply.expect(400)["errors"]] == [
        ("job_id", "unknown field; did you mean jobId?"), ("retrys", "unknown field; did you mean retry?"), ("colour", "unknown field")]
    reply = server.post({"topic": topic, "url": receiver.url(), "payload": {}, "runAt": "2030-01-01T00:00:00Z", "status": "x"})
    assert [(error["field"], error["detail"]) for error in reply.expect(400)["errors"]] == [  # words of other systems
        ("payload", "unknown field; did you mean body?"), ("runAt", "unknown field; did you mean dueAt?"), ("status", "unknown field")]
    assert server.get("/jobs?status=dead").expect(400)["errors"][0]["detail"] == "unknown query parameter; did you mean state?"
    reply = server.request("PUT", f"/topics/{topic}", json.dumps({"max_in_flight": 1, "rate": {"job": 1, "per": 1}}), JSON)
    assert [(error["field"], error["detail"]) for error in reply.expect(400)["errors"]] == [
        ("rate.job", "unknown setting; did you mean jobs?"), ("max_in_flight", "unknown setting; did you mean maxInFlight?")]
    reply = server.get(f"/jobs?state=dead&url_host=a&due_befor=b&x=1")
    assert [error["detail"] for error in reply.expect(400)["errors"]] == [
        "unknown query parameter; did you mean urlHost?", "unknown query parameter; did you mean dueBefore?", "unknown query parameter"]


@pytest.mark.parametrize("path, text, said", [
    ("/schedules/a/b", {"every": 60, "job": {"dely": 1, "URL": "http://a/"}, "start_at": "x"}, {"start_at": "startAt", "job.dely": "delay", "job.URL": "url"}),
    ("/schedules/a/b", {"evry": 60, "time_zone": "UTC", "job": {"url": "http://a/"}}, {"evry": "every", "time_zone": "timezone"}),
    ("/groups/a", {"endpoint": {}}, {"endpoint": "endpoints"}),
    ("/groups/a", {"endpoints": {"n": {"uri": "http://a/", "header": {}}}}, {"endpoints.n.uri": "url", "endpoints.n.header": "headers"}),
    ("/topics/a", {"maxinflight": 1, "retry_schedule": [1], "onDaed": None}, {"maxinflight": "maxInFlight", "retry_schedule": "retrySchedule", "onDaed": "onDead"}),
    ("/topics/a", {"onDead": {"url": "http://a/", "include_body": True}}, {"onDead.include_body": "includeBody"}),
    ("/jobs/a/b", {"dely": 1, "URL": "http://a/", "duedate": 1}, {"dely": "delay", "URL": "url", "duedate": None}),
], ids=str)
def test_an_unknown_member_of_any_resource_names_the_closest(server, path, text, said):
    errors = server.request("PUT", path, json.dumps(text), JSON).expect(400)["errors"]
    found = {error["field"]: error["detail"].partition("; did you mean ")[2].rstrip("?") for error in errors if error["detail"].startswith("unknown ")}
    assert found == {field: right or "" for field, right in said.items()}


def test_a_misspelt_path_names_the_closest(server):
    for path, right in (("/job", "/jobs"), ("/job/a/b?x=1", "/jobs"), ("/Jobs", "/jobs"), ("/schedule/a/b", "/schedules"), ("/topic/a", "/topics"),
                        ("/recievers", "/receivers"), ("/health", "/healthz"), ("/metric", "/metrics"), ("/group/a", "/groups")):
        assert server.get(path).expect(404)["detail"] == f"There is nothing at this path; did you mean {right}?"
    for path in "/jobs/a", "/jobs/a/b/wy", "/x", "/nope/a", "/a" * 200, "/%6aob", "/" + "j" * 900:
        assert server.request("GET", path, check=False).expect(404)["detail"] == "There is nothing at this path."


def test_a_body_that_is_no_json_says_what_is_missing(server):
    body, form = '{"topic":"a"}', {"Content-Type": "application/x-www-form-urlencoded"}  # the Content-Type that curl -d sends
    assert server.request("POST", "/jobs", body, form).expect(415)["detail"] == (
        "Content-Type must be application/json or application/x-ndjson, not application/x-www-form-urlencoded.")
    assert server.request("POST", "/jobs", body).expect(415)["detail"] == "Content-Type is missing; it must be application/json or application/x-ndjson."
    assert server.request("PUT", "/topics/a", body, {"Content-Type": "x" * 1000}).expect(415)["detail"] == f"Content-Type must be application/json, not {'x' * 64}."
    for method, path in ("POST", "/jobs"), ("PUT", "/jobs/a/b"), ("PUT", "/topics/a"), ("PUT", "/schedules/a/b"), ("PUT", "/groups/a"):
        assert server.request(method, path, "", JSON).expect(400)["errors"] == [{"field": "", "detail": "is empty: a JSON object is required"}]


def parameters():
    """Returns (method, path, name) for each query parameter of the contract."""
    for path, item in contract.document["paths"].items():
        for method, operation in item.items():
            for parameter in operation.get("parameters", []) if method in ("get", "post", "delete") else ():
                parameter = contract.document["components"]["parameters"][parameter["$ref"].rsplit("/")[-1]] if "$ref" in parameter else parameter
                if parameter["in"] == "query":
                    yield method.upper(), re.sub(r"{\w+}", "a", path), parameter["name"]


@pytest.mark.parametrize("method, path, name", list(parameters()), ids=str)
def test_an_empty_parameter_is_named(server, method, path, name):
    empty = [] if name == "key" and method == "GET" else [f"{name}=", name]  # lists and counts of jobs without a key
    for query in *empty, f"{name}=%00":
        job = ("{}", JSON) if (method, path) in (("POST", "/jobs"), ("POST", "/import"), ("POST", "/schedules/a/a/preview")) else ()
        reply = server.request(method, f"{path}?{query}", *job, check=False)
        if reply.status == 404 and method == "POST":
            continue  # these operations look up the job before they check the query
        assert name in reply.fields(), query


def test_a_slash_at_the_end_of_a_path_is_taken(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    job = {"topic": topic, "jobId": "b", "url": receiver.url(), "delay": 60}
    server.request("POST", "/jobs/", json.dumps(job), JSON, check=False).expect(201)
    for path in (f"/jobs/{topic}/a/", f"/jobs/{topic}/a/why/", f"/topics/{topic}/", "/topics/?limit=1", "/healthz/", f"/jobs/?state=delayed&topic={topic}"):
        server.request("GET", path, check=False).expect(200)
    server.request("GET", "/jobs//", check=False).expect(404)
    server.request("GET", f"/jobs/{topic}/", check=False).expect(404)


WIDE = ["été", "日本語", "a b", " a ", 'say "hi"', "back\\slash", "a/b/c", "/", "50%", "%2F", "a?b#c&d=e", "🎉", "x" * 255, "é" * 127, "{}", "a\u00a0b",
        "a@b:c", "+"]


@pytest.mark.parametrize("job_id", WIDE, ids=range(len(WIDE)))
def test_a_job_may_have_any_name(server, receiver, topic, job_id):
    """Uses ids with special characters in each operation on one job, in lists, and in the request to the receiver."""
    path = f"/jobs/{topic}/{urllib.parse.quote(job_id, safe='')}"
    reply = server.post({"topic": topic, "jobId": job_id, "url": receiver.url(), "delay": 3600, "retry": 0})
    assert reply.expect(201)["jobId"] == job_id
    assert urllib.parse.unquote(reply.headers["Location"]) == f"jobs/{topic}/{job_id}"
    assert server.get("/" + reply.headers["Location"]).expect(200)["jobId"] == job_id
    assert server.get(path + "/why").expect(200)
    server.request("PUT", path, json.dumps({"url": receiver.url(), "delay": 1800, "retry": 0}), JSON).expect(200)
    kind = {"Content-Type": "application/merge-patch+json"}
    assert server.request("PATCH", path, json.dumps({"delay": 900}), kind).expect(200)["jobId"] == job_id
    server.schedule(topic=topic, jobId="zzz", url=receiver.url(), delay=3600)
    page = server.get(f"/jobs?state=delayed&topic={topic}&limit=1").expect(200)
    assert [job["jobId"] for job in page["jobs"]] == [job_id]
    page = server.get(f"/jobs?state=delayed&topic={topic}&cursor={page['cursor']}").expect(200)
    assert [job["jobId"] for job in page["jobs"]] == ["zzz"]
    receiver.script(topic, 500, 200)
    server.request("POST", path + "/run").expect(202)
    until(lambda: server.get(path).expect(200)["state"] == "dead", 10, "dead")
    assert urllib.parse.unquote(receiver.of(topic)[0].job_id) == job_id
    assert server.get(path + "/attempts").expect(200)["attempts"][0]["status"] == 500
    assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true").expect(200)["done"] == 1
    until(lambda: receiver.count(topic) == 2 and server.get(path).status == 404, 10, "delivered")
    server.request("PUT", path, json.dumps({"url": receiver.url(), "delay": 1800}), JSON).expect(201)
    server.request("DELETE", path).expect(200)
    server.get(path).expect(404)


def test_names_that_no_job_may_have(server, receiver, topic):
    for wrong in ("", ".", "..", "a\nb", "\u0000", "\u007f", "\u0085", "x" * 256, "é" * 128):
        assert server.post({"topic": topic, "jobId": wrong, "url": receiver.url()}).fields() == ["jobId"]
    for path in ("%00", "%0a", "%ff", "%c3", "%2e%2e", "%ed%a0%80", "%", "%2"):
        server.request("GET", f"/jobs/{topic}/{path}", check=False).expect(404)
    server.request("GET", f"/jobs/a%2Fb/c", check=False).expect(404)


def test_a_leased_job_with_a_wide_name_is_listed(start, receiver, topic):
    server = start()
    receiver.script(topic, Answer(200, delay=20))
    ids = sorted(["a b", "é", "x\u2028y", "a/b", "日本"], key=str.encode)
    server.schedule_many([{"topic": topic, "jobId": job_id, "url": receiver.url()} for job_id in ids])
    until(lambda: server.get("/jobs/count?state=leased").expect(200)["count"] == 5, 10, "leased")
    found, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/jobs?state=leased&limit=2{cursor}").expect(200)
        found += [job["jobId"] for job in page["jobs"]]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    assert found == ids


def test_a_notice_of_a_job_with_a_wide_name_is_json(start, receiver, topic):
    server = start("--breaker", "off")
    server.request("PUT", f"/topics/{topic}", json.dumps({"onDead": receiver.url("/dead")}), JSON).expect(200)
    receiver.script(topic, 410)
    server.schedule(topic=topic, jobId='a "b" \\ é', url=receiver.url())
    notice, = until(lambda: receiver.of(f"{topic}~callbacks"), 10, "the notice")
    assert json.loads(notice.body)["jobId"] == 'a "b" \\ é'


def test_settings_of_a_topic_that_has_no_job_yet_are_fine(server, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"paused": True}), JSON).expect(200)
    assert server.get(f"/topics/{topic}").expect(200)["settings"] == {"paused": True}
