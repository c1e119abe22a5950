"""Settings by pattern: which topics get which settings, for deliveries and limits, in all processes."""

import json

import pytest

from cluster import Cluster, slot_of, topic_in
from patience import SLOW, until, watch
from receiver import Answer
from timestamp import to_ms
from tokens import TokenFile

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}


def put(server, name, **settings):
    return server.request("PUT", f"/topics/{name}", json.dumps(settings), JSON)


def patch(server, name, settings):
    return server.request("PATCH", f"/topics/{name}", json.dumps(settings), MERGE)


def delete(server, name):
    return server.request("DELETE", f"/topics/{name}")


def told(server, topic):
    answer = server.get(f"/topics/{topic}").expect(200)
    return answer["settings"], {name: origin for name, origin in answer["from"].items() if origin != "default"}


@pytest.fixture
def own(start):
    """Starts a server for this test only, because patterns would apply to the topics of other tests."""
    return start("--reactors", "2")


# ---- which settings ----

def test_each_setting_comes_from_the_topic_or_its_longest_pattern(own, topic):
    put(own, "*", retention=60, timeout=5, maxInFlight=9).expect(200)
    put(own, f"{topic}-*", timeout=7, rate={"jobs": 5, "per": 1}).expect(200)
    put(own, f"{topic}-eu-*", maxInFlight=3).expect(200)
    put(own, f"{topic}-eu-1", rate={"jobs": 1, "per": 60}, breaker=False).expect(200)
    rate = {"jobs": 5, "per": 1, "burst": 1}
    assert told(own, topic) == ({"retention": 60, "timeout": 5, "maxInFlight": 9}, dict.fromkeys(("retention", "timeout", "maxInFlight"), "*"))
    assert told(own, f"{topic}-us") == ({"retention": 60, "timeout": 7, "maxInFlight": 9, "rate": rate},
                                        {"retention": "*", "maxInFlight": "*", "timeout": f"{topic}-*", "rate": f"{topic}-*"})
    settings, origins = told(own, f"{topic}-eu-1")
    assert settings == {"retention": 60, "timeout": 7, "maxInFlight": 3, "rate": {"jobs": 1, "per": 60, "burst": 1}, "breaker": False}
    assert origins == {"retention": "*", "timeout": f"{topic}-*", "maxInFlight": f"{topic}-eu-*", "rate": "topic", "breaker": "topic"}
    page = {entry["topic"]: entry for entry in own.get("/topics").expect(200)["topics"]}
    assert page[f"{topic}-eu-1"]["settings"] == settings and page[f"{topic}-eu-1"]["from"]["timeout"] == f"{topic}-*"
    # The shortest pattern, *, is changed, and the next longer one is removed. The other patterns inherit the new
    # settings.
    patch(own, "*", {"retention": 90, "timeout": None}).expect(200)
    delete(own, f"{topic}-*").expect(200)
    assert told(own, f"{topic}-eu-2") == ({"retention": 90, "maxInFlight": 3}, {"retention": "*", "maxInFlight": f"{topic}-eu-*"})
    assert told(own, f"{topic}-us") == ({"retention": 90, "maxInFlight": 9}, {"retention": "*", "maxInFlight": "*"})


def test_patterns_are_read_listed_and_removed(own, topic):
    assert own.get("/topics?patterns=true").expect(200) == {"patterns": []}
    put(own, "*", timeout=5).expect(200)
    assert put(own, f"{topic}-*", maxInFlight=2, headers={"X-Key": "secret"}).expect(200) == \
        {"topic": f"{topic}-*", "settings": {"maxInFlight": 2, "headers": {"X-Key": "***"}}}
    patterns = own.get("/topics?patterns=true").expect(200)["patterns"]
    assert {entry["topic"]: entry["settings"] for entry in patterns} == \
        {"*": {"timeout": 5}, f"{topic}-*": {"maxInFlight": 2, "headers": {"X-Key": "***"}}}
    assert own.get(f"/topics/{topic}-*").expect(200) == {"topic": f"{topic}-*", "settings": {"maxInFlight": 2, "headers": {"X-Key": "***"}}}
    assert own.get("/topics").expect(200)["topics"] == []
    assert patch(own, f"{topic}-*", {"headers": None}).expect(200)["settings"] == {"maxInFlight": 2}
    delete(own, f"{topic}-*").expect(200)
    assert own.get(f"/topics/{topic}-*").expect(200) == {"topic": f"{topic}-*", "settings": {}}
    assert [entry["topic"] for entry in own.get("/topics?patterns=true").expect(200)["patterns"]] == ["*"]


@pytest.mark.parametrize("name", ["a*b", "*a", "a**", "a~*", "a%20*"])
def test_other_texts_are_no_patterns(server, name):
    assert put(server, name, timeout=5).status in (400, 404)


def test_bad_settings_of_a_pattern_change_nothing(own, topic):
    assert put(own, f"{topic}-*", paused=1, maxInFlight=0).fields() == ["paused", "maxInFlight"]
    assert own.get("/topics?patterns=yes").fields() == ["patterns"]
    assert own.get("/topics?patterns=true").expect(200) == {"patterns": []}


def test_there_are_at_most_100_patterns(own, topic):
    for number in range(100):
        put(own, f"{topic}{number}-*", timeout=5).expect(200)
    assert "100 patterns" in put(own, f"{topic}-*", timeout=5).body.decode()
    put(own, f"{topic}7-*", timeout=6).expect(200)
    delete(own, f"{topic}8-*").expect(200)
    put(own, f"{topic}-*", timeout=5).expect(200)
    assert len(own.get("/topics?patterns=true").expect(200)["patterns"]) == 100


# ---- limits ----

def test_a_pause_holds_and_frees_the_topics_that_match(own, receiver, topic):
    put(own, f"{topic}-*", paused=True).expect(200)
    names = [f"{topic}-{number}" for number in range(30)]
    put(own, names[0], paused=False).expect(200)
    for name in [*names, topic]:
        own.schedule(topic=name, jobId="a", url=receiver.url())
    until(lambda: receiver.count(names[0]) and receiver.count(topic), 5, "the one that goes on, and the one that does not match")
    watch(1, lambda: not any(receiver.count(name) for name in names[1:]), "an attempt while the pattern is paused")
    state = own.get(f"/topics/{names[1]}").expect(200)
    assert state["heldBy"] == "paused" and state["from"]["paused"] == f"{topic}-*"
    assert own.get(f"/jobs/{names[1]}/a/why").expect(200)["why"] == "paused"
    delete(own, f"{topic}-*").expect(200)
    until(lambda: all(receiver.count(name) for name in names), 5, "all go on")


def test_a_change_reaches_very_many_topics_that_were_held(own, receiver, topic):
    """The change itself resumes a limited number of topics. There are more topics here; a later pass resumes the
    rest."""
    put(own, f"{topic}-*", paused=True).expect(200)
    count = 1500
    jobs = [{"topic": f"{topic}-{number}", "jobId": "a", "url": receiver.url()} for number in range(count)]
    own.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)
    patch(own, f"{topic}-*", {"paused": None}).expect(200)
    until(lambda: sum(receiver.count(f"{topic}-{number}") for number in range(count)) == count, 20 * SLOW, "all go on")


def test_processes_agree(start, redis, receiver, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    put(servers[0], f"{topic}-*", paused=True).expect(200)
    names = [f"{topic}-{number}" for number in range(20)]
    for number, name in enumerate(names):
        servers[number % 2].schedule(topic=name, jobId="a", url=receiver.url())
    assert told(servers[1], names[0]) == ({"paused": True}, {"paused": f"{topic}-*"})
    watch(1, lambda: not any(receiver.count(name) for name in names), "an attempt while the pattern is paused")
    patch(servers[1], f"{topic}-*", {"paused": None, "maxInFlight": 1}).expect(200)
    until(lambda: all(receiver.count(name) for name in names), 5, "all go on")
    assert told(servers[0], names[0]) == ({"maxInFlight": 1}, {"maxInFlight": f"{topic}-*"})


def test_a_limit_in_flight_counts_for_each_topic(own, receiver, topic):
    put(own, f"{topic}-*", maxInFlight=1, url=receiver.url()).expect(200)
    for name in ("a", "b"):
        receiver.script(f"{topic}-{name}", Answer(200, delay=0.2))
        for number in range(4):
            own.schedule(topic=f"{topic}-{name}", jobId=f"j{number}")
    until(lambda: receiver.count(f"{topic}-a") == receiver.count(f"{topic}-b") == 4, 10, "all deliveries")
    for name in ("a", "b"):
        arrivals = receiver.of(f"{topic}-{name}")
        assert all(later.at_ms >= earlier.at_ms + 190 for earlier, later in zip(arrivals, arrivals[1:]))


# ---- deliveries ----

def test_url_headers_and_secrets_of_a_pattern_are_used(own, receiver, topic):
    put(own, f"{topic}-*", url=receiver.url("/all"), headers={"X-Key": "k1"}, secrets=[SECRET], retention=60).expect(200)
    put(own, f"{topic}-own", url=receiver.url("/own")).expect(200)
    put(own, f"{topic}-away", url=receiver.url("/away").replace("127.0.0.1", "localhost")).expect(200)
    for name in ("new", "own", "away"):
        own.schedule(topic=f"{topic}-{name}", jobId="a")
    for name, path, key in ("new", "/all", "k1"), ("own", "/own", "k1"), ("away", "/away", None):
        until(lambda: receiver.count(f"{topic}-{name}"), 5, "the delivery")
        arrival = receiver.of(f"{topic}-{name}")[0]
        assert arrival.target == path and arrival.headers.get("x-key") == key
        assert arrival.headers["webhook-signature"].startswith("v1,")
        job = own.wait_for_state(f"{topic}-{name}", "a", "delivered")
        assert to_ms(job["keptUntil"]) - to_ms(job["deliveredAt"]) == 60_000
    # The answer shows *** for the header's value, which the pattern has set. After the removal of the pattern, a job
    # without a url is refused.
    assert own.job(f"{topic}-new", "a")["headers"] == {"X-Key": "***"}
    delete(own, f"{topic}-*").expect(200)
    assert own.request("POST", "/jobs", json.dumps({"topic": f"{topic}-new", "jobId": "b"}), JSON).status == 400


def test_retries_follow_the_schedule_of_a_pattern(own, receiver, topic):
    put(own, "*", retrySchedule=[0.1, 0.1]).expect(200)
    receiver.script(topic, 500)
    own.schedule(topic=topic, jobId="a", url=receiver.url())
    assert own.wait_for_state(topic, "a", "dead")["reason"] == "retries_exhausted"
    assert receiver.count(topic) == 3


def test_sibling_topics_are_not_matched(own, receiver, topic):
    put(own, f"{topic}*", onDead=receiver.url("/dead"), retrySchedule=[]).expect(200)
    put(own, topic, paused=False).expect(200)
    receiver.script(topic, 500)
    own.schedule(topic=topic, jobId="a", url=receiver.url())
    own.wait_for_state(topic, "a", "dead")
    until(lambda: receiver.count(f"{topic}~callbacks"), 5, "the notice")
    assert told(own, f"{topic}~callbacks") == ({}, {})


# ---- rights ----

def test_a_token_needs_a_right_to_all_topics_of_a_pattern(start, topic):
    tokens = TokenFile()
    shop, one = tokens.add("shop", topics=f"{topic}-*"), tokens.add("one", topics=topic)
    server = start("--tokens", str(tokens.path), token=tokens.add("root"))
    shop, one = server.with_token(shop), server.with_token(one)
    put(shop, f"{topic}-*", timeout=5).expect(200)
    put(shop, f"{topic}-eu-*", timeout=5).expect(200)
    for client, name in (shop, f"{topic}*"), (shop, "*"), (one, f"{topic}*"), (one, f"{topic}-*"):
        put(client, name, timeout=5).expect(403)
        delete(client, name).expect(403)
        client.get(f"/topics/{name}").expect(403)
    assert one.get("/topics?patterns=true").expect(200) == {"patterns": []}
    put(server, "*", timeout=5).expect(200)
    assert {entry["topic"] for entry in shop.get("/topics?patterns=true").expect(200)["patterns"]} == {f"{topic}-*", f"{topic}-eu-*"}


# ---- shards ----

@pytest.fixture(scope="module")
def cluster():
    group = Cluster()
    yield group
    group.stop()


def test_a_missing_copy_of_the_patterns_is_written_again(start, cluster, receiver, topic):
    """Each shard has a copy of the patterns. Simulates a crash while duepost writes these copies: some shards have
    the new patterns, the others have none."""
    server = start("--prefix", f"{topic}:", redis=cluster.address)
    names = [topic_in(shard, topic) for shard in range(16)]
    put(server, f"{topic}*", paused=True, url=receiver.url()).expect(200)
    for shard in range(3, 12):
        key = f"{topic}:{{{shard}}}:"
        node = cluster.owner(slot_of(shard))
        node.command("DEL", key + "patterns")
        node.command("HDEL", key + "meta", "patterns")
    until(lambda: all(told(server, name)[1] == {"paused": f"{topic}*", "url": f"{topic}*"} for name in names), 20, "all have the pattern")
    assert "event=patterns_mended" in server.log()
    for name in names:
        server.schedule(topic=name, jobId="a")
    watch(1, lambda: not any(receiver.count(name) for name in names), "an attempt while the pattern is paused")
    patch(server, f"{topic}*", {"paused": None}).expect(200)
    until(lambda: all(receiver.count(name) for name in names), 10, "all go on")
    delete(server, f"{topic}*").expect(200)
    assert server.get("/topics?patterns=true").expect(200) == {"patterns": []}
