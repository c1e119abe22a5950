"""A Redis that the operator provides: shared, unreachable, restarted, or not durable."""

import itertools
import os
import re
import signal
import socket
import statistics
import time

import pytest

from duepost import run
from patience import SLOW, until, watch
from receiver import HANG, Answer
from redis_gate import RedisGate
from timestamp import from_ms, to_ms
import processes


@pytest.mark.parametrize("named", [{"tcp": True}, {"tcp": False}, {"tcp": True, "password": "s3cret"}], ids=str)
def test_it_works_with_any_address(start, redis, receiver, topic, named):
    behind = redis(**named)
    address, extra = behind.address, {}
    if behind.password:
        extra = {"DUEPOST_REDIS": behind.address.replace("//", f"//:{behind.password}@")}
        address = None
    server = start(*([] if address else ["--durability", "memory"]), redis=address, extra=extra)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 1
    if behind.password:
        assert "s3cret" not in open(f"/proc/{server.pid}/cmdline").read()

JSON = {"Content-Type": "application/json"}


def test_two_prefixes_share_a_redis(start, redis, receiver, topic):
    behind = redis()
    one, two = start("--prefix", "one:", redis=behind), start("--prefix", "two:", redis=behind)
    one.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    assert two.job(topic, "a") is None


def attempts_of(server):
    text = server.get("/metrics").body.decode()
    return sum(int(value) for value in re.findall(r"^duepost_attempts_total\{.*\} (\d+)$", text, re.M))


def test_two_processes_share_the_work_and_each_job_comes_once(start, redis, receiver, topic):
    behind = redis()
    both = start(redis=behind), start(redis=behind)
    receiver.script(topic, Answer(200, delay=0.02))
    at = int(time.time() * 1000) + 4000 * int(SLOW)
    both[0].schedule_many([{"topic": topic, "jobId": str(i), "url": receiver.url(), "dueAt": from_ms(at)} for i in range(2000)])
    until(lambda: receiver.count(topic) >= 2000, 30, lambda: f"{receiver.count(topic)} of 2000")
    watch(1, lambda: receiver.count(topic) == 2000, "a job came twice")
    arrivals = receiver.of(topic)
    assert len({a.job_id for a in arrivals}) == 2000
    assert min(a.at_ms for a in arrivals) >= at
    until(lambda: sum(map(attempts_of, both)) == 2000, 5, lambda: f"{[attempts_of(server) for server in both]} attempts")
    assert min(map(attempts_of, both)) >= 500, [attempts_of(server) for server in both]


def test_any_process_can_read_cancel_and_run_jobs_that_another_accepted(start, redis, receiver, topic):
    behind = redis()
    one, two = start(redis=behind), start(redis=behind)
    for job_id in "ab":
        one.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=60)
    assert two.job(topic, "a") == one.job(topic, "a")
    two.cancel(topic, "a").expect(200)
    two.run(topic, "b").expect(202)
    one.wait_for_state(topic, "b", None)


def test_a_killed_process_leaves_its_work_to_the_other(start, redis, receiver, topic):
    behind = redis()
    one = start(redis=behind)
    receiver.script(topic, HANG, job_id="leased")
    one.schedule(topic=topic, jobId="leased", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    two = start(redis=behind)
    receiver.script(topic, 200, job_id="leased")
    due = to_ms(one.schedule(topic=topic, jobId="later", url=receiver.url(), delay=1)["dueAt"])
    one.kill()
    until(lambda: receiver.of(topic, "later"), 10, "the pending job")
    assert receiver.of(topic, "later")[0].at_ms >= due
    until(lambda: len(receiver.of(topic, "leased")) == 2, 25, "the leased job again")
    two.wait_for_state(topic, "leased", None)
    assert [a.attempt for a in receiver.of(topic, "leased")] == [1, 1]


def commands_of(behind):
    """Yields the commands that Redis receives from now on."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(10 * SLOW)
        link.connect(str(behind.socket))
        link.sendall(b"MONITOR\r\n")
        yield from link.makefile("rb")


def test_wake_ups_that_came_before_the_subscription_are_replaced(start, redis):
    """A process looks for due jobs when its subscription begins, so that a job that was scheduled before does not
    wait for the next tick."""
    behind = redis()
    start("--reactors", "1", redis=behind)
    commands = commands_of(behind)
    assert next(commands) == b"+OK\r\n"
    until(lambda: behind.command("CLIENT", "KILL", "TYPE", "pubsub") != b":0\r\n", 5, "a subscriber")
    next(line for line in commands if re.search(rb'"SUBSCRIBE" ".*:wake"', line, re.I))
    carry = rb'"duepost_carry_[0-9a-f]+" "1" "[^"]*" "\d+" "[0-9a-f]{32}" "(\d)"'
    kinds = (re.search(carry, line) for line in commands)
    # In a tick, carry's last argument is 1. No job is due, so only the subscription can cause a call with 0.
    assert b"0" in itertools.islice((kind[1] for kind in kinds if kind), 3)


def test_a_doorbell_that_is_cut_again_and_again_keeps_no_lost_lease_from_its_recovery(start, redis, receiver, topic):
    """The test cuts the connection that waits at the doorbell (BLPOP) once a second. This is more often than duepost
    looks for lost leases."""
    behind = redis()
    one = start(redis=behind)
    receiver.script(topic, HANG)
    one.schedule(topic=topic, jobId="leased", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    start("--reactors", "1", redis=behind)
    receiver.script(topic, 200)
    one.kill()
    cut_at = 0

    def is_back():
        nonlocal cut_at
        if time.monotonic() > cut_at + 1:
            cut_at = time.monotonic()
            clients = behind.command("CLIENT", "LIST").decode()
            for number in re.findall(r"\bid=(\d+) .*\bcmd=blpop\b", clients):
                behind.command("CLIENT", "KILL", "ID", number)
        return receiver.count(topic) == 2
    until(is_back, 20, "the leased job again")


def test_the_end_of_a_delivery_waits_a_moment_for_another_call_unless_jobs_wait_for_it(start, redis, receiver, topic):
    """If both calls reach Redis together, they need only one fsync. In a fifo topic, the end is sent at once, because
    the next job waits for it."""
    behind = redis()
    server = start("--reactors", "1", "--history", "off", redis=behind)
    server.request("PUT", f"/topics/{topic}-fifo", '{"order": "fifo"}', {"Content-Type": "application/json"}).expect(200)
    server.schedule(topic=topic, jobId="first", url=receiver.url())  # so that Redis has the functions
    server.wait_for_state(topic, "first", None)
    commands = commands_of(behind)
    assert next(commands) == b"+OK\r\n"

    def calls():
        for line in commands:
            found = re.match(rb'\+([0-9.]+) .*"FCALL" "duepost_(claim|complete)_', line)
            if found:
                yield found[2].decode(), float(found[1])

    def wait(name, job_id):
        """Returns the time between the claim of a new job and the end of its delivery."""
        server.schedule(topic=name, jobId=job_id, url=receiver.url())
        begin = 0
        for kind, at in calls():
            begin = begin or at
            if kind == "complete":
                return at - begin

    assert statistics.median(wait(topic, str(i)) for i in range(11)) > 0.004
    # An end that waits always takes longer; on a busy machine, few of the others are this fast.
    assert any(wait(topic + "-fifo", str(i)) < 0.004 for i in range(1000))


def test_a_doorbell_that_is_silently_dead_delays_no_job_by_more_than_a_tick(start, redis, receiver, topic):
    """The first process has no free slot, so it can only ring for the second one, whose wait never reaches Redis. The second
    process finds the job in its tick, which comes once a second."""
    behind = redis()
    first = start("--reactors", "1", "--max-in-flight", "1", redis=behind)
    receiver.script(topic, HANG)
    first.schedule(topic=topic, jobId="slow", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt that fills the only slot")
    gate = RedisGate(behind)
    start("--reactors", "1", redis=gate.address)
    gate.hold("BLPOP")
    gate.wait()
    receiver.script(topic, 200)
    first.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 2, 3, "the job, long before duepost gives the dead connection up")
    gate.stop()


def test_jobs_of_a_claim_without_an_answer_come_soon_and_count_no_lost_consumer(start, redis, receiver, topic):
    """The claim writes its leases, and then fails at a key that is not a hash. For duepost, this is the same as a
    lost reply."""
    behind = redis()
    server = start("--reactors", "1", redis=behind)
    behind.command("SET", "duepost:{0}:receivers", "no hash")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", "leased")
    behind.command("DEL", "duepost:{0}:receivers")
    until(lambda: receiver.count(topic) == 1, 3, "the job, before its lease could end")
    assert "leases_recovered" not in server.log() and "claim_abandoned" in server.log()


def test_a_frozen_process_sends_nothing_that_was_cancelled_meanwhile(start, redis, receiver, topic):
    """Freezes a process for longer than a lease, at a random time while many jobs are due."""
    behind = redis()
    one = start(redis=behind)
    at = from_ms(int(time.time() * 1000) + 500)
    one.schedule_many([{"topic": topic, "jobId": str(i), "url": receiver.url(), "dueAt": at} for i in range(400)])
    until(lambda: receiver.count(topic) > 0, 5, "the first")
    os.kill(one.pid, signal.SIGSTOP)
    try:
        two = start(redis=behind)
        cancelled = {str(i) for i in range(400) if two.cancel(topic, str(i)).status == 200}
        watch(0.2, lambda: True, "")
        arrived = {a.job_id for a in receiver.of(topic)}
        lost = cancelled - arrived
        time.sleep(5.5)  # longer than a lease; there is no condition to wait for
    finally:
        os.kill(one.pid, signal.SIGCONT)
    watch(1.5, lambda: not lost & {a.job_id for a in receiver.of(topic)}, "sent after the cancel")


def test_without_redis_requests_are_503_and_afterwards_everything_continues(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    due = to_ms(server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=1.5)["dueAt"])
    behind.kill()
    until(lambda: server.get("/readyz").status == 503, 10, "not ready")
    job = {"topic": topic, "jobId": "b", "url": receiver.url()}
    for reply in (server.post(job), server.get(f"/jobs/{topic}/a"), server.cancel(topic, "a"), server.run(topic, "a"),
                  server.get("/jobs?state=dead"), server.get("/forecast"), server.request("POST", "/jobs/run?state=delayed&limit=1"),
                  server.request("POST", "/jobs/reschedule?state=delayed&limit=1&delay=60")):
        reply.expect(503)
    assert server.get("/readyz").expect(503)["durability"]["configured"]
    server.get("/healthz").expect(200)
    server.post("{}").expect(400)
    until(lambda: time.time() * 1000 > due, 3, "due time")
    behind.start()
    until(lambda: server.get("/readyz").status == 200, 15, "ready again")
    server.post(job).expect(201)
    for job_id in "ab":
        server.wait_for_state(topic, job_id, None)
    assert receiver.of(topic, "a")[0].at_ms >= due and receiver.count(topic) == 2


def test_connections_to_a_replica_are_retried_with_growing_waits(start, redis):
    """The replica accepts connections, but refuses writes. duepost must not connect again at once after such a
    useless connection."""
    behind = redis()
    server = start("--reactors", "1", redis=behind)

    def connections():
        return int(re.search(rb"total_connections_received:(\d+)", behind.command("INFO", "stats"))[1])
    behind.command("REPLICAOF", "127.0.0.1", "1")
    until(lambda: server.get("/readyz").status == 503, 15, "/readyz answers 503")
    time.sleep(2)  # until the waits between attempts have grown to a second
    before, links, seconds = connections(), 5, 3
    time.sleep(seconds)
    assert connections() - before <= links * (seconds + 1) + 1, "a loop"
    behind.command("REPLICAOF", "NO", "ONE")
    until(lambda: server.get("/readyz").status == 200, 10, "ready again")


def test_it_starts_without_redis_and_waits_for_it(start, redis, receiver, topic):
    behind = redis()
    behind.kill()
    server = start(redis=behind, ready=False)
    server.get("/healthz").expect(200)
    server.post({"topic": topic, "url": receiver.url()}).expect(503)
    behind.start()
    until(lambda: server.get("/readyz").status == 200, 15, "ready")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)


def test_a_name_that_is_not_found_is_waited_for(start, topic):
    server = start(redis="redis://no..name:6379", ready=False)
    until(lambda: "Name or service not known" in server.get("/readyz").expect(503)["detail"], 5, lambda: server.get("/readyz").body)
    server.post({"topic": topic, "url": "http://127.0.0.1:9/"}).expect(503)
    server.reload()
    assert server.log().count("event=redis_name_not_found") == 2
    server.get("/healthz").expect(200)
    assert server.terminate(20) == 0


def test_contradictory_data_is_repaired_and_logged(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    for job_id in ("lost", "doubled", "gone"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=3600)
    keys = "duepost:{0}:"
    assert behind.command("ZREM", f"{keys}bucket:{topic}", f"{topic}/lost") == b":1\r\n"
    assert behind.command("ZADD", f"{keys}leases", str(int(time.time() * 1000) + 4000), f"{topic}/doubled") == b":1\r\n"
    assert behind.command("HDEL", f"{keys}jobs", f"{topic}/gone") == b":1\r\n"
    server.wait_for_state(topic, "lost", None)
    assert receiver.count(topic) == 1
    until(lambda: "event=mending_done" in server.log(), 10, "mended")
    log = server.log()
    assert "level=error event=books_are_off" in log
    for what in ("lost", "doubled", "empty"):
        job_id = "gone" if what == "empty" else what
        assert f'event=mended what="{what} {topic}/{job_id}"' in log
    assert behind.command("ZSCORE", f"{keys}bucket:{topic}", f"{topic}/doubled") == b"$-1\r\n"
    assert server.job(topic, "gone") is None


def losses(server):
    return server.log().count("level=error event=data_lost ")


def test_an_emptied_redis_is_reported_by_each_process(start, redis, receiver, topic):
    behind = redis()
    servers = [start(redis=behind) for _ in range(2)]
    servers[0].schedule(topic=topic, jobId="gone", url=receiver.url(), delay=3600)
    behind.command("FLUSHALL")
    for server in servers:
        until(lambda: losses(server), 10 * SLOW, "the loss")
        assert "it was emptied (FLUSHALL)" in server.log() and b"\nduepost_data_lost_total 1\n" in server.get("/metrics").body
    assert servers[0].job(topic, "gone") is None
    servers[1].schedule(topic=topic, jobId="new", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 5 * SLOW, "a job after the loss")
    behind.command("FLUSHALL")
    for server in servers:
        until(lambda: losses(server) == 2, 10 * SLOW, "the second loss")


def test_a_redis_that_restarts_without_its_files_is_reported(start, redis, topic):
    behind = redis(aof=False)
    server = start("--durability", "memory", redis=behind)
    server.schedule(topic=topic, jobId="gone", url="http://127.0.0.1:9/", delay=3600)
    behind.kill()
    behind.start()
    until(lambda: losses(server) == 1, 10 * SLOW, "the loss")


def test_a_redis_that_restarts_with_its_files_has_lost_nothing(start, redis, topic):
    behind = redis()
    server = start(redis=behind)
    server.schedule(topic=topic, jobId="kept", url="http://127.0.0.1:9/", delay=3600)
    behind.kill()
    behind.start()
    until(lambda: server.get("/readyz").status == 200 and server.job(topic, "kept"), 10 * SLOW, "the job")
    time.sleep(6) # duepost reads the layout when Redis is back, and every 5 s
    assert losses(server) == 0


def test_an_answer_lost_on_the_way_is_an_unknown_outcome(start, redis, receiver, topic):
    """Redis gets the command, but its answer is lost. The client repeats its request, and the job is still scheduled
    only once."""
    behind = redis()
    server = start(redis=behind)
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60}
    behind.freeze()
    try:
        problem = server.post(job).expect(503)
        assert "unknown" in problem["detail"]
        server.close()
    finally:
        behind.thaw()
    until(lambda: server.get("/readyz").status == 200, 15, "ready again")
    assert server.post(job).status in (200, 201)
    assert server.post(job).status == 200
    assert len(server.get(f"/jobs?state=delayed&topic={topic}").expect(200)["jobs"]) == 1


def test_an_outcome_is_recorded_after_redis_was_away(start, redis, receiver, topic):
    """A delivered job is not POSTed again, although Redis could not record the delivery at once."""
    behind = redis()
    server = start(redis=behind)
    receiver.script(topic, Answer(200, delay=1))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic), 5, "the attempt")
    behind.kill()
    until(lambda: receiver.of(topic)[0].answered_at_ms, 5, "the answer")
    behind.start()
    until(lambda: server.get("/readyz").status == 200, 15, "ready again")
    server.wait_for_state(topic, "a", None, 20)
    assert receiver.count(topic) == 1


@pytest.mark.parametrize("aof", [False, "everysec"])
def test_a_durability_that_redis_does_not_provide_is_503_with_the_reason(start, redis, topic, aof):
    behind = redis(aof=bool(aof))
    if aof:
        behind.command("CONFIG", "SET", "appendfsync", aof)
    server = start("--durability", "fsync", redis=behind, ready=False)
    until(lambda: "redis" in server.get("/readyz").expect(503), 10, "Redis is there")
    answer = server.get("/readyz").expect(503)
    assert answer["durability"] == {"configured": "fsync", "inForce": "memory"}
    assert "fsync" in answer["detail"]
    problem = server.post({"topic": topic, "jobId": "a", "url": "http://127.0.0.1:9/", "delay": 60}).expect(503)
    assert "fsync" in problem["detail"]
    assert server.job(topic, "a") is None


@pytest.mark.parametrize("options", [(), ("--durability", "fsync")])
def test_a_durability_that_drops_is_logged_once_and_once_when_it_is_back(start, redis, options):
    behind = redis()
    server = start(*options, redis=behind)
    for _ in range(2):
        before = {event: server.log().count(event) for event in ("durability_dropped", "durability_restored")}
        for value, event in ("everysec", "durability_dropped"), ("always", "durability_restored"):
            behind.command("CONFIG", "SET", "appendfsync", value)
            until(lambda: server.log().count(event) > before[event], 15, event)
            watch(1, lambda: server.log().count(event) == before[event] + 1, "one line for each change")
    behind.stop()
    behind.start()
    until(lambda: server.get("/readyz").status == 200, 30, "Redis is back")
    assert server.log().count("durability_dropped") == 2


@pytest.mark.parametrize("field", ["format", "shards"])
def test_data_of_another_layout_stop_the_start(start, redis, field):
    behind = redis()
    start(redis=behind).terminate()
    key = re.search(rb"(duepost:\S*meta)\r", behind.command("KEYS", "*meta"))[1]
    behind.command("HSET", key, field, "99")
    result = run("--listen", "127.0.0.1:0", "--redis", behind.address)
    assert result.returncode > 0 and "99" in result.stderr, result.stderr


def test_by_default_the_durability_is_what_redis_provides(start, redis):
    assert start(redis=redis(aof=False)).get("/readyz").expect(200)["durability"]["inForce"] == "memory"
    assert start(redis=redis()).get("/readyz").expect(200)["durability"]["inForce"] == "fsync"


def test_a_full_redis_refuses_new_jobs_and_continues_to_deliver(start, redis, receiver, topic):
    """Also with scripts that have not run before: a full Redis refuses to load functions."""
    behind = redis()
    server = start(redis=behind)
    behind.await_functions()
    receiver.script(topic, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=1, retrySchedule=[0.05])
    behind.fill()
    server.post({"topic": topic, "jobId": "b", "url": receiver.url()}).expect(507)
    server.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 2
    behind.command("FUNCTION", "FLUSH")
    server.post({"topic": topic, "jobId": "b", "url": receiver.url()}).expect(507)
    assert re.search('redis_refused script="?FUNCTION LOAD"? error="OOM', server.log())
    behind.command("CONFIG", "SET", "maxmemory", "0")
    until(lambda: server.post({"topic": topic, "jobId": "b", "url": receiver.url()}).status == 201, 10, "room again")
    server.wait_for_state(topic, "b", None)


def test_scripts_that_redis_forgot_are_sent_again(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    behind.command("FUNCTION", "FLUSH")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    assert b"duepost_schedule_" in functions(behind)


def functions(behind):
    return behind.command("FUNCTION", "LIST", "LIBRARYNAME", "duepost_*")


@pytest.mark.parametrize("rule", ["fcall", "function|load"])
def test_a_right_to_functions_that_is_taken_away_is_named_until_it_is_back(start, redis, receiver, topic, rule):
    behind = redis(tcp=True)
    assert behind.command("ACL", "SETUSER", "duepost", "reset", "on", ">pw", "~duepost:*", "&duepost:*", "+@all") == b"+OK\r\n"
    server = start(extra={"DUEPOST_REDIS": f"redis://duepost:pw@{behind.place}"}, data=None)
    behind.command("ACL", "SETUSER", "duepost", "-" + rule)
    behind.command("FUNCTION", "FLUSH")
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).expect(503)
    name = rule.upper().replace("|", " ")
    until(lambda: f"lacks rights ({name})" in server.get("/readyz").json.get("detail", ""), 15, "/readyz names the missing right")
    behind.command("ACL", "SETUSER", "duepost", "+" + rule)
    until(lambda: server.get("/readyz").status == 200, 10, "ready again")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)


def test_functions_of_many_versions_are_deleted(start, redis, receiver, topic):
    """At the start, duepost deletes the functions of most other versions. It keeps those of a few versions, because
    these versions may be running."""
    behind = redis()
    library = "#!lua name={0}\nredis.register_function('{0}', function() return 1 end)"
    for number in range(300):
        assert behind.command("FUNCTION", "LOAD", library.format(f"duepost_claim_{number:016x}")).startswith(b"$")
    assert behind.command("FUNCTION", "LOAD", library.format("others")).startswith(b"$")
    server = start(redis=behind)
    until(lambda: b"duepost_claim_0000" not in functions(behind), 10, "the old ones are gone")
    assert b"others" in behind.command("FUNCTION", "LIST")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    server.terminate()
    assert behind.command("FUNCTION", "LOAD", library.format("duepost_claim_" + "0" * 16)).startswith(b"$")
    start(redis=behind)
    assert b"duepost_claim_0000" in functions(behind)


def test_the_functions_of_a_version_with_a_library_for_each_script_stay(start, redis, receiver, topic):
    """Before a rolling upgrade, this version may be running."""
    behind = redis()
    names = {f"duepost_script{number}_{number:016x}".encode() for number in range(63)}
    for name in names:
        text = "#!lua name={0}\nredis.register_function('{0}', function() return 1 end)".format(name.decode())
        assert behind.command("FUNCTION", "LOAD", text).startswith(b"$")
    server = start(redis=behind)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    watch(1, lambda: all(name in functions(behind) for name in names), "a function of the earlier version is gone")


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_step_of_the_clock_delivers_no_job_twice_and_none_early(start, redis, receiver, topic, seconds):
    """After a step of the clock, valid leases may look lost. Before duepost recovers them, their owners have time to
    renew them."""
    from clock import MovableClock
    clock = MovableClock()
    server = start(redis=redis(environment=clock.environment))
    receiver.script(topic, Answer(200, delay=4), job_id="leased")
    server.schedule(topic=topic, jobId="leased", url=receiver.url())
    until(lambda: receiver.count(topic), 5, "the attempt")
    server.schedule(topic=topic, jobId="far", url=receiver.url(), delay=7200)
    clock.move_by(seconds)
    server.wait_for_state(topic, "leased", None, 15)
    assert [a.job_id for a in receiver.of(topic)] == ["leased"]
