"""GET /forecast: what it says about a week is what a replay of this week on the manual clock does."""

import collections
import concurrent.futures
import json
import random
import re
import urllib.parse

import pytest

import redis_text
from clock import MANUAL, ManualClock, MovableClock, attempts
from patience import until
from test_cli import ask
from timestamp import from_ms, to_ms
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
MINUTE, HOUR, DAY = 60000, 3600000, 86400000
START = to_ms("2030-03-25T00:00:00.000Z")  # a Monday; clocks in Europe are set forward on the Sunday after it
WEEK = 7 * DAY


def forecast(server, **query):
    return server.get("/forecast?" + urllib.parse.urlencode(query))


def put(server, path, body):
    assert server.request("PUT", path, json.dumps(body), JSON).status in (200, 201)


def post_jobs(server, jobs):
    text = "".join(json.dumps(job) + "\n" for job in jobs)
    assert {one["status"] for one in server.request("POST", "/jobs", text, LINES).expect(207)["results"]} == {201}


@pytest.fixture
def world(start, receiver):
    """A server whose clock stands at START, with a function that replays the time until a moment: it returns when attempts
    began, by topic."""
    host = MovableClock()
    host.move_to(START)
    server = start(*MANUAL, extra={**host.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    clock = ManualClock(server)
    clock.move_to(START + 1000)

    def replay(until_ms):
        begun = collections.defaultdict(list)
        for one in attempts(clock.move_to(until_ms)):
            assert one["attempt"] == 1 and one["status"] == 200, one
            begun[one["topic"]].append(to_ms(one["at"]))
        return begun
    return server, replay, receiver.url()


def by_step(answer, times):
    """Counts times by the steps of the answer."""
    counts, first, step = [0] * len(answer["series"]["due"]), to_ms(answer["from"]), answer["step"] * 1000
    for at in times:
        if first <= at < to_ms(answer["to"]):
            counts[int((at - first) // step)] += 1
    return counts


def check(answer, begun):
    """Compares the attempts in each step, of all topics and of each shown topic, with those of the replay."""
    for line in answer["topics"] + [line for line in answer["narrow"] if "topic" in line]:
        found = by_step(answer, begun[line["topic"]])
        assert line["series"]["begun"] == found, (line["topic"], [(i, *both) for i, both in enumerate(zip(line["series"]["begun"], found)) if both[0] != both[1]][:5])
    assert answer["series"]["begun"] == by_step(answer, [at for times in begun.values() for at in times])


def random_jobs(url, topics, number, seed):
    chance = random.Random(seed)
    return [{"topic": chance.choice(topics), "jobId": f"{i}", "url": url, "dueAt": from_ms(START + MINUTE + chance.randrange(WEEK + DAY))} for i in range(number)]


SCHEDULES = {
    "night": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
    "quarters": {"cron": "*/15 1-3 * * *", "timezone": "America/New_York"},
    "minutes": {"cron": "* * * * *", "windows": [{"days": ["tue", "wed"], "from": "10:10", "to": "11:20"}], "timezone": "Asia/Kolkata"},
    "hours": {"cron": "@hourly"},
    "same-hours": {"cron": "@hourly"},
    "jitter": {"cron": "0 */6 * * *", "jitter": 3 * 3600},
    "phase": {"every": 1000.5},
    "startup": {"every": 7200, "startAt": "2030-03-27T11:11:11Z"},
    "end": {"cron": "*/20 * * * *", "endAt": "2030-03-26T12:00:00Z"},
    "single": {"cron": "0 12 * * *", "overlap": "skip"},
    "seconds": {"cron": "*/30 0 8 * * *"},
    "paused": {"cron": "* * * * *", "paused": True},
}


def test_a_week_of_jobs_and_schedules(world):
    server, replay, url = world
    post_jobs(server, random_jobs(url, ["a", "b", "c"], 500, 1))
    put(server, "/groups/three", {"endpoints": {name: {"url": url} for name in "xyz"}})
    for name, definition in SCHEDULES.items():
        put(server, f"/schedules/{'s' + name[0]}/{name}", {**definition, "job": {"url": url}})
    put(server, "/schedules/sent/all", {"cron": "5 5 * * *", "job": {"group": "three"}})
    answer = forecast(server, to=from_ms(START + WEEK), step="1h").expect(200)
    assert (answer["from"], answer["step"], len(answer["series"]["due"])) == (from_ms(START), 3600, 168)
    begun = replay(START + WEEK - 1)
    check(answer, begun)
    assert sum(answer["series"]["begun"]) == sum(map(len, begun.values())) > 1800
    assert answer["series"]["due"] == answer["series"]["begun"] and answer["backlog"] == {"peak": 0, "lateMs": 0, "left": 0}
    assert answer["narrow"] == []
    jobs = {(one["topic"], one["scheduleId"]): one["jobs"] for one in answer["schedules"]}
    assert jobs["ss", "same-hours"] == 167 and jobs["sm", "minutes"] == 140 and jobs["sent", "all"] == 21 and ("sp", "paused") not in jobs
    assert answer["jobs"]["scheduled"] + answer["jobs"]["waiting"] == sum(answer["series"]["due"])


def test_a_week_with_windows_rates_and_limits(world):
    """All jobs are due at the beginning of a cell, and all windows open and close there, so that even the limits are exact."""
    server, replay, url = world
    put(server, "/limits/shared", {"rate": {"jobs": 60, "per": 3600, "burst": 1}})
    settings = {
        "office": {"windows": [{"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "17:30", "timezone": "Europe/Berlin"}]},
        "slow": {"rate": {"jobs": 10, "per": 60, "burst": 5}},
        "slow-office": {"rate": {"jobs": 1, "per": 7, "burst": 1}, "windows": [{"from": "12:00", "to": "12:35"}]},
        "quota": {"rate": {"jobs": 100, "per": 9000, "window": True}},
        "shared-1": {"limit": "shared"},
        "shared-2": {"limit": "shared"},
        "line": {"order": "fifo"},
        "stopped": {"paused": True},
    }
    for topic, own in settings.items():
        put(server, f"/topics/{topic}", own)
    chance = random.Random(2)
    times = {"office": 60, "slow": 3000, "slow-office": 900, "quota": 500, "shared-1": 300, "shared-2": 300, "line": 50, "stopped": 10, "free": 50}
    for topic, number in times.items():
        moments = [START + 5 * MINUTE * chance.randrange(1, 2016) for _ in range(4 if number >= 300 else number)]
        post_jobs(server, [{"topic": topic, "jobId": f"{i}", "url": url, "dueAt": from_ms(moments[i % len(moments)])} for i in range(number)])
    answer = forecast(server, to=from_ms(START + WEEK), step="1h").expect(200)
    assert answer["resolution"] == 300
    begun = replay(START + WEEK - 1)
    shared = sorted(begun["shared-1"] + begun["shared-2"])
    for line in [*answer["topics"], *answer["narrow"]]:
        if line.get("limit") != "shared":
            assert line["series"]["begun"] == by_step(answer, begun[line["topic"]]), line["topic"]
        elif "topic" not in line:
            assert line["series"]["begun"] == by_step(answer, shared)
    assert answer["series"]["begun"] == by_step(answer, [at for times in begun.values() for at in times])
    assert answer["series"]["paused"][-1] == 10 and not begun["stopped"]
    narrow = {line.get("topic", line.get("limit")): line["by"] for line in answer["narrow"]}
    assert narrow == {"office": "windows", "slow": "rate", "slow-office": narrow["slow-office"], "quota": "rate", "shared": "rate"}
    assert narrow["slow-office"] in ("windows", "rate")
    slow = next(line for line in answer["narrow"] if line.get("topic") == "slow")
    assert slow["peakBacklog"] > 600 and slow["left"] == 0
    late = max(at - START for at in begun["slow"])
    assert to_ms(slow["drainedAt"]) - 300000 <= START + late < to_ms(slow["drainedAt"])


def test_a_bound_on_concurrent_attempts(world):
    """With 2 s for each attempt, 5 at a time are 9,000 an hour; the first 5 begin at once."""
    server, _, url = world
    put(server, "/topics/few", {"maxInFlight": 5})
    post_jobs(server, [{"topic": "few", "jobId": f"{i}", "url": url, "dueAt": from_ms(START + HOUR)} for i in range(10000)])
    answer = forecast(server, duration="2s", step="1h").expect(200)
    assert answer["series"]["begun"][:4] == [0, 9004, 996, 0] and answer["series"]["backlog"][:4] == [0, 996, 0, 0]
    assert answer["series"]["lateMs"][:4] == [0, 3600000, 0, 0] and answer["attempts"] == {"measured": 0, "durationMs": 2000, "maxInFlight": answer["attempts"]["maxInFlight"]}
    narrow, = answer["narrow"]
    assert (narrow["topic"], narrow["by"], narrow["left"], narrow["drainedAt"]) == ("few", "maxInFlight", 0, from_ms(START + 2 * HOUR + 7 * MINUTE))
    assert answer["backlog"]["drainedAt"] == narrow["drainedAt"]
    assert forecast(server, step="1h").expect(200)["narrow"] == []


def test_all_processes_have_a_bound(start, receiver, topic):
    server = start("--max-in-flight", "2", "--max-in-flight-topic", "1000")
    post_jobs(server, [{"topic": topic, "jobId": f"{i}", "url": receiver.url(), "delay": 7200} for i in range(300)])
    answer = forecast(server, duration="60s").expect(200)
    narrow, = answer["narrow"]
    assert "topic" not in narrow and "limit" not in narrow and narrow["by"] == "maxInFlight" and narrow["left"] == 0
    assert 290 <= answer["backlog"]["peak"] < 300 and answer["backlog"]["lateMs"] > 8000000


def test_measured_durations_are_used(start, receiver, topic):
    server = start()
    for i in range(5):
        server.request("POST", "/jobs", json.dumps({"topic": topic, "jobId": f"{i}", "url": receiver.url("/slow?seconds=0.3")}), JSON).expect(201)
    answer = until(lambda: (lambda found: found if found["attempts"]["measured"] == 5 else None)(forecast(server).expect(200)), 30, "five attempts")
    assert answer["attempts"]["durationMs"] >= 0


def test_only_a_part_of_the_time_is_shown(world):
    """Jobs that wait before "from" are counted, and not shown."""
    server, _, url = world
    put(server, "/topics/slow", {"rate": {"jobs": 1, "per": 60, "burst": 1}})
    post_jobs(server, [{"topic": "slow", "jobId": f"{i}", "url": url, "dueAt": from_ms(START + HOUR)} for i in range(120)])
    whole = forecast(server, to=from_ms(START + 4 * HOUR), step="15m").expect(200)
    part = forecast(server, **{"from": from_ms(START + 2 * HOUR), "to": from_ms(START + 4 * HOUR), "step": "15m"}).expect(200)
    assert part["from"] == from_ms(START + 2 * HOUR)
    assert part["series"]["begun"] == whole["series"]["begun"][8:] == [15, 15, 15, 15, 0, 0, 0, 0]
    assert forecast(server, topic="slow", to=from_ms(START + 4 * HOUR), step="15m").expect(200)["series"] == whole["series"]
    assert sum(forecast(server, topic="other").expect(200)["series"]["due"]) == 0
    assert len(forecast(server).expect(200)["series"]["due"]) == 289


@pytest.mark.parametrize("query, field", [
    ("to=2020-01-01T00:00:00Z", "to"), ("from=x", "from"), ("from=2031-01-01T00:00:00Z", "from"), ("to=2031-01-01T00:00:00Z", "to"), ("step=1s", "step"), ("step=0", "step"),
    ("step=1.5", "step"), ("step=8d", "step"), ("topic=*", "topic"), ("duration=x", "duration"), ("colour=red", "colour")])
def test_faults_are_named(server, query, field):
    server.request("POST", "/forecast").expect(405)
    assert server.get(f"/forecast?{query}").fields() == [field]


def test_a_token_for_some_topics_sees_these_only(start, receiver, topic):
    tokens = TokenFile()
    some, writer = tokens.add("some", ["read", "schedule"], topics=topic), tokens.add("writer", ["schedule"])
    server = start("--tokens", tokens.path, token=writer)
    for name in topic, "other":
        post_jobs(server, [{"topic": name, "jobId": "a", "url": receiver.url(), "delay": 3600}])
        put(server, f"/schedules/{name}/s", {"every": 3600, "job": {"url": receiver.url()}})
    answer = forecast(server.with_token(some)).expect(200)
    assert [line["topic"] for line in answer["topics"]] == [topic] and answer["jobs"]["waiting"] == 1 and answer["jobs"]["schedules"] == 1
    assert sum(answer["series"]["due"]) == 25
    forecast(server.with_token(some), topic="other").expect(403)
    forecast(server.with_token(writer)).expect(403)
    forecast(server.with_token(None)).expect(401)


def keys_of(redis):
    """All keys as text, without those that an idle process writes: its beat, and the clock that it has seen."""
    return [line for line in redis_text.dump(redis) if not re.search(rb"\}:(carry|meta|ready|quotas)\b", line)]


def test_nothing_is_written(start, redis, receiver):
    own = redis()
    server = start(redis=own)
    put(server, "/topics/office", {"windows": [{"from": "09:00", "to": "17:30"}], "rate": {"jobs": 1, "per": 60}})
    post_jobs(server, [{"topic": topic, "jobId": f"{i}", "url": receiver.url(), "delay": 86400 + i} for i in range(400) for topic in ("a", "office")])
    for i in range(150):
        put(server, f"/schedules/b/{i}", {"every": 86400 + i, "job": {"url": receiver.url()}})
    before = keys_of(own)
    assert len(before) > 1000
    first = forecast(server, to=from_ms(to_ms(forecast(server).expect(200)["now"]) + WEEK), step="1h").expect(200)
    assert first["jobs"]["waiting"] == 800 and first["jobs"]["schedules"] == 150
    assert keys_of(own) == before


def test_many_forecasts_wait_for_each_other(start, receiver):
    server = start("--reactors", "1")
    post_jobs(server, [{"topic": f"t{i % 50}", "jobId": f"{i}", "url": receiver.url(), "delay": 3600 + i} for i in range(5000)])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: forecast(server, step="5m").expect(200)["jobs"]["waiting"], range(16)))
    assert answers == [5000] * 16
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        replies = list(pool.map(lambda _: forecast(server), range(120)))
    assert {reply.status for reply in replies} <= {200, 503}
    assert {reply.json["detail"][:31] for reply in replies if reply.status == 503} <= {"Too many forecasts wait already"}
    assert forecast(server).expect(200)["jobs"]["waiting"] == 5000


def test_a_large_topic_is_counted_in_many_calls(start, receiver):
    server = start()
    chance = random.Random(5)
    for _ in range(4):
        post_jobs(server, [{"topic": "large", "url": receiver.url(), "delay": 3600 + chance.randrange(80000)} for i in range(5000)])
    answer = forecast(server).expect(200)
    assert answer["jobs"]["waiting"] == sum(answer["series"]["due"]) == 20000
    listed = collections.Counter()
    cursor = ""
    while cursor is not None:
        page = server.get("/jobs?topic=large&limit=1000" + (f"&cursor={cursor}" if cursor else "")).expect(200)
        listed.update(int((to_ms(job["dueAt"]) - to_ms(answer["from"])) // 300000) for job in page["jobs"])
        cursor = page.get("cursor")
    assert [listed[i] for i in range(len(answer["series"]["due"]))] == answer["series"]["due"]


def test_the_command(world):
    server, _, url = world
    put(server, "/topics/slow", {"rate": {"jobs": 1, "per": 60, "burst": 1}})
    post_jobs(server, [{"topic": "slow", "jobId": f"{i}", "url": url, "dueAt": from_ms(START + HOUR)} for i in range(90)])
    lines = ask(server, "forecast", "--to", from_ms(START + 3 * HOUR)[:-5] + "Z", "--step", "30m").splitlines()
    assert lines[0].split() == ["AT", "DUE", "BEGIN", "BACKLOG", "LATE"]
    assert [line.split()[:5] for line in lines[3:6]] == [
        ["2030-03-25T01:00", "90", "30", "60", "30m"], ["2030-03-25T01:30", "0", "30", "30", "60m"], ["2030-03-25T02:00", "0", "30", "0", "#" * 10]]
    assert lines[3].endswith(" " + "#" * 10 + "." * 20) and lines[8] == "90 waiting jobs, 0 overdue now; 0 jobs of 0 schedules"
    assert lines[9] == "at most 89 jobs wait, up to 89m; none from 2030-03-25T02:29:10.000Z on"
    assert [line.split()[:2] for line in lines[11:]] == [["NARROW", "BY"], ["slow", "rate"]]
    assert json.loads(ask(server, "forecast", "--json"))["jobs"]["waiting"] == 90
    assert ask(server, "forecast", "--topic", "other").splitlines()[-1] == "each job begins when it is due"
