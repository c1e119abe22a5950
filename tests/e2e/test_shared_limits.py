"""Limits that several topics share: /limits, and the setting "limit" of topics and patterns."""

import json

import pytest

from cluster import Cluster
from patience import until
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
