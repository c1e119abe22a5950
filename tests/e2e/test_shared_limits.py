"""Limits that several topics share: /limits, and the setting "limit" of topics and patterns."""

import json
import time

import pytest

from cluster import Cluster
from patience import until
from pull import lease
from receiver import HANG, Answer
from test_in_flight import most_at_once
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}


def put(server, name, settings, **headers):
    return server.request("PUT", f"/limits/{name}", json.dumps(settings), {**JSON, **headers})


def patch(server, name, settings, **headers):
    return server.request("PATCH", f"/limits/{name}", json.dumps(settings), {"Content-Type": "application/merge-patch+json", **headers})


def remove(server, name, **headers):
    return server.request("DELETE", f"/limits/{name}", headers=headers)


def set_topic(server, topic, **settings):
    return server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON)


# ---- the limit itself ----

def test_a_limit_is_made_read_changed_and_removed(server, topic):
    server.get(f"/limits/{topic}").expect(404)
    made = put(server, topic, {"maxInFlight": 5})
    assert made.expect(201) == {"limit": topic, "settings": {"maxInFlight": 5}}
    read = server.get(f"/limits/{topic}")
    assert read.expect(200) == {"limit": topic, "settings": {"maxInFlight": 5}, "inFlight": 0, "waitingTopics": 0, "waiting": []}
    assert read.headers["ETag"] == made.headers["ETag"]
    changed = patch(server, topic, {"rate": {"jobs": 3, "per": 1}, "paused": True, "pauseReason": "the provider is down"})
    whole = {"paused": True, "pauseReason": "the provider is down", "maxInFlight": 5, "rate": {"jobs": 3, "per": 1, "burst": 1}}
    assert changed.expect(200)["settings"] == whole
    assert changed.headers["ETag"] != made.headers["ETag"]
    assert server.get(f"/limits/{topic}").expect(200)["heldBy"] == "paused"
    assert patch(server, topic, {"paused": None, "maxInFlight": None}).expect(200)["settings"] == {"rate": whole["rate"]}
    assert put(server, topic, {}).expect(200)["settings"] == {}
    assert server.get(f"/limits/{topic}").expect(200)["settings"] == {}
    assert remove(server, topic).expect(200) == {"limit": topic, "state": "removed"}
    assert server.get(f"/limits/{topic}").expect(404)["detail"] == f"There is no such limit. PUT /limits/{topic} makes it."
    remove(server, topic).expect(404)
    patch(server, topic, {}).expect(404)


def test_a_rate_is_merged_and_its_burst_stays(server, topic):
    put(server, topic, {"rate": {"jobs": 3, "per": "1m", "burst": 7}}).expect(201)
    assert patch(server, topic, {"rate": {"jobs": 4}}).expect(200)["settings"] == {"rate": {"jobs": 4, "per": 60, "burst": 7}}
    assert patch(server, topic, {"rate": {"window": True}}).expect(200)["settings"]["rate"]["window"] is True


def test_a_change_may_have_a_condition(server, topic):
    put(server, topic, {}, **{"If-Match": "*"}).expect(412)
    tag = put(server, topic, {"maxInFlight": 1}, **{"If-None-Match": "*"}).headers["ETag"]
    put(server, topic, {}, **{"If-None-Match": "*"}).expect(412)
    other = patch(server, topic, {"maxInFlight": 2}, **{"If-Match": tag})
    other.expect(200)
    for reply in (patch(server, topic, {}, **{"If-Match": tag}), remove(server, topic, **{"If-Match": tag}), put(server, topic, {}, **{"If-Match": tag})):
        reply.expect(412)
    remove(server, topic, **{"If-Match": "nothing in quotes"}).expect(400)
    remove(server, topic, **{"If-Match": other.headers["ETag"]}).expect(200)


@pytest.mark.parametrize("settings, fields", [
    ({"maxInFlight": 0}, ["maxInFlight"]),
    ({"maxInFlight": 1000001}, ["maxInFlight"]),
    ({"rate": {"jobs": 1}}, ["rate.per"]),
    ({"rate": 5}, ["rate"]),
    ({"paused": "yes"}, ["paused"]),
    ({"pauseReason": ""}, ["pauseReason"]),
    ({"weight": 2, "limit": "a"}, ["weight", "limit"]),
    ({"maxInflight": 2}, ["maxInflight"]),
    ([], [""]),
])
def test_settings_that_a_limit_cannot_have(server, topic, settings, fields):
    assert put(server, topic, settings).expect(400) and put(server, topic, settings).fields() == fields
    server.get(f"/limits/{topic}").expect(404)
    put(server, topic, {"maxInFlight": 3}).expect(201)
    assert patch(server, topic, settings).fields() == fields
    assert server.get(f"/limits/{topic}").expect(200)["settings"] == {"maxInFlight": 3}
    remove(server, topic).expect(200)


def test_a_name_must_be_one_of_a_topic(server):
    for name in "a~b", "a*", "..", "a/b", "%20", "a" * 129:
        put(server, name, {}).expect(404)
    put(server, "a" * 128, {}).expect(201)
    remove(server, "a" * 128).expect(200)


def test_bodies_that_are_refused(server, topic):
    for method in "PUT", "PATCH":
        server.request(method, f"/limits/{topic}", "{}", {"Content-Type": "text/plain"}).expect(415)
        server.request(method, f"/limits/{topic}", "x" * (1 << 21), JSON, check=False)
    server.request("POST", f"/limits/{topic}", "{}", JSON).expect(405)
    server.request("PUT", "/limits", "{}", JSON).expect(405)
    assert server.request("GET", f"/limits/{topic}?limit=1").fields() == ["limit"]
    assert server.request("GET", "/limits?limit=0&patterns=true").fields() == ["limit", "patterns"]


def test_limits_are_listed_by_name_in_pages(start):
    server = start()
    assert server.get("/limits").expect(200) == {"limits": []}
    names = sorted([f"limit-{number}" for number in range(7)] + ["A", "z.z"])
    for name in reversed(names):
        put(server, name, {"maxInFlight": 2}).expect(201)
    found, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/limits?limit=4{cursor}").expect(200)
        assert len(page["limits"]) <= 4
        found += page["limits"]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    assert found == [{"limit": name, "settings": {"maxInFlight": 2}, "inFlight": 0, "waitingTopics": 0} for name in names]
    assert server.get("/limits?cursor=~bad").fields() == ["cursor"]


# ---- topics that name a limit ----

def test_a_limit_must_exist_before_a_topic_or_pattern_names_it(server, topic):
    for name in topic, f"{topic}-*":
        reply = set_topic(server, name, limit=f"{topic}-x")
        assert reply.expect(400)["errors"] == [{"field": "limit", "detail": f"there is no such limit; make it first: PUT /limits/{topic}-x"}]
        assert server.get(f"/topics/{name}").expect(200)["settings"] == {}
    put(server, f"{topic}-x", {}).expect(201)
    for name in topic, f"{topic}-*":
        assert set_topic(server, name, limit=f"{topic}-x").expect(200)["settings"] == {"limit": f"{topic}-x"}
    told = server.get(f"/topics/{topic}-child").expect(200)
    assert told["settings"] == {"limit": f"{topic}-x"} and told["from"]["limit"] == f"{topic}-*"
    for name in topic, f"{topic}-*":
        assert set_topic(server, name, limit=None).expect(200)["settings"] == {}


@pytest.mark.parametrize("name", ["", "a~b", "a b", "..", "a" * 129, 5, "a\u00e9"])
def test_a_setting_that_is_no_name_of_a_limit(server, topic, name):
    assert set_topic(server, topic, limit=name).fields() == ["limit"]


def test_a_limit_that_is_named_is_not_removed(server, topic):
    put(server, topic, {"maxInFlight": 1}).expect(201)
    users = [f"{topic}-{number}" for number in range(3)] + [f"{topic}-all-*"]
    for user in users:
        set_topic(server, user, limit=topic).expect(200)
    assert sorted(remove(server, topic).expect(409)["users"]) == sorted(users)
    for user in users[1:]:
        server.request("DELETE", f"/topics/{user}").expect(200)
    assert remove(server, topic).expect(409)["users"] == users[:1]
    set_topic(server, users[0], limit=None).expect(200)
    remove(server, topic).expect(200)


def test_the_first_ten_names_are_told(server, topic):
    put(server, topic, {}).expect(201)
    for number in range(12):
        set_topic(server, f"{topic}.{number}", limit=topic).expect(200)
    users = remove(server, topic).expect(409)["users"]
    assert len(users) == 10 and len(set(users)) == 10 and all(user.startswith(f"{topic}.") for user in users)
    for number in range(12):
        server.request("DELETE", f"/topics/{topic}.{number}").expect(200)
    remove(server, topic).expect(200)


# ---- why a job waits ----

def why(server, topic, job_id):
    return server.get(f"/jobs/{topic}/{job_id}/why").expect(200)


def test_why_names_the_limit_and_how_many_topics_wait_before(server, receiver, topic):
    put(server, topic, {"maxInFlight": 1}).expect(201)
    names = [f"{topic}.{number}" for number in range(3)]
    for name in names:
        set_topic(server, name, limit=topic).expect(200)
        receiver.script(name, HANG)
    for name in names:
        server.schedule(topic=name, jobId="a", url=receiver.url(), timeout=600)
        until(lambda: server.get(f"/jobs/{names[0]}/a").expect(200)["state"] == "leased", 10, "the first is under way")
    until(lambda: server.get(f"/limits/{topic}").expect(200)["waitingTopics"] == 2, 10, "two topics wait")
    limit = server.get(f"/limits/{topic}").expect(200)
    assert limit["inFlight"] == 1 and limit["waiting"] == names[1:] and limit["heldBy"] == "maxInFlight"
    for name, place in zip(names[1:], (" Its topic is the next one.", " 1 topic waits before its topic.")):
        assert server.get(f"/topics/{name}").expect(200)["heldBy"] == "limit"
        found = why(server, name, "a")
        assert found["why"] == "limit" and found["detail"] == (
            f"The limit {topic} of 1 attempts, which its topic shares with others, is in use.{place} "
            f"PATCH /limits/{topic} with a higher maxInFlight or rate lets more begin.")
    patch(server, topic, {"paused": True, "pauseReason": "the provider is down"}).expect(200)
    found = why(server, names[1], "a")
    assert found["why"] == "limit" and found["detail"] == (
        f"The limit {topic}, which its topic shares with others, is paused: the provider is down. "
        f"PATCH /limits/{topic} with {{\"paused\":null}} resumes it.")
    set_topic(server, names[1], paused=True).expect(200)
    assert why(server, names[1], "a")["why"] == "paused"
    set_topic(server, names[1], paused=None, order="fifo").expect(200)
    assert why(server, names[1], "a")["why"] == "limit"
    for name in names:
        server.request("DELETE", f"/topics/{name}").expect(200)
        server.cancel(name, "a")
    remove(server, topic).expect(200)


def test_why_names_a_limit_whose_rate_is_used_up(server, receiver, topic):
    put(server, topic, {"rate": {"jobs": 1, "per": 600}}).expect(201)
    for name in f"{topic}.0", f"{topic}.1":
        set_topic(server, name, limit=topic).expect(200)
        server.schedule(topic=name, jobId="a", url=receiver.url())
        until(lambda: receiver.count(f"{topic}.0") == 1, 10, "the first is delivered")
    limit = server.get(f"/limits/{topic}").expect(200)
    assert limit["heldBy"] == "rate" and limit["waiting"] == [f"{topic}.1"]
    found = why(server, f"{topic}.1", "a")
    assert found["why"] == "limit" and found["until"] == limit["heldUntil"] and "has used up its rate for now. Its topic is the next one." in found["detail"]
    assert server.get(f"/topics/{topic}.1").expect(200)["heldBy"] == "limit"
    server.cancel(f"{topic}.1", "a").expect(200)


def test_why_of_a_job_for_workers_names_the_limit(server, receiver, topic):
    put(server, topic, {"paused": True}).expect(201)
    set_topic(server, topic, limit=topic, delivery="pull").expect(200)
    server.schedule(topic=topic, jobId="a")
    assert why(server, topic, "a")["why"] == "limit"
    patch(server, topic, {"paused": None}).expect(200)
    assert why(server, topic, "a")["why"] == "waits_for_worker"
    server.cancel(topic, "a").expect(200)


# ---- rights, log, shards ----

def test_changes_are_in_the_audit_log(start, topic):
    tokens = TokenFile()
    server = start("--tokens", str(tokens.path), token=tokens.add("root"))
    put(server, "stripe", {}).expect(201)
    patch(server, "stripe", {"paused": True}).expect(200)
    remove(server, "stripe").expect(200)
    until(lambda: server.log().count("limit=stripe") == 3, 5, "three lines")
    for event in "limit_replaced", "limit_changed", "limit_removed":
        assert f"event={event} who=root from=127.0.0.1 limit=stripe outcome=done" in server.log()


@pytest.fixture(scope="module")
def cluster():
    started = Cluster()
    yield started
    started.stop()


def test_with_several_shards_limits_are_refused(start, cluster):
    server = start("--prefix", "limits:", redis=cluster.address)
    detail = "needs a Redis with one shard: the topics of a limit could be in different shards, and no script sees two shards"
    assert put(server, "stripe", {"maxInFlight": 1}).expect(400)["errors"] == [{"field": "", "detail": detail}]
    for name in "orders", "orders-*":
        assert set_topic(server, name, limit="stripe").expect(400)["errors"] == [{"field": "limit", "detail": detail}]
    assert server.get("/limits").expect(200) == {"limits": []}
    for reply in server.get("/limits/stripe"), patch(server, "stripe", {}), remove(server, "stripe"):
        reply.expect(404)


# ---- what the limit does ----

def share(server, limit, settings, topics):
    put(server, limit, settings)
    for name in topics:
        set_topic(server, name, limit=limit).expect(200)


def names(topic, number):
    return [f"{topic}.{i}" for i in range(number)]


def arrivals(receiver, topics):
    return [arrival for name in topics for arrival in receiver.of(name)]


def is_answered(receiver, topics, number):
    return sum(bool(arrival.answered_at_ms) for arrival in arrivals(receiver, topics)) >= number


def test_a_limit_is_exact_over_topics_and_processes(start, redis, receiver, topic):
    own = redis()
    first, second = start(redis=own), start(redis=own)
    topics = names(topic, 6)
    share(first, topic, {"maxInFlight": 2}, topics)
    for name in topics:
        receiver.script(name, Answer(delay=0.05))
    first.schedule_many([{"topic": name, "url": receiver.url()} for _ in range(8) for name in topics])
    until(lambda: is_answered(receiver, topics, 10), 20, "some of them")
    put(first, topic, {"maxInFlight": 3}).expect(200)
    until(lambda: is_answered(receiver, topics, 48), 30, "all of them")
    assert most_at_once(arrivals(receiver, topics)) == 3
    until(lambda: second.get(f"/limits/{topic}").expect(200)["inFlight"] == 0, 5, "no attempt in flight")


def test_a_limit_is_exact_when_processes_are_killed(start, redis, receiver, topic):
    own = redis()
    servers = [start(redis=own), start(redis=own)]
    topics = names(topic, 4)
    share(servers[0], topic, {"maxInFlight": 2}, topics)
    for name in topics:
        receiver.script(name, Answer(delay=0.1))
    servers[0].schedule_many([{"topic": name, "url": receiver.url()} for _ in range(10) for name in topics])
    for number in (4, 8):
        until(lambda: len(arrivals(receiver, topics)) >= number, 30, "some of them")
        servers[0].kill()
        servers = [servers[1], start(redis=own)]
    until(lambda: is_answered(receiver, topics, 40), 60, "all of them")
    assert most_at_once(arrivals(receiver, topics)) == 2
    until(lambda: servers[0].get(f"/limits/{topic}").expect(200)["inFlight"] == 0, 20, "no attempt in flight")


def test_a_topic_does_not_wait_for_all_jobs_of_another(server, receiver, topic):
    busy, quiet = topics = names(topic, 2)
    share(server, topic, {"maxInFlight": 1}, topics)
    receiver.script(busy, Answer(delay=0.02))
    server.schedule_many([{"topic": busy, "url": receiver.url()} for _ in range(300)])
    until(lambda: receiver.count(busy) >= 5, 10, "some of them")
    for i in range(5):
        begun = receiver.count(busy)
        server.schedule(topic=quiet, jobId=f"{i}", url=receiver.url())
        until(lambda: receiver.count(quiet) == i + 1, 10, "the single job")
        at = receiver.of(quiet)[i].at_ms
        assert sum(arrival.at_ms < at for arrival in receiver.of(busy)[begun:]) <= 3  # with those that begin before the job is stored


def test_a_paused_limit_holds_all_its_topics(server, receiver, topic):
    topics = names(topic, 20)
    share(server, topic, {"paused": True, "pauseReason": "closed"}, topics)
    server.schedule_many([{"topic": name, "jobId": "a", "url": receiver.url()} for name in topics])
    until(lambda: server.get(f"/limits/{topic}").expect(200)["waitingTopics"] == 20, 10, "all of them wait")
    told = server.get(f"/limits/{topic}").expect(200)
    assert sorted(told["waiting"]) == sorted(topics) and not arrivals(receiver, topics)
    put(server, topic, {}).expect(200)
    until(lambda: len(arrivals(receiver, topics)) == 20, 10, "all of them")


def test_topics_share_a_rate(server, receiver, topic):
    topics = names(topic, 10)
    share(server, topic, {"rate": {"jobs": 20, "per": 1}}, topics)
    server.schedule_many([{"topic": name, "url": receiver.url()} for _ in range(5) for name in topics])
    until(lambda: len(arrivals(receiver, topics)) == 50, 20, "all of them")
    times = sorted(arrival.at_ms for arrival in arrivals(receiver, topics))
    assert times[-1] - times[0] >= 49 / 20 * 1000 - 200, "they share the rate"
    assert all(receiver.count(name) == 5 for name in topics)


def test_leases_of_workers_count(server, receiver, topic):
    pushed, pulled = names(topic, 2)
    put(server, topic, {"maxInFlight": 1}).expect(201)
    set_topic(server, pushed, limit=topic).expect(200)
    set_topic(server, pulled, limit=topic, delivery="pull").expect(200)
    receiver.script(pushed, Answer(delay=1))
    server.schedule(topic=pushed, jobId="a", url=receiver.url())
    until(lambda: receiver.count(pushed) == 1, 10, "the attempt")
    server.schedule(topic=pulled, jobId="b")
    assert lease(server, pulled) == []
    assert [job["jobId"] for job in lease(server, pulled, wait=10, lease=60)] == ["b"]
    server.schedule(topic=pushed, jobId="c", url=receiver.url())
    time.sleep(0.5)
    assert receiver.count(pushed) == 1 and server.get(f"/limits/{topic}").expect(200)["inFlight"] == 1
    set_topic(server, pulled, limit=None).expect(200)  # now the lease does not count
    until(lambda: receiver.count(pushed) == 2, 10, "the job that has waited")


# ---- what is refused although the request is right ----

def test_a_limit_that_cannot_be_read_is_refused_and_replaced(start, redis, topic):
    behind = redis()
    server = start(redis=behind)
    behind.command("HSET", "duepost:{0}:limits", topic, "nonsense")
    patch(server, topic, {"maxInFlight": 1}).expect(409)
    put(server, topic, {"maxInFlight": 1}).expect(200)
    behind.command("HSET", "duepost:{0}:limits", topic, '{"later":1,"needs":["later"]}')
    patch(server, topic, {"maxInFlight": 1}).expect(409)
    assert "later" in put(server, topic, {"maxInFlight": 1}).expect(409)["detail"]


def test_a_text_that_is_too_long_is_refused(start, topic):
    server = start("--max-body", "1KiB")
    for method in ("PUT", "PATCH"):
        server.request(method, f"/limits/{topic}", " " * 1025, JSON).expect(413)


def test_without_redis_nothing_is_answered(start, topic):
    server = start("--redis", "redis://127.0.0.1:1", ready=False)
    for reply in (server.get("/limits"), server.get(f"/limits/{topic}"), put(server, topic, {}), patch(server, topic, {}), remove(server, topic)):
        reply.expect(503)
