"""Keys of a topic: the settings perKey, priorityAge and retryPriority, and /topics/<topic>/keys."""

import json
from urllib.parse import quote

import pytest

from patience import until
from pull import ask, lease, make_pull, Waiter
from receiver import HANG
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}


def set_topic(server, topic, **settings):
    return server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON)


# ---- settings of topics and patterns ----

def test_settings_for_keys_come_from_the_topic_or_a_pattern(server, topic):
    server.request("PUT", f"/topics/{topic}-*", json.dumps({"perKey": {"maxInFlight": 2, "order": "fifo"}, "priorityAge": "off"}), JSON).expect(200)
    name = f"{topic}-a"
    read = server.get(f"/topics/{name}").expect(200)
    assert read["settings"] == {"perKey": {"maxInFlight": 2, "order": "fifo"}, "priorityAge": "off"}
    assert read["from"]["perKey"] == read["from"]["priorityAge"] == f"{topic}-*" and read["from"]["retryPriority"] == "default"
    changed = set_topic(server, name, perKey={"rate": {"jobs": 3, "per": "1m"}, "weight": 7, "maxPending": 100}, priorityAge="30m", retryPriority=0)
    bounds = {"rate": {"jobs": 3, "per": 60, "burst": 1}, "maxPending": 100, "weight": 7}
    assert changed.expect(200)["settings"] == {"perKey": bounds, "priorityAge": 1800, "retryPriority": 0}  # perKey comes from one layer as a whole
    assert set_topic(server, name, perKey={"rate": {"jobs": 4}, "weight": None}).expect(200)["settings"]["perKey"] == {
        "rate": {**bounds["rate"], "jobs": 4}, "maxPending": 100}
    set_topic(server, name, perKey=None, priorityAge=None, retryPriority=None).expect(200)
    assert server.get(f"/topics/{name}").expect(200)["settings"] == read["settings"]
    server.request("DELETE", f"/topics/{topic}-*").expect(200)


@pytest.mark.parametrize("name, value", [("perKey", {"maxInFlight": 1}), ("priorityAge", "off"), ("retryPriority", 9)])
def test_a_fifo_topic_has_no_settings_for_keys(server, topic, name, value):
    refused = set_topic(server, topic, order="fifo", **{name: value}).expect(400)["errors"]
    assert refused == [{"field": name, "detail":
                        'cannot be combined with order "fifo", which delivers all jobs of the topic in one line, one at a time'}]
    set_topic(server, topic, **{name: value}).expect(200)
    assert set_topic(server, topic, order="fifo").fields() == [name]


def test_a_fifo_topic_of_a_pattern_with_settings_for_keys_is_served(server, topic):
    server.request("PUT", f"/topics/{topic}-*", json.dumps({"perKey": {"maxInFlight": 2}, "retryPriority": 9}), JSON).expect(200)
    set_topic(server, f"{topic}-a", order="fifo").expect(200)
    read = server.get(f"/topics/{topic}-a").expect(200)
    assert read["settings"] == {"perKey": {"maxInFlight": 2}, "retryPriority": 9, "order": "fifo"} and "heldBy" not in read
    server.request("DELETE", f"/topics/{topic}-*").expect(200)


@pytest.mark.parametrize("settings, fields", [
    ({"perKey": 1}, ["perKey"]), ({"perKey": {"order": "due", "maxInFlight": 0}}, ["perKey.maxInFlight", "perKey.order"]),
    ({"perKey": {"rate": {"per": 1}}}, ["perKey.rate.jobs"]), ({"perKey": {"paused": True}}, ["perKey.paused"]),
    ({"priorityAge": "on"}, ["priorityAge"]), ({"priorityAge": 0}, ["priorityAge"]), ({"retryPriority": 10}, ["retryPriority"])])
def test_faults_of_settings_for_keys(server, topic, settings, fields):
    assert sorted(set_topic(server, topic, **settings).fields()) == fields


# ---- /topics/<topic>/keys/<key> ----

def path(topic, key=None):
    return f"/topics/{topic}/keys" + ("" if key is None else f"/{quote(key, safe='')}")


def put(server, topic, key, settings, **headers):
    return server.request("PUT", path(topic, key), json.dumps(settings), {**JSON, **headers})


def patch(server, topic, key, settings, **headers):
    return server.request("PATCH", path(topic, key), json.dumps(settings), {"Content-Type": "application/merge-patch+json", **headers})


def remove(server, topic, key, **headers):
    return server.request("DELETE", path(topic, key), headers=headers)


NONE = {"waiting": 0, "inFlight": 0, "share": 0}


def test_settings_of_a_key_are_made_read_changed_and_removed(server, topic):
    read = server.get(path(topic, "acme"))
    assert read.expect(200) == {"key": "acme", "settings": {}, **NONE} and "ETag" not in read.headers
    made = put(server, topic, "acme", {"maxInFlight": 5})
    assert made.expect(200) == {"topic": topic, "key": "acme", "settings": {"maxInFlight": 5}}
    read = server.get(path(topic, "acme"))
    assert read.expect(200) == {"key": "acme", "settings": {"maxInFlight": 5}, **NONE} and read.headers["ETag"] == made.headers["ETag"]
    assert server.get(path(topic)).expect(200) == {"keys": [read.json]}
    changed = patch(server, topic, "acme", {"rate": {"jobs": 3, "per": 1}, "paused": True, "pauseReason": "unpaid", "weight": 2, "maxPending": 9})
    whole = {"paused": True, "pauseReason": "unpaid", "maxInFlight": 5, "rate": {"jobs": 3, "per": 1, "burst": 1}, "maxPending": 9, "weight": 2}
    assert changed.expect(200)["settings"] == whole and changed.headers["ETag"] != made.headers["ETag"]
    assert patch(server, topic, "acme", {"paused": None, "rate": {"jobs": 4}, "maxPending": None}).expect(200)["settings"] == {
        "maxInFlight": 5, "rate": {"jobs": 4, "per": 1, "burst": 1}, "weight": 2}
    removed = remove(server, topic, "acme")
    assert removed.expect(200) == {"topic": topic, "key": "acme", "settings": {}} and "ETag" not in removed.headers
    remove(server, topic, "acme").expect(200)
    assert server.get(path(topic)).expect(200) == {"keys": []}
    put(server, topic, "new", {}).expect(200)
    assert server.get(path(topic)).expect(200) == {"keys": []}
    assert patch(server, topic, "new", {"weight": 3}).expect(200)["settings"] == {"weight": 3}
    assert patch(server, topic, "new", {"weight": None}).expect(200)["settings"] == {}
    assert server.get(path(topic)).expect(200) == {"keys": []}


@pytest.mark.parametrize("key", ["a/b", "a b", "é€😀", "..", "a%2Fb", "*", "a" * 128, '"\\', "~x"])
def test_a_key_may_have_any_text(server, topic, key):
    put(server, topic, key, {"weight": 2}).expect(200)
    assert server.get(path(topic, key)).expect(200)["key"] == key
    assert [found["key"] for found in server.get(path(topic)).expect(200)["keys"]] == [key]
    remove(server, topic, key).expect(200)


def test_a_path_that_has_no_key(server, topic):
    for key in "a\n", "\x7f", "a" * 129, "\0":
        put(server, topic, key, {}).expect(404)
    server.request("PUT", f"/topics/{topic}/keys/%ff", "{}", JSON).expect(404)
    server.get("/topics/a*/keys").expect(404)
    server.get("/topics/a*/keys/b").expect(404)


def test_a_change_of_a_key_may_have_a_condition(server, topic):
    put(server, topic, "a", {}, **{"If-Match": "*"}).expect(412)
    tag = put(server, topic, "a", {"maxInFlight": 1}, **{"If-None-Match": "*"}).headers["ETag"]
    put(server, topic, "a", {}, **{"If-None-Match": "*"}).expect(412)
    other = patch(server, topic, "a", {"maxInFlight": 2}, **{"If-Match": tag})
    other.expect(200)
    for reply in (patch(server, topic, "a", {}, **{"If-Match": tag}), remove(server, topic, "a", **{"If-Match": tag}), put(server, topic, "a", {}, **{"If-Match": tag})):
        assert reply.expect(412)["detail"] == "The key does not meet If-Match or If-None-Match; nothing changed."
    remove(server, topic, "a", **{"If-Match": "nothing in quotes"}).expect(400)
    remove(server, topic, "a", **{"If-Match": other.headers["ETag"]}).expect(200)


@pytest.mark.parametrize("settings, fields", [
    ({"maxInFlight": 0}, ["maxInFlight"]), ({"rate": {"jobs": 1}}, ["rate.per"]), ({"rate": {"jobs": 1, "per": 1, "window": True}}, ["rate.window"]),
    ({"paused": "yes", "weight": 0}, ["paused", "weight"]), ({"pauseReason": ""}, ["pauseReason"]), ({"order": "fifo"}, ["order"]),
    ({"maxPending": -1}, ["maxPending"]), ([], [""])])
def test_settings_that_a_key_cannot_have(server, topic, settings, fields):
    for change in put, patch:
        assert change(server, topic, "a", settings).fields() == fields
    assert server.get(path(topic, "a")).expect(200)["settings"] == {}


def test_requests_for_keys_that_are_refused(server, topic):
    for method in "PUT", "PATCH":
        server.request(method, path(topic, "a"), "{}", {"Content-Type": "text/plain"}).expect(415)
        assert server.request(method, path("orders~callbacks", "a"), "{}", JSON).expect(403)["detail"].startswith("Only the server creates jobs in topics with ~")
    remove(server, "orders~callbacks", "a").expect(403)
    server.request("POST", path(topic, "a"), "{}", JSON).expect(405)
    server.request("PUT", path(topic), "{}", JSON).expect(405)
    assert server.get(path(topic, "a") + "?limit=1").fields() == ["limit"]
    assert server.get(path(topic) + "?limit=0&cursor=~bad&patterns=true").fields() == ["limit", "cursor", "patterns"]


def test_keys_are_listed_in_pages_those_with_the_most_jobs_first(server, topic):
    for number, key in enumerate(["a", "b", "c d", "é", ""]):
        for at in range(number):
            server.schedule(topic=topic, jobId=f"{number}-{at}", url="http://127.0.0.1:9/", delay=3600, **({"key": key} if key else {}))
    put(server, topic, "a", {"weight": 2}).expect(200)
    found, cursor = [], ""
    while cursor is not None:
        page = server.get(f"{path(topic)}?limit=2{cursor}").expect(200)
        assert len(page["keys"]) <= 2
        found += [(entry["key"], entry["waiting"], entry["settings"]) for entry in page["keys"]]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    assert found == [("", 4, {}), ("é", 3, {}), ("c d", 2, {}), ("b", 1, {}), ("a", 0, {"weight": 2})]
    entry = server.get(path(topic, "é")).expect(200)
    assert entry["oldestDueAt"] == server.get(f"/jobs/{topic}/3-0").expect(200)["dueAt"] and "oldestOverdueAt" not in entry and "heldBy" not in entry


def test_a_key_says_what_is_under_way_and_what_holds_it(server, receiver, topic):
    set_topic(server, topic, perKey={"maxInFlight": 1}).expect(200)
    receiver.script(topic, HANG, HANG, HANG)
    for number in range(3):
        server.schedule(topic=topic, jobId=f"a{number}", key="a", url=receiver.url(), timeout=600)
    server.schedule(topic=topic, jobId="b0", key="b", url=receiver.url(), timeout=600)
    until(lambda: receiver.count(topic) == 2, 10, "a job of each key is under way")
    entry = server.get(path(topic, "a")).expect(200)
    assert (entry["waiting"], entry["inFlight"], entry["share"], entry["heldBy"]) == (2, 1, 0.5, "maxInFlight") and "oldestOverdueAt" in entry
    assert server.get(path(topic, "b")).expect(200) == {"key": "b", "settings": {}, "waiting": 0, "inFlight": 1, "share": 0.5}
    put(server, topic, "a", {"paused": True}).expect(200)
    assert server.get(path(topic, "a")).expect(200)["heldBy"] == "paused"
    put(server, topic, "a", {"maxInFlight": 2}).expect(200)
    until(lambda: receiver.count(topic) == 3, 10, "a second job of the key is under way")
    for number in range(3):
        server.cancel(topic, f"a{number}")
    server.cancel(topic, "b0")
    remove(server, topic, "a").expect(200)


def test_settings_of_a_key_that_cannot_be_read_are_refused_and_replaced(start, redis, topic):
    behind = redis()
    server = start(redis=behind)
    behind.command("HSET", "duepost:{0}:key_settings", f"{topic}\na", "nonsense")
    patch(server, topic, "a", {"maxInFlight": 1}).expect(409)
    put(server, topic, "a", {"maxInFlight": 1}).expect(200)
    behind.command("HSET", "duepost:{0}:key_settings", f"{topic}\na", '{"later":1,"needs":["later"]}')
    patch(server, topic, "a", {"maxInFlight": 1}).expect(409)
    assert "later" in put(server, topic, "a", {"maxInFlight": 1}).expect(409)["detail"]
    remove(server, topic, "a").expect(200)


def test_settings_of_a_key_that_are_too_long_are_refused(start, topic):
    server = start("--max-body", "1KiB")
    for method in ("PUT", "PATCH"):
        server.request(method, path(topic, "a"), " " * 1025, JSON).expect(413)


def test_without_redis_nothing_is_answered_about_keys(start, topic):
    server = start("--redis", "redis://127.0.0.1:1", ready=False)
    for reply in (server.get(path(topic)), server.get(path(topic, "a")), put(server, topic, "a", {}), patch(server, topic, "a", {}), remove(server, topic, "a")):
        reply.expect(503)


def test_changes_of_keys_are_in_the_audit_log(start, topic):
    tokens = TokenFile()
    server = start("--tokens", str(tokens.path), token=tokens.add("root"))
    put(server, "orders", "acme", {}).expect(200)
    patch(server, "orders", "acme", {"paused": True}).expect(200)
    remove(server, "orders", "acme").expect(200)
    until(lambda: server.log().count("key=orders/acme") == 3, 5, "three lines")
    for event in "key_replaced", "key_changed", "key_reset":
        assert f"event={event} who=root from=127.0.0.1 key=orders/acme outcome=done" in server.log()


# ---- workers that lease jobs of one key ----

def names(jobs):
    return [job["jobId"] for job in jobs]


def test_a_worker_leases_jobs_of_one_key(server, topic):
    make_pull(server, topic)
    for key in "a", "b", "é/\"":
        for number in range(2):
            server.schedule(topic=topic, jobId=f"{key[0]}{number}", key=key)
    server.schedule(topic=topic, jobId="plain")
    found = lease(server, topic, key="é/\"", max=9)
    assert names(found) == ["é0", "é1"] and [job["key"] for job in found] == ["é/\"", "é/\""]
    assert names(lease(server, topic, key="none", max=9)) == []
    plain, = lease(server, topic, key="", max=9)
    assert plain["jobId"] == "plain" and "key" not in plain
    assert names(lease(server, topic, key="b")) == ["b0"]
    assert sorted(names(lease(server, topic, max=9))) == ["a0", "a1", "b1"]


def test_a_request_for_a_key_of_a_topic_without_keys(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="plain")
    assert names(lease(server, topic, key="a")) == [] and names(lease(server, topic, key="")) == ["plain"]


def test_a_worker_waits_for_a_job_of_its_key(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="other", key="b")
    with_key = [Waiter(server, topic, wait=30, key="a") for _ in range(2)]
    server.schedule(topic=topic, jobId="more", key="b")
    server.schedule(topic=topic, jobId="first", key="a")
    server.schedule(topic=topic, jobId="second", key="a", delay=1)
    assert sorted(names(waiter.jobs()) for waiter in with_key) == [["first"], ["second"]]  # reactors have no common order
    assert sorted(names(lease(server, topic, max=9, wait=1))) == ["more", "other"]


def test_bounds_of_a_key_hold_for_workers(server, topic):
    make_pull(server, topic, perKey={"maxInFlight": 1})
    for number in range(2):
        server.schedule(topic=topic, jobId=f"a{number}", key="a")
    first, = lease(server, topic, key="a", max=9)
    waiter = Waiter(server, topic, wait=30, key="a")
    server.request("POST", f"/topics/{topic}/complete", json.dumps({"jobId": first["jobId"], "token": first["token"]}), JSON).expect(200)
    assert names(waiter.jobs()) == ["a1"]


@pytest.mark.parametrize("key", ["a" * 129, "\n", 5, ["a"]])
def test_a_key_that_a_request_for_jobs_cannot_have(server, topic, key):
    assert ask(server, topic, key=key).fields() == ["key"]


def test_a_repeated_request_for_a_key_gets_the_same_jobs(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", key="a")
    once = {"Idempotency-Key": "one"}
    first, again = (ask(server, topic, once, key="a").expect(200)["jobs"] for _ in range(2))
    assert names(first) == ["a"] and first == again
    ask(server, topic, once, key="b").expect(422)


# ---- why a job waits ----

def why(server, topic, job_id):
    return server.get(f"/jobs/{topic}/{job_id}/why").expect(200)


def test_why_names_the_key(server, receiver, topic):
    set_topic(server, topic, perKey={"maxInFlight": 1}).expect(200)
    receiver.script(topic, HANG, HANG)
    for number in range(3):
        server.schedule(topic=topic, jobId=f"a{number}", key="a b", url=receiver.url(), timeout=600)
    until(lambda: receiver.count(topic) == 1, 10, "a job of the key is under way")
    more = " PATCH .../keys/a b with a higher maxInFlight or rate lets more begin."
    found = why(server, topic, "a1")
    assert (found["why"], found["detail"]) == ("key", f"Key a b of its topic has 1 of 1 attempts in flight.{more}")
    put(server, topic, "a b", {"maxInFlight": 2}).expect(200)
    until(lambda: receiver.count(topic) == 2, 10, "a second job is under way")
    assert why(server, topic, "a2")["detail"] == f"Key a b of its topic has 2 of 2 attempts in flight.{more}"
    put(server, topic, "a b", {"paused": True, "pauseReason": "unpaid"}).expect(200)
    found = why(server, topic, "a2")
    assert found["why"] == "key" and found["detail"] == (
        'Key a b of its topic is paused: unpaid. PATCH .../keys/a b with {"paused":null} resumes it.')
    set_topic(server, topic, paused=True).expect(200)
    assert why(server, topic, "a2")["why"] == "paused"
    set_topic(server, topic, paused=None, perKey=None, maxInFlight=2).expect(200)
    assert why(server, topic, "a2")["why"] == "max_in_flight"
    remove(server, topic, "a b").expect(200)
    found = why(server, topic, "a2")
    assert found["why"] == "max_in_flight"
    for number in range(3):
        server.cancel(topic, f"a{number}")


def test_why_names_the_rate_and_the_order_of_a_key(server, receiver, topic):
    set_topic(server, topic, perKey={"rate": {"jobs": 1, "per": 600}}).expect(200)
    for number in range(2):
        server.schedule(topic=topic, jobId=f"a{number}", key="a", url=receiver.url())
        until(lambda: receiver.count(topic) == 1, 10, "the first is delivered")
    found = why(server, topic, "a1")
    assert found["why"] == "key" and found["detail"].startswith("Key a of its topic has used up its rate for now.") and "until" in found
    assert server.get(path(topic, "a")).expect(200)["heldUntil"] == found["until"]
    set_topic(server, topic, perKey={"order": "fifo", "rate": None}).expect(200)
    until(lambda: receiver.count(topic) == 2, 10, "the second is delivered")
    receiver.script(topic, 503)
    for number in range(2):
        server.schedule(topic=topic, jobId=f"b{number}", key="b", url=receiver.url(), retrySchedule=[600])
    until(lambda: receiver.count(topic) == 3, 10, "the first of the line has failed")
    found = until(lambda: (lambda a: a["why"] == "key" and "until" in a and a)(why(server, topic, "b1")), 10, "the line waits")
    assert found["detail"] == "The jobs of key b of its topic are delivered in order, one job at a time, and the first one waits for its next attempt."
    assert server.get(path(topic, "b")).expect(200)["heldBy"] == "order"
    for number in range(2):
        server.cancel(topic, f"b{number}")


def test_why_of_a_job_for_workers_names_the_key(server, topic):
    make_pull(server, topic)
    put(server, topic, "a", {"paused": True}).expect(200)
    server.schedule(topic=topic, jobId="a", key="a")
    assert why(server, topic, "a")["why"] == "key"
    remove(server, topic, "a").expect(200)
    assert why(server, topic, "a")["why"] == "waits_for_worker"
    server.cancel(topic, "a")
