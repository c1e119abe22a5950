"""Work that one process does for all: looking for due jobs, and cleaning up after lost processes. Another process takes
over from one that dies."""

import json
import re
import signal
import socket
import time

from patience import SLOW, until
from receiver import HANG, Answer
from redis_server import RedisServer
from timestamp import from_ms

PREFIX = "duepost:{0}:"


def owns_lock(server):
    """Returns whether, by its log, the process has the carry lock: it is the one that looks for due jobs for all
    processes."""
    return server.log().count("event=carry_lock_taken ") > server.log().count("event=carry_lock_lost ")


def put(server, target, value):
    assert server.request("PUT", target, json.dumps(value), {"Content-Type": "application/json"}).status in (200, 201)


def two(start, redis):
    """Starts two dueposts on one Redis. The first one owns the lock."""
    shared = redis()
    owner = start(redis=shared)
    until(lambda: owns_lock(owner), 5, "the lock")
    return owner, start(redis=shared), shared


def schedule_from(server, receiver, topic, first, count):
    """Schedules jobs that are due 25 ms apart, beginning in this number of seconds (first). Returns their due
    times."""
    begin = int(time.time() * 1000 + first * 1000)
    due = {str(i): begin + 25 * i for i in range(count)}
    server.schedule_many([{"topic": topic, "jobId": name, "url": receiver.url(), "dueAt": from_ms(at)} for name, at in due.items()])
    return due


def lateness(receiver, topic, due):
    until(lambda: receiver.count(topic) >= len(due), 20, lambda: f"{receiver.count(topic)} of {len(due)}")
    return max(arrival.at_ms - due[arrival.job_id] for arrival in receiver.of(topic))


def test_jobs_are_on_time_after_a_kill_of_the_owner(start, redis, receiver, topic):
    owner, other, _ = two(start, redis)
    due = schedule_from(other, receiver, topic, 1 * SLOW, 120)
    owner.kill()
    assert lateness(receiver, topic, due) < 1500 * SLOW
    until(lambda: owns_lock(other), 4, "the lock")


def test_jobs_are_on_time_while_the_owner_is_frozen(start, redis, receiver, topic):
    owner, other, _ = two(start, redis)
    due = schedule_from(other, receiver, topic, 1 * SLOW, 120)
    owner.process.send_signal(signal.SIGSTOP)
    assert lateness(receiver, topic, due) < 1500 * SLOW


def test_sigterm_hands_over_at_once(start, redis, receiver, topic):
    owner, other, _ = two(start, redis)
    due = schedule_from(other, receiver, topic, 1 * SLOW, 40)
    owner.process.send_signal(signal.SIGTERM)
    until(lambda: owns_lock(other), 0.4, "the lock")
    assert lateness(receiver, topic, due) < 500 * SLOW


def test_one_that_drains_does_not_take_the_lock_back(start, redis, receiver, topic):
    """When jobs become due, all processes get an announcement. A draining process must not take the lock then, to
    look for due jobs."""
    owner, other, _ = two(start, redis)
    receiver.script(topic, Answer(200, delay=2), job_id="long")
    owner.schedule(topic=topic, jobId="long", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    owner.process.send_signal(signal.SIGTERM)
    until(lambda: owns_lock(other), 4, "the lock")
    for number in range(20):
        other.schedule(topic=topic, jobId=str(number), url=receiver.url(), delay=(20 - number) / 20)
    until(lambda: receiver.count(topic) == 21, 10, "deliveries")
    owner.process.wait(10 * SLOW)
    assert owner.log().count("event=carry_lock_taken ") == 1 and "event=carry_lock_lost " not in other.log()


FORMAT_MAX = 6  # STORE_FORMAT_MAX in src/store/store.h


def written(shared):
    """Returns how many changes of data Redis has counted."""
    return int(re.search(rb"rdb_changes_since_last_save:(\d+)", shared.command("INFO", "persistence"))[1])


def test_a_newer_format_stops_running_processes(start, redis, receiver, topic):
    """A later version of duepost raises the format of the data while two processes of this version run. Their attempts
    in flight are recorded, and after that they change nothing: no claim, no carrying, no recovery, no sweep, no
    firing."""
    owner, other, shared = two(start, redis)
    kept, late, fired = (f"{topic}.{name}" for name in ("kept", "late", "fired"))
    receiver.script(topic, Answer(200, delay=2 * SLOW), job_id="delivered")
    receiver.script(topic, Answer(500, delay=2 * SLOW), job_id="failed")
    for name in "delivered", "failed":
        other.schedule(topic=topic, jobId=name, url=receiver.url(), timeout=60)
    put(owner, f"/topics/{kept}", {"retention": 1})
    owner.schedule(topic=kept, jobId="swept", url=receiver.url())
    put(owner, f"/schedules/{fired}/s", {"every": 1, "job": {"url": receiver.url()}})
    until(lambda: receiver.count(topic) == 2 and receiver.count(kept) and receiver.count(fired), 5, "the attempts")
    due = schedule_from(other, receiver, late, 1, 20)
    shared.command("HSET", PREFIX + "meta", "format", str(FORMAT_MAX + 1))
    begun = receiver.count(late)

    for server in owner, other:
        until(lambda: server.get("/readyz").status == 503, 10, "503")
        assert f"format {FORMAT_MAX + 1}" in server.get("/readyz").expect(503)["detail"]
        assert f"format {FORMAT_MAX + 1}" in server.post({"topic": topic, "jobId": "new", "url": receiver.url()}).expect(503)["detail"]
        until(lambda: "event=data_is_newer " in server.log(), 5, "the line in the log")
        assert server.log().count("event=data_is_newer ") == 1
    until(lambda: shared.command("HEXISTS", PREFIX + "jobs", f"{topic}/delivered") == b":0\r\n", 5 * SLOW, "the recording")
    until(lambda: b'"attempts":1' in shared.command("HGET", PREFIX + "jobs", f"{topic}/failed"), 5 * SLOW, "the failure")
    until(lambda: shared.command("ZCARD", PREFIX + "leases") == b":0\r\n", 5 * SLOW, "no lease")
    before, fires = written(shared), receiver.count(fired)
    time.sleep(3)
    assert (written(shared), receiver.count(late), receiver.count(fired)) == (before, begun, fires)
    assert owner.log().count("event=redis_refused ") + other.log().count("event=redis_refused ") < 20
    assert not owns_lock(owner) and not owns_lock(other)

    shared.command("HSET", PREFIX + "meta", "format", str(FORMAT_MAX))  # as if Redis were restored from a backup
    lateness(receiver, late, due)
    until(lambda: receiver.count(fired) > fires, 10, "the schedule")
    for server in owner, other:
        until(lambda: "event=data_is_known_again " in server.log(), 10, "the line in the log")
        server.get("/readyz").expect(200)


def test_a_topic_that_is_in_neither_calendar_is_offered(start, redis, receiver, topic):
    """Another version of duepost has removed the topic from the calendars. No count is wrong then."""
    shared = redis()
    server = start(redis=shared)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=2)
    shared.command("DEL", PREFIX + "due", PREFIX + "turns")
    until(lambda: receiver.count(topic) == 1, 15, "the attempt")
    assert f'what="stranded {topic}"' in server.log()


def redis_of(data, *words):
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(data / "redis.sock"))
        link.sendall(RedisServer.encode(*words))
        return link.recv(1000)


def test_a_restart_finds_what_the_killed_one_left_at_once(start, data, receiver, topic):
    """With a private Redis, no other process could renew the expired lease. So the new process need not wait before
    it repeats the job."""
    receiver.script(topic, HANG, 200)
    server = start(data=data)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    server.kill()
    until(lambda: redis_of(data, "ZCOUNT", PREFIX + "leases", "-inf", str(int(time.time() * 1000))) == b":1\r\n", 8, "the lease's end")
    start(data=data)
    until(lambda: receiver.count(topic) == 2, 3, "the second attempt")


def test_a_standby_takes_no_job_early(start, redis, receiver, topic):
    """The process without the lock gets the requests for new jobs, and checks by itself whether the jobs are due."""
    _, other, _ = two(start, redis)
    due = schedule_from(other, receiver, topic, 0.5, 100)
    until(lambda: receiver.count(topic) == len(due), 10, "deliveries")
    assert all(arrival.at_ms >= due[arrival.job_id] for arrival in receiver.of(topic))
    assert not owns_lock(other)


# The state that a lost consumer leaves behind: its leases have just run out.
ORPHANS = """
local base, now = ARGV[1], redis.call('TIME')[1] * 1000
for i = 1, ARGV[2] do
  local id = ARGV[3] .. '/' .. i
  redis.call('HSET', base .. 'jobs', id, '{"createdAt":' .. string.format('%.0f', now) .. ',"url":"http://127.0.0.1:9/"}')
  redis.call('ZADD', base .. 'leases', now - 1, id)
  redis.call('HSET', base .. 'holders:' .. ARGV[3], id, 'n' .. i .. ' ' .. string.format('%.0f', now + 3600000))
end
return redis.status_reply('OK')"""


def test_the_jobs_of_a_lost_consumer_are_back_at_once(start, redis, topic):
    shared = redis()
    server = start(redis=shared)
    until(lambda: owns_lock(server), 5, "the lock")
    # The first lost job comes back only after the time of one lease, in which live processes could renew their
    # leases. The next lost jobs come back sooner.
    for count, seconds in ("1", 10), ("5000", 3):
        assert shared.command("EVAL", ORPHANS, "0", PREFIX, count, topic) == b"+OK\r\n"
        until(lambda: shared.command("ZCARD", PREFIX + "leases") == b":0\r\n", seconds, lambda: shared.command("ZCARD", PREFIX + "leases"))
    assert shared.command("ZCARD", PREFIX + "bucket:" + topic) == b":5000\r\n"


KEYS = """
for i = 1, ARGV[2] do
  redis.call('HSET', ARGV[1] .. 'idempotency', i, 'x')
  redis.call('ZADD', ARGV[1] .. 'windows', 1000, i)
end
return redis.status_reply('OK')"""


def test_idempotency_keys_are_forgotten_as_fast_as_they_come(start, redis):
    """There are more expired keys than one step removes."""
    shared = redis()
    server = start(redis=shared)
    until(lambda: owns_lock(server), 5, "the lock")
    assert shared.command("EVAL", KEYS, "0", PREFIX, "40000") == b"+OK\r\n"
    until(lambda: shared.command("ZCARD", PREFIX + "windows") == b":0\r\n", 6, lambda: shared.command("ZCARD", PREFIX + "windows"))
    assert shared.command("HLEN", PREFIX + "idempotency") == b":0\r\n"
