"""GET /overview: figures of all processes, summed by second."""

import re
import time

import pytest

from duepost import Duepost
from patience import SLOW, until
from redis_server import RedisServer
from tokens import TokenFile

NAMES = ("accepted", "delivered", "retried", "dead", "cancelled", "lateP50Ms", "lateP99Ms")


def overview(server, after=None):
    return server.get("/overview" + (f"?after={after}" if after is not None else "")).expect(200)


def total(server, name):
    return sum(overview(server)["series"][name])


def test_what_happens_is_counted_by_second(start, receiver, topic):
    server = start("--retry-schedule", "1h")
    receiver.script(topic, 500, job_id="bad")
    receiver.script(topic, 410, job_id="gone")
    for name in "good", "bad", "gone":
        server.schedule(topic=topic, jobId=name, url=receiver.url())
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=3600)
    server.cancel(topic, "later").expect(200)
    wanted = {"accepted": 4, "delivered": 1, "retried": 2, "dead": 1, "cancelled": 1}
    until(lambda: {name: total(server, name) for name in wanted} == wanted, 10,
          lambda: {name: total(server, name) for name in wanted})
    answer = overview(server)
    series = answer["series"]
    assert {len(series[name]) for name in NAMES} == {len(series["accepted"])}
    assert all((late is not None) == (late99 is not None) for late, late99 in zip(series["lateP50Ms"], series["lateP99Ms"]))
    assert any(late is not None for late in series["lateP50Ms"])
    assert answer["jobs"]["dead"] == 1 and answer["jobs"]["delayed"] == 1
    assert [process["pid"] for process in answer["processes"]] == [server.pid]


def test_only_the_seconds_asked_for_are_answered(server):
    now = int(time.time())
    until(lambda: len(overview(server)["series"]["accepted"]) == 900, 5, "15 minutes")
    series = overview(server, (now - 5) * 1000)["series"]
    assert series["from"] == (now - 5) * 1000 and 4 <= len(series["accepted"]) <= 5 + 20 * SLOW
    assert overview(server, (now + 3600) * 1000)["series"]["accepted"] == []


@pytest.mark.parametrize("query, field", [("after=x", "after"), ("after=-1", "after"), ("before=1", "before")])
def test_wrong_parameters_are_refused(server, query, field):
    assert server.get(f"/overview?{query}").fields() == [field]


def test_topics_that_are_busy_are_named(server, receiver, topic):
    def is_named():
        server.schedule(topic=topic, url=receiver.url())
        return [each for each in overview(server)["busy"] if each["topic"] == topic and each["accepted"] > 0]
    until(is_named, 10, "the topic", pause=0.2)


def test_a_token_for_some_topics_sees_these_only(start, receiver, topic):
    tokens = TokenFile()
    all_topics, some = tokens.add("all", scopes=["schedule", "read"]), tokens.add("some", scopes=["schedule", "read"], topics=f"{topic}*")
    writer = tokens.add("writer", scopes=["schedule"])
    server = start("--tokens", tokens.path, token=all_topics)
    tenant = server.with_token(some)

    def busy():
        server.schedule(topic=topic, url=receiver.url())
        server.schedule(topic="other", url=receiver.url())
        seen = {each["topic"] for each in overview(tenant)["busy"]}
        assert "other" not in seen
        return seen == {topic} and {topic, "other"} <= {each["topic"] for each in overview(server)["busy"]}
    until(busy, 10, "both topics", pause=0.2)
    assert set(overview(tenant)) == {"now", "busy"}
    server.with_token(writer).get("/overview").expect(403)
    server.with_token(None).get("/overview").expect(401)


# ---- several processes ----

@pytest.fixture
def redis():
    server = RedisServer()
    yield server
    server.stop()


def published(redis):
    found = re.search(rb"cmdstat_publish:calls=(\d+)", redis.command("INFO", "commandstats"))
    return int(found[1]) if found else 0


def test_the_figures_of_all_processes_are_summed(redis, receiver, topic):
    first, second = (Duepost("--reactors", "2", redis=redis) for _ in range(2))
    try:
        for number in range(20):
            first.schedule(topic=topic, jobId=f"a{number}", url=receiver.url())
            second.schedule(topic=topic, jobId=f"b{number}", url=receiver.url())
        for server in first, second:  # seconds before the first look count, too
            until(lambda: total(server, "accepted") == 40 and total(server, "delivered") == 40, 15, lambda: overview(server))
            assert {process["pid"] for process in overview(server)["processes"]} == {first.pid, second.pid}
        second.kill()
        until(lambda: [process["pid"] for process in overview(first)["processes"]] == [first.pid], 15, "one process is left")
        assert total(first, "accepted") == 40
        first.schedule(topic=topic, jobId="last", url=receiver.url())
        until(lambda: total(first, "delivered") == 41, 10, "it goes on counting")
    finally:
        for server in first, second:
            server.stop()


def test_nothing_is_told_while_nobody_looks(redis):
    servers = [Duepost(redis=redis) for _ in range(2)]
    try:
        time.sleep(3)
        before = published(redis)
        time.sleep(3)
        assert published(redis) == before
        until(lambda: len(overview(servers[0])["processes"]) == 2, 15, "they tell")
        assert published(redis) > before
        until(lambda: is_quiet(redis), 60, "they stop telling")
    finally:
        for server in servers:
            server.stop()


def is_quiet(redis):
    before = published(redis)
    time.sleep(3)
    return published(redis) == before


@pytest.mark.parametrize("message", [
    "", "x", "process", "second 1 1 1 1 1 1", "look", "look zz", "process 0123456789abcdef 1 1 1 1 v", "\n\n\n", "process \xff",
    "process 0123456789abcdef 1 1 1 1 v h\nsecond 99999999999999 1 1 1 1 1\ntopic x", "look 0123456789abcdef\n" * 2000])
def test_nonsense_on_the_channel_changes_nothing(redis, message):
    server = Duepost(redis=redis)
    try:
        redis.command("PUBLISH", "duepost:{0}:live", message)
        until(lambda: overview(server)["series"]["accepted"], 5, "an answer")
        assert total(server, "accepted") == 0
    finally:
        server.stop()
