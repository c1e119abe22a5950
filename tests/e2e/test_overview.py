"""GET /overview: figures of all processes, summed by second."""

import itertools
import re
import time

import pytest

from cluster import Cluster, slot_of
from duepost import Duepost
from patience import SLOW, until
import pull
from redis_server import RedisServer
from sentinels import Sentinels
from timestamp import to_ms
from tokens import TokenFile

NAMES = ("accepted", "delivered", "retried", "dead", "cancelled", "lateP50Ms", "lateP99Ms")


def overview(server, after=None):
    return server.get("/overview" + (f"?after={after}" if after is not None else "")).expect(200)


def total(server, name):
    return sum(overview(server)["series"][name])


def test_events_are_counted_by_second(start, receiver, topic):
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


def test_steps_of_several_seconds_have_their_sums(start, receiver, topic):
    server = start()
    for number in range(5):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url())
    until(lambda: total(server, "delivered") == 5, 10, lambda: overview(server))
    series = server.get("/overview?step=5").expect(200)["series"]
    assert series["step"] == 5 and series["from"] % 5000 == 0
    assert {len(series[name]) for name in NAMES} == {len(series["accepted"])} and 179 <= len(series["accepted"]) <= 180
    assert 0 < series["until"] - series["from"] - (len(series["accepted"]) - 1) * 5000 <= 5000
    assert sum(series["accepted"]) == 5 and sum(series["delivered"]) == 5
    assert sum(late is not None for late in series["lateP99Ms"]) >= 1
    last = server.get(f"/overview?step=5&after={series['until']}").expect(200)["series"]
    assert last["from"] == series["until"] // 5000 * 5000, "the step of that time, as a whole"


@pytest.mark.parametrize("query, field", [("after=x", "after"), ("after=-1", "after"), ("before=1", "before"),
                                          ("step=0", "step"), ("step=61", "step"), ("step=x", "step")])
def test_wrong_parameters_are_refused(server, query, field):
    assert server.get(f"/overview?{query}").fields() == [field]


def test_topics_that_are_busy_are_named(start, receiver, topic):
    server = start()  # a server of its own, because only the first 100 topics of a process are named

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
    assert set(overview(tenant)) == {"now", "busy", "overdue", "failing"}
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
        for server in first, second:  # the totals also count what happened before the first GET /overview
            until(lambda: total(server, "accepted") == 40 and total(server, "delivered") == 40, 15, lambda: overview(server))
            assert {process["pid"] for process in overview(server)["processes"]} == {first.pid, second.pid}
        second.kill()
        until(lambda: [process["pid"] for process in overview(first)["processes"]] == [first.pid], 15, "one process is left")
        assert total(first, "accepted") == 40
        first.schedule(topic=topic, jobId="last", url=receiver.url())
        until(lambda: total(first, "delivered") == 41, 10, "the first process counts one more delivery")
    finally:
        for server in first, second:
            server.stop()


@pytest.fixture
def sentinels():
    group = Sentinels()
    yield group
    group.stop()


@pytest.fixture
def cluster():
    group = Cluster()
    yield group
    group.stop()


def check_sum(first, second, receiver, topic):
    """Checks that the answer of the first process includes the jobs that the second one accepts from now on."""
    before, ids = total(first, "accepted"), itertools.count()
    until(lambda: second.post({"topic": topic, "url": receiver.url(), "jobId": f"{before}.{next(ids)}"}).status == 201, 60, "accepted", pause=0.2)
    until(lambda: total(first, "accepted") > before, 30, lambda: overview(first), pause=0.2)
    until(lambda: {process["pid"] for process in overview(first)["processes"]} == {first.pid, second.pid}, 30, lambda: overview(first), pause=0.2)


def test_figures_continue_with_the_next_primary(sentinels, receiver, topic):
    servers = [Duepost(redis=sentinels.address) for _ in range(2)]
    try:
        check_sum(*servers, receiver, topic)
        old = sentinels.primary()
        old.kill()
        until(lambda: sentinels.primary() is not old, 30, "another primary")
        check_sum(*servers, receiver, topic)
    finally:
        for server in servers:
            server.stop()


def test_figures_continue_in_a_cluster(cluster, receiver, topic):
    servers = [Duepost(redis=cluster.address) for _ in range(2)]
    try:
        check_sum(*servers, receiver, topic)
        old = cluster.owner(slot_of(0))  # the node with shard 0, where the processes are subscribed to their common channel
        heir = cluster.follower(old)
        old.kill()
        until(heir.is_primary, 30, "another primary")
        check_sum(*servers, receiver, topic)
    finally:
        for server in servers:
            server.stop()


def test_processes_publish_no_figures_without_a_client(redis):
    servers = [Duepost(redis=redis) for _ in range(2)]
    try:
        time.sleep(3)
        before = published(redis)
        time.sleep(3)
        assert published(redis) == before
        until(lambda: len(overview(servers[0])["processes"]) == 2, 15, "both processes are in the answer")
        assert published(redis) > before
        until(lambda: is_quiet(redis), 60, "the processes stop publishing figures")
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


MINUTE, HOUR, DAY = 60, 3600, 86400


def coming_of(server):
    return overview(server).get("coming")


def test_waiting_jobs_are_counted_by_due_time(start):
    server = start()
    delays = (1800, 2 * HOUR - MINUTE, 2 * DAY - HOUR, 8 * DAY)
    for at, delay in enumerate(delays):
        server.schedule_many([{"topic": f"t-{topic}", "url": "http://127.0.0.1:9/", "delay": delay} for topic in range(3) for _ in range(at + 1)])
    server.request("PUT", "/topics/paused", '{"paused": true}', pull.JSON).expect(200)
    server.schedule_many([{"topic": "paused", "url": "http://127.0.0.1:9/", "dueAt": "2020-01-01T00:00:00Z"}] * 5)
    wanted = {"overdue": 5, "minute": 0, "hour": 3, "day": 9, "week": 18, "later": 12}

    def found():
        coming = coming_of(server) or {}
        return {name: sum(value) if isinstance(value, list) else value for name, value in coming.items() if name in wanted}
    until(lambda: found() == wanted, 30, lambda: (found(), wanted), pause=0.2)
    coming = coming_of(server)
    assert [len(coming[name]) for name in ("minute", "hour", "day", "week")] == [12, 12, 24, 7]
    assert 3 in coming["hour"][5:7] and coming["day"][0] == 3 and 6 in coming["day"][1:3] and 9 in coming["week"][1:3]
    assert not coming["isSampled"]
    [late] = overview(server)["overdue"]
    assert late["topic"] == "paused" and late["isPaused"] and late["ready"] == 5
    assert 0 < late["lateSeconds"] <= to_ms(overview(server)["now"]) / 1000 - to_ms(late["dueAt"]) / 1000 + 1


def test_waiting_jobs_are_counted_every_ten_seconds_at_most(start):
    server = start()
    first = until(lambda: coming_of(server), 10, "a count")
    assert coming_of(server)["at"] == first["at"]
    second = until(lambda: (coming := coming_of(server))["at"] != first["at"] and coming, 30, "another count", pause=0.5)
    assert to_ms(second["at"]) - to_ms(first["at"]) >= 9900


def test_very_many_topics_are_sampled(start):
    server = start()
    for part in range(5):
        server.schedule_many([{"topic": f"t-{part}-{at}", "url": "http://127.0.0.1:9/", "delay": 12 * HOUR + 1800} for at in range(1000)])
    until(lambda: (coming := coming_of(server)) and coming["isSampled"] and sum(coming["day"]) == 5000, 60, lambda: coming_of(server), pause=0.5)


def test_impaired_receivers_are_counted_and_named(start, receiver, topic):
    server = start()
    assert overview(server)["receivers"] == {"impaired": 0, "first": []}
    receiver.script(topic, *[503] * 100)
    server.schedule_many([{"topic": topic, "url": receiver.url("/hook"), "retry": 9, "retrySchedule": [1]} for _ in range(30)])
    found = until(lambda: (found := overview(server)["receivers"])["impaired"] and found, 20, lambda: overview(server)["receivers"], pause=0.2)
    assert found["first"][0]["receiver"] == receiver.url().split("/")[2]
    assert found["first"][0]["state"] in ("open", "probing") and found["first"][0]["cause"] == "503" and "probeAt" in found["first"][0]


def test_workers_are_counted(start, topic):
    server = start("--reactors", "2")
    pull.make_pull(server, topic)
    server.schedule(topic=topic)
    pull.lease_one(server, topic)
    until(lambda: overview(server)["workers"] == {"waiting": 0, "leases": 1}, 10, lambda: overview(server)["workers"], pause=0.2)
    waiters = [pull.Waiter(server, topic, wait=60) for _ in range(3)]
    until(lambda: overview(server)["workers"] == {"waiting": 3, "leases": 1}, 10, lambda: overview(server)["workers"], pause=0.2)
    for waiter in waiters:
        waiter.socket.close()


def test_redis_is_described(start, redis):
    private = start()
    found = until(lambda: (found := overview(private)["redis"]).get("usedBytes") and found, 10, "memory")
    assert found["isUp"] and found["isPrivate"] and found["durability"] == "fsync" and "maxBytes" not in found
    server = start(redis=redis)
    found = overview(server)["redis"]
    assert found["isUp"] and not found["isPrivate"] and re.fullmatch(r"\d+\.\d+\.\d+", found["version"])
    redis.kill()
    until(lambda: not overview(server)["redis"]["isUp"], 20, "down", pause=0.2)
    assert set(overview(server)) == {"now", "series", "redis", "processes", "busy"}
