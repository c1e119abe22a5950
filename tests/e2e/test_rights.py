"""A separate Redis user for duepost: the rights that its ACL must grant, and the effect of a missing right."""

import json
import re

import pytest

from duepost import ROOT, run
from patience import until

DOCUMENTED = re.search(r"^ACL SETUSER duepost on >PASSWORD (~duepost:\* &duepost:\* .*)$", (ROOT / "docs/operations.md").read_text(), re.M)[1]


def make_user(redis, *rules):
    assert redis.command("ACL", "SETUSER", "duepost", "reset", "on", ">pw", *rules) == b"+OK\r\n"


def address(redis):
    return {"DUEPOST_REDIS": f"redis://duepost:pw@{redis.place}"}


def test_the_documented_rights_are_enough(start, redis, receiver, topic):
    behind = redis(tcp=True)
    make_user(behind, *DOCUMENTED.split())
    receiver.script(topic, 500, 200)
    receiver.script(topic, 410, job_id="dead")
    for _ in range(2):
        server = start("--durability", "fsync", extra=address(behind), data=None)
        for name, more in (("a", {"retrySchedule": [0.05]}), ("dead", {}), ("far", {"delay": 60})):
            server.request("PUT", f"/jobs/{topic}/{name}", json.dumps({"url": receiver.url(), **more}),
                           {"Content-Type": "application/json"})
        server.wait_for_state(topic, "a", None)
        server.wait_for_state(topic, "dead", "dead")
        for target in "/jobs?state=dead", "/topics", "/receivers", "/metrics", f"/jobs/{topic}/far":
            server.get(target).expect(200) if target != "/metrics" else server.request("GET", target)
        server.cancel(topic, "far").expect(200)
        assert server.terminate() == 0
        assert [line for line in server.log().splitlines() if "level=error" in line or "redis_refused" in line] == []


@pytest.mark.parametrize("rules,names", [
    (["~duepost:*", "+@all"], "the channels"),
    (["~other:*", "&duepost:*", "+@all"], "the keys"),
    *((["~duepost:*", "&duepost:*", "+@all", "-" + name], name.upper().replace("|", " "))
      for name in ("publish", "zadd", "hset", "pexpire", "blpop", "wait", "time", "fcall", "function", "function|load", "info", "subscribe"))])
def test_a_lack_of_rights_stops_the_start(redis, tmp_path, rules, names):
    """One message names the missing rights, with the ACL line that grants them."""
    behind = redis(tcp=True)
    make_user(behind, *rules)
    result = run("--listen", "127.0.0.1:0", extra=address(behind))
    assert result.returncode > 0
    refusals = [line for line in result.stderr.splitlines() if "ACL SETUSER" in line]
    assert len(refusals) == 1, result.stderr
    assert "ACL SETUSER duepost " + DOCUMENTED in refusals[0]
    assert re.search(rf"rights \([^)]*{names}", refusals[0]), refusals
    assert behind.command("DBSIZE") == b":0\r\n"


def test_rights_that_are_taken_away_are_named_until_they_are_back(start, redis, topic):
    """If Redis refuses a command of duepost, nothing has changed."""
    behind = redis(tcp=True)
    make_user(behind, *DOCUMENTED.split())
    server = start(extra=address(behind), data=None)
    behind.command("ACL", "SETUSER", "duepost", "resetchannels")
    for number in range(20):
        name = str(number)
        status = server.post({"topic": topic, "jobId": name, "url": "http://127.0.0.1:9/", "delay": 600 - number}).status
        exists = behind.command("HEXISTS", "duepost:{0}:jobs", f"{topic}/{name}") == b":1\r\n"
        assert status in (201, 503) and exists == (status == 201)
    until(lambda: "the channels" in server.get("/readyz").json.get("detail", ""), 15, "/readyz names the missing right")
    assert server.get("/readyz").status == 503
    behind.command("ACL", "SETUSER", "duepost", "&duepost:*")
    until(lambda: server.get("/readyz").status == 200, 10, "ready again")


def test_a_redis_that_evicts_stops_the_start(start, redis):
    behind = redis(options=("--maxmemory-policy", "allkeys-lru"))
    result = run("--listen", "127.0.0.1:0", "--redis", behind.address)
    assert result.returncode > 0 and "allkeys-lru" in result.stderr and "maxmemory-policy noeviction" in result.stderr
    behind.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    server = start(redis=behind)
    behind.command("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
    until(lambda: "volatile-ttl" in server.get("/readyz").json.get("detail", ""), 10, "not ready")


@pytest.mark.parametrize("options,aof,event", [
    ((), False, "durability_is_memory"), ((), True, None), (("--durability", "memory"), False, None),
    (("--durability", "fsync"), True, None)])
def test_durability_memory_that_was_not_configured_is_a_warning_once(start, redis, options, aof, event):
    server = start("--reactors", "2", *options, redis=redis(aof=aof))
    server.terminate()
    told = [line for line in server.log().splitlines() if "level=warning" in line]
    assert len(told) == (1 if event else 0), told
    if event:
        assert event in told[0] and all(word in told[0] for word in ("appendonly yes", "appendfsync always", "--durability memory"))


# ---- a service without CONFIG ----

WITHOUT_CONFIG = "~duepost:*", "&duepost:*", "+@all", "-config"
TRUST = "--durability", "fsync", "--trust-durability", "on"


def without_config(redis, aof=True):
    behind = redis(tcp=True, aof=aof)
    make_user(behind, *WITHOUT_CONFIG)
    return behind, address(behind)


def trusted(server):
    return [line for line in server.log().splitlines() if "event=durability_is_trusted" in line]


@pytest.mark.parametrize("aof", [True, False])
def test_a_hidden_durability_is_trusted_on_request(start, redis, receiver, topic, aof):
    """Some Redis services have no append-only file, because they store writes in another way."""
    _, extra = without_config(redis, aof)
    refused = run("check", "--json", "--listen", "127.0.0.1:0", "--durability", "fsync", extra=extra, seconds=40)
    lines = {line["name"]: line for line in json.loads(refused.stdout)["checks"]}
    assert lines["durability"]["result"] == "FAIL" and ("--trust-durability" in lines["durability"]["text"]) == aof
    server = start(*TRUST, "--reactors", "2", extra=extra, data=None)
    assert server.get("/readyz").expect(200)["durability"] == {"configured": "fsync", "inForce": "fsync", "note": "trusted, not checked"}
    server.schedule(topic=topic, url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "delivered")
    (line,) = trusted(server)
    assert "level=warning" in line and "durability=fsync" in line and 'what="trusted, not checked"' in line
    result = json.loads(run("check", "--json", "--listen", "127.0.0.1:0", *TRUST, extra=extra, seconds=40).stdout)
    (line,) = [line for line in result["checks"] if line["name"] == "durability"]
    assert result["ok"] and line["result"] == "warn" and line["text"].startswith("fsync is trusted, not checked: ")


def test_a_setting_that_redis_shows_overrides_trust(start, redis):
    behind = redis(tcp=True)
    make_user(behind, "~duepost:*", "&duepost:*", "+@all")
    behind.command("CONFIG", "SET", "appendfsync", "everysec")
    server = start(*TRUST, extra=address(behind), data=None, ready=False)
    until(lambda: "appendfsync always" in server.get("/readyz").expect(503)["detail"], 10, "the reason")
    assert server.get("/readyz").json["durability"] == {"configured": "fsync", "inForce": "memory"}
    behind.command("CONFIG", "SET", "appendfsync", "always")
    until(lambda: server.get("/readyz").status == 200, 10, "ready")
    assert "note" not in server.get("/readyz").json["durability"] and trusted(server) == []


def test_trust_durability_does_not_replace_replicas(start, redis):
    _, extra = without_config(redis)
    server = start("--durability", "fsync+replicated:1", "--trust-durability", "on", extra=extra, data=None, ready=False)
    until(lambda: "too few replicas are online" in server.get("/readyz").expect(503)["detail"], 10, "the reason")


@pytest.mark.parametrize("options,words", [
    (("--durability", "fsync"), "needs --redis"), (("--redis", "unix:/x"), "needs --durability fsync"),
    (("--redis", "unix:/x", "--durability", "replicated:1"), "needs --durability fsync")])
def test_trust_durability_needs_a_durability_to_trust(options, words):
    result = run("--trust-durability", "on", *options)
    assert result.returncode == 2 and result.stderr.startswith("duepost: --trust-durability: ") and words in result.stderr
