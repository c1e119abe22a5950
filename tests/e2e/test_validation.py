"""Bad input gets a clear error and changes nothing."""

import json

import pytest

from patience import until

GOOD = {"topic": "valid", "jobId": "never", "url": "http://127.0.0.1:9/"}


def spell(**members):
    return json.dumps({**GOOD, **members})


def headers_of(count, size=1):
    return {f"X-{i}": "v" * size for i in range(count)}


FIELDS = [
    ("topic", {"topic": ""}), ("topic", {"topic": "a b"}), ("topic", {"topic": "."}), ("topic", {"topic": ".."}),
    ("topic", {"topic": "t" * 129}), ("topic", {"topic": "a/b"}), ("topic", {"topic": "a~b"}), ("topic", {"topic": "é"}),
    ("topic", {"topic": 1}), ("topic", {"topic": None}), ("topic", {"topic": "a\u0000b"}),
    ("jobId", {"jobId": ""}), ("jobId", {"jobId": "."}), ("jobId", {"jobId": ".."}), ("jobId", {"jobId": "a\nb"}),
    ("jobId", {"jobId": "../../topics/victim"}), ("jobId", {"jobId": "a/./b"}), ("jobId", {"jobId": "a/.."}),
    ("jobId", {"jobId": "i" * 256}), ("jobId", {"jobId": 7}),
    ("url", {"url": ""}), ("url", {"url": "ftp://127.0.0.1/"}), ("url", {"url": "/hook"}), ("url", {"url": "http://"}),
    ("url", {"url": "http://user@127.0.0.1:9/"}), ("url", {"url": "http://u:p@127.0.0.1:9/"}),
    ("url", {"url": "http://127.0.0.1:9/" + "a" * 2048}), ("url", {"url": "http://127.0.0.1:9/a b"}),
    ("url", {"url": "http://127.0.0.1:99999/"}), ("url", {"url": "http://127.0.0.1:9/ü"}), ("url", {"url": 1}),
    ("url", {"url": "http://127.0.0.1:9/\r\nX: y"}), ("url", {"url": None}),
    ("delay", {"delay": -1}), ("delay", {"delay": 315360001}), ("delay", {"delay": "5"}),
    ("delay", {"delay": True}), ("delay", {"delay": -0.001}),
    ("dueAt", {"dueAt": "tomorrow"}), ("dueAt", {"dueAt": "2030-01-01"}), ("dueAt", {"dueAt": "2030-01-01T00:00:00"}),
    ("dueAt", {"dueAt": "2030-02-30T00:00:00Z"}), ("dueAt", {"dueAt": "2099-01-01T00:00:00Z"}), ("dueAt", {"dueAt": 5}),
    ("ttl", {"ttl": 0}), ("ttl", {"ttl": -1}), ("ttl", {"ttl": 315360001}), ("ttl", {"ttl": "5"}),
    ("ttl", {"ttl": 60, "dueAt": "2030-01-01T00:00:00Z"}), ("expiresAt", {"expiresAt": "tomorrow"}), ("expiresAt", {"expiresAt": 5}),
    ("expiresAt", {"expiresAt": "2001-01-01T00:00:00Z"}), ("expiresAt", {"expiresAt": "2030-01-01T00:00:00Z", "ttl": 60}),
    ("retry", {"retry": -1}), ("retry", {"retry": 101}), ("retry", {"retry": 1.5}), ("retry", {"retry": "1"}),
    ("retrySchedule", {"retrySchedule": [], "retry": 1}),
    ("retrySchedule", {"retrySchedule": [1] * 101}), ("retrySchedule", {"retrySchedule": 5}),
    ("retrySchedule[0]", {"retrySchedule": [-1]}), ("retrySchedule[2]", {"retrySchedule": [1, 1, 31536001]}),
    ("retrySchedule[1]", {"retrySchedule": [1, "2"]}), ("retrySchedule[0]", {"retrySchedule": [None]}),
    ("timeout", {"timeout": 0.09}), ("timeout", {"timeout": 3601}), ("timeout", {"timeout": "1"}), ("timeout", {"timeout": 0}),
    ("headers", {"headers": headers_of(51)}), ("headers", {"headers": headers_of(5, 2000)}), ("headers", {"headers": []}),
    ("headers.X", {"headers": {"X": "a\r\nY: b"}}), ("headers.X", {"headers": {"X": "é"}}), ("headers.X", {"headers": {"X": 1}}),
    ("headers.X", {"headers": {"X": "a\u007fb"}}),
    ("url", {"url": "http://127.0.0.1:9/?***"}), ("headers.X", {"headers": {"X": "***"}}), ("headers.content-type", {"headers": {"content-type": "***"}}),
    ("headers.X Y", {"headers": {"X Y": "1"}}), ("headers.", {"headers": {"": "1"}}), ("headers.X:", {"headers": {"X:": "1"}}),
    ("colour", {"colour": "red"}), ("job_id", {"job_id": "a"}), ("Topic", {"Topic": "a"}),
]


@pytest.mark.parametrize("field, members", FIELDS, ids=lambda value: repr(value)[:40])
def test_each_error_names_its_field(server, field, members):
    assert server.post(spell(**members)).fields() == [field]
    assert server.job("valid", "never") is None


@pytest.mark.parametrize("name", ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer",
                                  "Upgrade", "Expect", "Proxy-Authorization", "Duepost-Topic", "Webhook-Id", "hOST"])
def test_headers_that_are_not_the_clients_are_refused(server, name):
    assert server.post(spell(headers={"X-Fine": "1", name: "x"})).fields() == [f"headers.{name}"]


def test_masks_of_hidden_values_are_refused(server, topic):
    """A client may read a job, edit it and send it back. Hidden values are shown as ***, and must not be delivered
    like that."""
    secret = {"url": "http://127.0.0.1:9/?key=1", "headers": {"Authorization": "Bearer secret", "Content-Type": "a/b"}}
    server.schedule(topic=topic, jobId="a", delay=3600, **secret)
    shown = server.job(topic, "a")
    edited = {"url": shown["url"], "headers": shown["headers"], "delay": 7200}
    text, kind = json.dumps(edited), {"Content-Type": "application/json"}
    replies = [server.request("PUT", f"/jobs/{topic}/a", text, kind), server.request("PATCH", f"/jobs/{topic}/a", text, kind),
               server.post({"topic": topic, **edited}), server.post([{"topic": topic, **edited}])]
    told = [reply.expect(400)["errors"] for reply in replies[:3]] + [replies[3].expect(207)["results"][0]["errors"]]
    assert told == [[{"field": "url", "detail": "must be the real url: *** stands for its query in answers only"},
                     {"field": "headers.Authorization", "detail": "must be the real value: *** stands for it in answers only"}]] * 4
    assert server.job(topic, "a") == shown


def test_missing_members_are_named(server):
    assert sorted(server.post("{}").fields()) == ["topic"]


def test_delay_and_due_at_exclude_each_other(server):
    fields = server.post(spell(delay=1, dueAt="2030-01-01T00:00:00Z")).fields()
    assert len(fields) == 1 and fields[0] in ("delay", "dueAt")


def test_all_errors_come_at_once(server):
    fields = server.post(spell(topic="a b", url="nowhere", delay=-1, retry=101, retrySchedule=[1, -2, "x"],
                               timeout=0, headers={"Host": "x"}, colour=1)).fields()
    assert sorted(fields) == ["colour", "delay", "headers.Host", "retry", "retrySchedule[1]", "retrySchedule[2]",
                              "timeout", "topic", "url"]


def deep(levels):
    """Returns a job that nests this many levels; the job itself is the first."""
    return spell(body=0).replace('"body": 0', '"body": ' + "[" * (levels - 1) + "]" * (levels - 1))


def wide(members):
    return spell(body={f"k{i}": 0 for i in range(members)})


DOCUMENTS = [
    b"", b"{", b"[]", b"1", b"null", b'"x"', spell().encode() + b"x", b"\xef\xbb\xbf" + spell().encode(),
    spell().encode() + b"\x00", spell(body="X").encode().replace(b"X", b"\xff"), spell(body="X").encode().replace(b"X", b"\xc0\x80"),
    spell(body="X").encode().replace(b"X", b"\xed\xa0\x80"), spell(body="X").encode().replace(b"X", b"\\ud800"),
    spell(body="X").encode().replace(b"X", b"\\udc00\\ud800"), spell(body="X").encode().replace(b"X", b"a\nb"),
    spell(body=0).encode().replace(b": 0", b": 01"), spell(body=0).encode().replace(b": 0", b": NaN"),
    spell(body=0).encode().replace(b": 0", b": [1,]"), spell(body=0).encode().replace(b": 0", b": 1."),
    spell(body=0).encode().replace(b": 0", b": 'x'"), spell().encode().replace(b"{", b'{"topic":"a",', 1),
    spell(body=0).encode().replace(b": 0", b': {"a":1,"\\u0061":2}'), deep(33).encode(), wide(1001).encode(),
]


@pytest.mark.parametrize("text", DOCUMENTS, ids=lambda text: repr(text[-24:]))
def test_a_body_that_is_not_a_valid_json_object_is_refused(server, text):
    server.post(text).expect(400)
    assert server.job("valid", "never") is None


@pytest.mark.parametrize("text", [deep(32), wide(1000), spell(topic="t" * 128), spell(jobId="i" * 128),
                                  spell(url="http://127.0.0.1:9/" + "a" * 2029), spell(delay=315360000), spell(retry=100),
                                  spell(retry=0), spell(retrySchedule=[]), spell(retrySchedule=[0, 31536000] * 50),
                                  spell(timeout=0.1), spell(timeout=3600), spell(headers=headers_of(50)),
                                  spell(headers={"X": "\t ~!"}), spell(headers={}), spell(body=None)],
                         ids=lambda text: repr(text[-24:]))
def test_the_bounds_themselves_are_allowed(server, text):
    job = {"topic": "valid-bounds", **json.loads(text)}
    del job["topic"]
    answer = server.post(text.replace('"topic": "valid"', '"topic": "valid-bounds"')).expect(201)
    server.cancel(answer["topic"], answer["jobId"])


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
                                     {"Content-Type": "application/json; charset=latin-1"},
                                     {"Content-Type": "application/json", "Content-Encoding": "gzip"},
                                     {"Content-Type": "application/jsonx"}], ids=repr)
def test_other_content_types_are_415(server, headers):
    server.request("POST", "/jobs", spell(), headers).expect(415)


def test_a_body_over_the_limit_is_413(server, topic):
    text = json.dumps({**GOOD, "topic": topic, "body": "x" * (1 << 20)})
    assert server.post(text).status == 413
    server.close()
    exact = json.dumps({**GOOD, "topic": topic, "delay": 60, "body": ""})
    exact = exact.replace('"body": ""', '"body": "' + "x" * ((1 << 20) - len(exact)) + '"')
    assert len(exact) == 1 << 20
    server.post(exact).expect(201)


def test_max_body_is_an_option(start, topic):
    server = start("--max-body", "1000")
    assert server.post(json.dumps({**GOOD, "body": "x" * 1000})).status == 413
    server.post(json.dumps({**GOOD, "delay": 60})).expect(201)


def test_a_chunked_body_over_the_limit_is_413(server):
    head = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    answer = server.raw(head + chunk * 17 + b"0\r\n\r\n", "POST", "/jobs", check=False)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413 ")


def test_other_routes_refuse_large_bodies_too(server):
    assert server.request("PUT", "/healthz", "x", {}).status == 405
    assert server.request("POST", "/jobs/a/b/run", "x" * 2000000, {}).status == 413


def test_checks_come_in_the_order_of_the_contract(server, topic):
    """The order is 404, 405, 415, 413, 400, 409. Each request breaks the rule for one status and the rules for all
    later ones."""
    large = "x" * ((1 << 20) + 1)
    assert server.request("PUT", "/nothing", large, {}).status == 404
    assert server.request("PUT", "/jobs", large, {"Content-Type": "text/plain"}).status == 405
    assert server.request("POST", "/jobs", large, {"Content-Type": "text/plain"}).status == 415
    assert server.request("POST", "/jobs", large, {"Content-Type": "application/json"}).status == 413
    server.schedule(topic=topic, jobId="a", url=GOOD["url"], delay=60)
    assert server.post({"topic": topic, "jobId": "a", "url": "nowhere"}).status == 400
    assert server.post({"topic": topic, "jobId": "a", "url": GOOD["url"]}).status == 409


@pytest.mark.parametrize("path, allow", [("/jobs", "GET HEAD POST DELETE"), ("/jobs/a/b", "GET HEAD PUT PATCH DELETE"),
                                         ("/jobs/a/b/run", "POST"), ("/jobs/a/b/why", "GET HEAD"), ("/jobs/count", "GET HEAD"),
                                         ("/jobs/redrive", "POST"), ("/topics", "GET HEAD"),
                                         ("/topics/a", "GET HEAD PUT PATCH DELETE"), ("/schedules", "GET HEAD"), ("/schedules/a", "GET HEAD"),
                                         ("/schedules/a/b", "GET HEAD PUT PATCH DELETE"), ("/schedules/a/b/run", "POST"),
                                         ("/workflows", "GET HEAD"), ("/workflows/a/b", "GET HEAD DELETE"), ("/healthz", "GET HEAD"), ("/readyz", "GET HEAD"),
                                         ("/metrics", "GET HEAD")])
def test_a_wrong_method_is_405_and_allow_names_the_right_ones(server, path, allow):
    for method in sorted({"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - set(allow.split())):
        reply = server.request(method, path)
        assert reply.status == 405
        assert sorted(reply.headers["Allow"].split(", ")) == sorted(allow.split())


@pytest.mark.parametrize("path", ["/job", "/jobs//", "/jobs/a", "/jobs/a/", "/jobs/a/b/", "/jobs/a/b/c",
                                  "//jobs", "/jobs/../healthz", "/healthz//", "/JOBS", "/jobs//b"])
def test_an_unknown_path_is_404(server, path):
    assert server.get(path).status == 404


@pytest.mark.parametrize("segment", ["a%00b", "a%2fb", "a%2Fb", "%ff", "%zz", "%", "a%20b", "%2e%2e", "a~b"])
def test_an_invalid_topic_in_the_path_is_404(server, segment):
    assert server.get(f"/jobs/{segment}/x").status == 404


@pytest.mark.parametrize("query, field", [
    ("?state=", "state"), ("?state=late&topic=a", "state"), ("?state=delivered", "topic"), ("?state=cancelled", "topic"), ("?order=up", "order"),
    ("?state=dead&limit=0", "limit"), ("?state=dead&limit=1001", "limit"), ("?state=dead&limit=x", "limit"),
    ("?state=dead&cursor=%00", "cursor"), ("?state=dead&cursor=nonsense", "cursor"), ("?state=dead&colour=red", "colour"),
    ("?state=dead&topic=a%20b", "topic"), ("?state=dead&state=dead", "state"),
])
def test_a_wrong_query_names_the_parameter(server, query, field):
    assert server.get("/jobs" + query).fields() == [field]


@pytest.mark.parametrize("query, detail", [
    ("label=%0a", "control character"), ("label=%zz", "percent-encoding"), ("urlHost=" + "a" * 2049, "too long"),
    ("urlHost=" + "a" * 2000 + "&idPrefix=" + "a" * 200, "too long"),
], ids=["control", "escape", "long", "together"])
def test_an_error_says_why_a_parameter_cannot_be_decoded(server, query, detail):
    assert detail in server.get("/jobs?" + query).expect(400)["errors"][0]["detail"]


@pytest.mark.parametrize("time", ["1970-01-01T00:00:00Z", "1969-07-20T20:17:40Z"])
def test_a_query_may_have_a_time_before_1970(server, topic, time):
    assert server.get(f"/jobs?topic={topic}&dueBefore={time}").expect(200)["jobs"] == []
    server.request("POST", f"/jobs/reschedule?state=delayed&topic={topic}&dueAt={time}&limit=1").expect(200)


def test_an_unknown_state_is_one_error(server, topic):
    assert server.request("POST", f"/jobs/run?state=late&topic={topic}&limit=1").fields() == ["state"]


@pytest.mark.parametrize("method, path", [("GET", "/jobs/a/b"), ("DELETE", "/jobs/a/b"), ("POST", "/jobs/a/b/run"),
                                          ("POST", "/jobs")])
def test_an_unexpected_query_is_400(server, method, path):
    body, headers = (spell(), {"Content-Type": "application/json"}) if path == "/jobs" else (None, {})
    assert server.request(method, path + "?dryRun=1", body, headers).fields() == ["dryRun"]
    assert server.job("valid", "never") is None


def test_ids_of_earlier_versions_stay_reachable(start, redis, receiver, topic):
    """Earlier versions accepted an id with a part "..". Jobs and schedules with such an id can be read, changed, run and removed. PUT is refused, because it would
    create it if it were not there."""
    behind = redis()
    server = start(redis=behind)
    keys, old, encoded = "duepost:{0}:", f"{topic}/a/../b", f"{topic}/a%2F..%2Fb"
    server.schedule(topic=topic, jobId="a/--/b", url=receiver.url(), delay=600)
    server.request("PUT", f"/schedules/{topic}/a%2F--%2Fb", json.dumps({"every": 86400, "job": {"url": receiver.url()}}), {"Content-Type": "application/json"}).expect(201)
    rename = """for i, key in ipairs(KEYS) do
        local is_hash = redis.call('TYPE', key).ok == 'hash'
        local value = redis.call(is_hash and 'HGET' or 'ZSCORE', key, ARGV[1])
        redis.call(is_hash and 'HDEL' or 'ZREM', key, ARGV[1])
        if is_hash then redis.call('HSET', key, ARGV[2], value) else redis.call('ZADD', key, value, ARGV[2]) end
    end return #KEYS"""
    names = ["jobs", f"bucket:{topic}", "schedules", "schedule_names", "fires", "fired"]
    assert behind.command("EVAL", rename, "6", *[keys + name for name in names], f"{topic}/a/--/b", old) == b":6\r\n"

    def send(method, path, body=None):
        return server.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})

    assert server.get(f"/jobs/{encoded}").expect(200)["jobId"] == "a/../b"
    assert send("PATCH", f"/jobs/{encoded}", {"delay": 1200}).expect(200)["jobId"] == "a/../b"
    assert "no part" in str(send("PUT", f"/jobs/{encoded}", {"url": receiver.url()}).expect(400))
    server.get(f"/jobs/{encoded}/why").expect(200)
    assert "a/../b" in [job["jobId"] for job in server.get(f"/jobs?topic={topic}&state=delayed").expect(200)["jobs"]]
    send("DELETE", f"/jobs/{encoded}").expect(200)
    server.get(f"/jobs/{encoded}").expect(404)

    assert server.get(f"/schedules/{encoded}").expect(200)["scheduleId"] == "a/../b"
    send("PATCH", f"/schedules/{encoded}", {"every": 43200}).expect(200)
    send("PUT", f"/schedules/{encoded}", {"every": 86400, "job": {"url": receiver.url()}}).expect(400)
    send("POST", f"/schedules/{encoded}/run").expect(202)
    until(lambda: receiver.count(topic) == 1, 10, "the job of the schedule is delivered")
    send("DELETE", f"/schedules/{encoded}").expect(200)
