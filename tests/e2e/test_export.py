"""All data of a server move to another Redis: nothing is lost, nothing is delivered twice, and nothing is early."""

import json
import os
import pathlib
import pty
import re
import signal
import stat
import subprocess
import sys
import time
import types

import pytest

from cluster import Cluster
from duepost import BINARY, Duepost, environment, run
from patience import SLOW, until
from pull import lease, make_pull
from receiver import HANG
from redis_server import free_port
from qstash import QStash
from upgrade_dump import PARTS, Dump, Upgrade, assert_is_shown, versions
from upgrade_parts import Breakers, History, Messages, Pull, Runs, UnderWay
from upgrade_world import World, hours_later
import scratch

ROOT = pathlib.Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "fault"), str(ROOT / "tests" / "model")]
import audit  # noqa: E402
from redis_link import Link  # noqa: E402

LINES = {"Content-Type": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}
QUIET = ("--max-in-flight", "0")  # begins no attempts
PAGE_MARKS = ("header", "next", "end")
# Attempts that were under way and states of receivers do not move; the history moves with its database.
MOVED = [part for part in PARTS if not isinstance(part, (Breakers, History, Pull, UnderWay))]


def expect_text(reply, status):
    assert reply.status == status, reply.body[:2000]
    return reply.body.decode()


def export(server, limit=1000):
    """Returns the lines about things, and the line at the end."""
    lines, cursor = [], ""
    while True:
        page = [json.loads(line) for line in expect_text(server.get(f"/export?limit={limit}{cursor}"), 200).splitlines()]
        lines += [line for line in page if line["kind"] not in PAGE_MARKS]
        if page[-1]["kind"] == "end":
            return lines, page[-1]
        assert len(page) <= limit + 2
        cursor = f"&cursor={page[-1]['cursor']}"


def send(server, lines, query=""):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return server.request("POST", "/import" + query, text, LINES)


def settings(server, topic, **members):
    return server.request("PUT", f"/topics/{topic}", json.dumps(members), JSON).expect(200)


def resume(server, pattern="*"):
    server.request("DELETE", f"/topics/{pattern}").expect(200)


def command(server, *words, **named):
    return run(*words, "--server", server.url, seconds=60, **named)


def in_order(lines):
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


def faults(redis):
    """Returns what the audit of the fault tests says, without times. It does not know the settings that hold topics."""
    return {re.sub(r"\d{10,}", "T", fault) for fault in audit.faults(audit.Books(Link(str(redis.socket))))}


def without_hour(answer):
    """Removes the figures of the last hour, which do not move."""
    if isinstance(answer, dict):
        return {name: without_hour(value) for name, value in answer.items() if name not in ("lastHour", "failing", "lastAnswer")}
    return [without_hour(item) for item in answer] if isinstance(answer, list) else answer


def fill(server, receiver):
    """Makes one of each kind of thing that tests of shards need: topics in all shards, lines, keys, schedules."""
    settings(server, "*", paused=True)
    settings(server, "line", order="fifo", url=receiver.url())
    settings(server, "keyed", url=receiver.url(), perKey={"maxInFlight": 1, "order": "fifo"})
    server.request("PUT", "/topics/keyed/keys/ada", json.dumps({"weight": 3}), JSON).expect(200)
    server.request("PUT", "/groups/shops", json.dumps({"endpoints": {"a": {"url": receiver.url()}, "b": {"url": receiver.url()}}}), JSON).expect(201)
    server.request("PUT", "/schedules/reports/daily", json.dumps({"every": "1d", "startAt": "2030-01-01T00:00:00Z", "job": {"url": receiver.url()}}),
                   JSON).expect(201)
    for number in range(40):
        server.schedule(topic=f"orders-{number % 8}", jobId=str(number), url=receiver.url(), body={"n": number, "é": "\"\\\n"}, labels=["a"])
        server.schedule(topic="line", jobId=str(number))
        server.schedule(topic="keyed", jobId=str(number), key="ada" if number % 2 else "bob")
    server.post({"topic": "orders-1", "jobId": "late", "url": receiver.url(), "delay": "1d"}).expect(201)
    server.post({"topic": "sent", "jobId": "s", "group": "shops"}).expect(201)
    server.post({"topic": "once", "jobId": "o", "url": receiver.url()}, headers={"Idempotency-Key": "k"}).expect(201)


def check_filled(receiver):
    """Checks that each job came once, and in order."""
    until(lambda: len(receiver.arrivals) >= 123, 60, lambda: f"123 deliveries, not {len(receiver.arrivals)}")
    assert len({(a.topic, a.job_id) for a in receiver.arrivals}) == len(receiver.arrivals) == 123
    assert [a.job_id for a in receiver.of("line")] == [str(n) for n in range(40)]
    by_key = [[int(a.job_id) for a in receiver.of("keyed") if int(a.job_id) % 2 == odd] for odd in (0, 1)]
    assert by_key == [list(range(odd, 40, 2)) for odd in (0, 1)]
    assert not [a for a in receiver.arrivals if a.job_id == "late"]


# ---- everything ----

def test_a_server_with_everything_moves():
    """A move must keep all that upgrades must keep, so the parts of upgrades make the data, and check them."""
    source, target = World(), None
    try:
        source.start()
        for part in MOVED:
            part.write(source)
        source.await_archived()
        source.server.kill()
        source.options = QUIET
        source.start(history="off")
        until(lambda: source.server.get("/overview").expect(200)["jobs"]["leased"] == 0, 60, "no attempt under way")
        shown = {path: source.answer(path) for path in source.paths}
        path = scratch.file("export")
        path.unlink(missing_ok=True)
        done = command(source.server, "export", "--to", str(path))
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before, _ = export(source.server, limit=7)
        known = faults(source.redis)
        moved_ms = int(source.clock.now() * 1000)
        source.server.kill()

        target = World(moved_ms)
        target.notes = source.notes
        target.options = QUIET
        target.start(history="off")
        done = command(target.server, "import", str(path))
        assert done.returncode == 0, done.stderr
        after, end = export(target.server)
        assert in_order(after) == in_order(before) and end["isConsistent"]
        assert command(target.server, "import", str(path)).returncode == 0, "a repeated import changes nothing"
        assert in_order(export(target.server)[0]) == in_order(before)
        assert faults(target.redis) <= known
        for path, old in shown.items():
            assert_is_shown(without_hour(old), target.answer(path), path)
        target.server.terminate()

        target.options = ()
        target.start(history="off")
        for part in MOVED:
            part.check(target)
        target.shop.forget()
        target.server.terminate()
        target.clock.move_to(hours_later(moved_ms, 2))
        target.start(history="off")
        for part in MOVED:
            part.check_later(target)
    finally:
        source.stop()
        if target:
            target.stop()


@pytest.mark.parametrize("version", [version for version in versions() if "-" not in version])
def test_data_of_earlier_versions_move(version):
    """Records of earlier versions have no heads, and their entries other forms."""
    old, target = Upgrade(Dump(version)), None
    source = old.world
    try:
        source.options = QUIET
        source.start(history="off")
        lines, _ = export(source.server)
        source.server.kill()
        target = World(old.killed_ms)
        target.notes = source.notes
        target.options = QUIET
        target.start(history="off")
        told = send(target.server, [line for line in lines if "moving" not in line]).expect(200)
        assert told["exists"] == told["refused"] == 0
        target.server.terminate()
        target.options = ()
        target.start(history="off")
        kinds = tuple(type(part) for part in MOVED)
        parts = [part for part in old.dump.parts if isinstance(part, kinds)]
        for part in parts:
            part.check(target)
        target.shop.forget()
        target.server.terminate()
        target.clock.move_to(hours_later(old.killed_ms, 2))
        target.start(history="off")
        for part in parts:
            part.check_later(target)
    finally:
        source.stop()
        if target:
            target.stop()


# ---- shards ----

@pytest.fixture(scope="module")
def cluster():
    group = Cluster()
    yield group
    group.stop()


def test_to_three_shards_and_back(start, redis, cluster, own):
    """One shard to three, and three to one: the same lines, and each job is delivered once, in order, from the last."""
    one = start()
    fill(one, own)
    first, end = export(one, limit=11)
    assert end["isConsistent"] and end["moving"] == end["unpausedTopics"] == 0
    three = Duepost("--shards", "3", redis=cluster.address)
    try:
        assert send(three, first).expect(200)["imported"] == len(first)
        assert [three.get(f"/jobs/count?topic=orders-{n}").expect(200)["count"] for n in range(8)] == [5, 6, 5, 5, 5, 5, 5, 5]
        second, _ = export(three, limit=5)
        assert in_order(second) == in_order(first)
        assert send(three, first).expect(200)["same"] == len(first)
        assert own.arrivals == []
    finally:
        three.stop()
    back = redis()
    last = start(redis=back)
    assert send(last, second).expect(200)["imported"] == len(first)
    assert in_order(export(last)[0]) == in_order(first)
    assert all(" is in due with inf" in fault for fault in faults(back)), "paused topics"
    again = last.post({"topic": "once", "jobId": "o", "url": own.url()}, headers={"Idempotency-Key": "k"})
    assert again.expect(201)["jobId"] == "o" and own.arrivals == []
    resume(last)
    check_filled(own)
    until(lambda: faults(back) == set(), 10, lambda: faults(back))


def test_messages_and_runs_move_to_shards(cluster, redis, own):
    """The API of QStash finds its messages, queues, groups, schedules, dead letters and runs in the shards of the new server."""
    notes, paths = {}, []
    store = redis()
    source = QStash(redis=store)
    world = types.SimpleNamespace(server=source, shop=own, notes=notes, show=lambda *shown: paths.extend(shown))
    three = None
    try:
        for part in Messages(), Runs():
            part.write(world)
        source.stop()
        source = QStash(*QUIET, redis=store)
        answers = {path: source.request("GET", path, check=not path.startswith("/v2")).expect(200) for path in paths}
        lines, end = export(source)
        assert end["moving"] == 0
        three = QStash(*QUIET, "--shards", "3", "--prefix", "qstash:", redis=cluster.address)
        told = send(three, lines).expect(200)
        assert (told["imported"], told["notImported"]) == (len(lines), [])
        assert in_order(export(three, limit=9)[0]) == in_order(lines)
        for path, old in answers.items():
            assert_is_shown(without_hour(old), three.request("GET", path, check=not path.startswith("/v2")).expect(200), path)
        again = three.call("POST", f"publish/{own.url('/once')}", b"2", Upstash_Deduplication_Id="once").expect(202)
        assert again == {"messageId": notes["messages"]["once"], "deduplicated": True}
        assert three.call("POST", "notify/picked-up", b'"news"').expect(201)[0]["workflowRunId"] == "wfr_waits"
    finally:
        source.stop()
        if three:
            three.stop()


def test_a_limit_needs_one_shard(start, cluster):
    one = start()
    one.request("PUT", "/limits/partner", json.dumps({"maxInFlight": 2}), JSON).expect(201)
    settings(one, "limited", limit="partner", paused=True)
    lines, _ = export(one)
    three = Duepost("--shards", "3", redis=cluster.address)
    try:
        told = send(three, lines).expect(200)
        assert (told["imported"], told["refused"]) == (0, 2)
        assert "one shard" in told["notImported"][0]["detail"] and "no limit partner" in told["notImported"][1]["detail"]
    finally:
        three.stop()


# ---- attempts under way, and data that is there ----

def test_jobs_under_way(start, own):
    """The job of an attempt under way is exported as moving. By default, it is not imported."""
    source, target = start(), start()
    own.script("sent", HANG)
    source.schedule(topic="sent", jobId="a", url=own.url(), timeout=600)
    make_pull(source, "pulled")
    source.schedule(topic="pulled", jobId="p")
    lease(source, "pulled")
    until(lambda: own.count("sent") == 1, 10, "the attempt")
    settings(target, "*", paused=True)
    lines, end = export(source)
    assert (end["moving"], end["isConsistent"], end["unpausedTopics"]) == (2, False, 2)
    jobs = [line for line in lines if line["kind"] == "job"]
    assert {(job["name"], job["place"], job["moving"]) for job in jobs} == {("sent/a", "leased", True), ("pulled/p", "leased", True)}
    done = command(source, "export")
    assert done.returncode == 3 and "attempts were under way" in done.stderr
    told = send(target, lines).expect(200)
    assert told["refused"] == 2 and "moving=true" in told["notImported"][0]["detail"]
    assert send(target, lines, "?moving=true").expect(200)["imported"] == 2
    assert {job["state"] for job in target.get("/jobs").expect(200)["jobs"]} == {"ready"}
    resume(target)
    until(lambda: own.count("sent") == 2, 10, "the attempt of the other server")
    assert lease(target, "pulled")[0]["jobId"] == "p"


def test_a_job_that_exists_stays(start, own):
    source, target = start(), start()
    for server in (source, target):
        settings(server, "*", paused=True)
    source.schedule(topic="t", jobId="a", url=own.url(), body=1)
    target.schedule(topic="t", jobId="a", url=own.url(), body=2)
    settings(source, "t", timeout=5)
    settings(target, "t", timeout=6)
    told = send(target, export(source)[0]).expect(200)
    assert (told["imported"], told["same"], told["exists"]) == (0, 1, 2)
    assert [(each["kind"], each["name"], each["result"]) for each in told["notImported"]] == [("topic", "t", "exists"), ("job", "t/a", "exists")]
    assert target.job("t", "a")["body"] == 2
    path = scratch.file("export")
    path.unlink(missing_ok=True)
    assert command(source, "export", "--to", str(path)).returncode == 0
    done = command(target, "import", str(path))
    assert done.returncode == 3 and "line 4: job t/a" in done.stderr, done.stderr


def test_patterns_of_the_target_count(start):
    """An imported pattern inherits from the target's patterns: a pause there holds the topics of all patterns."""
    source, target = start(), start()
    settings(source, "orders-*", timeout=7)
    settings(target, "*", paused=True)
    assert send(target, export(source)[0]).expect(200)["imported"] == 1
    shown = target.get("/topics/orders-1").expect(200)
    assert shown["settings"]["paused"] is True and shown["settings"]["timeout"] == 7


def test_throttles_debounces_limits_and_priorities_go_on(start, redis, own):
    store = redis()
    source, target = start(), start(redis=store)
    settings(source, "*", paused=True)
    throttled = {"topic": "t", "url": own.url(), "throttle": {"key": "k", "per": "1h"}}
    debounced = {"topic": "d", "url": own.url(), "debounce": {"key": "k", "wait": "1h"}}
    first, waiting = source.post(throttled).expect(201), source.post(debounced).expect(201)
    source.request("PUT", "/limits/partner", json.dumps({"maxInFlight": 2, "rate": {"jobs": 5, "per": "1h"}}), JSON).expect(201)
    settings(source, "bound", limit="partner", url=own.url())
    settings(source, "pulled", delivery="pull", url=None)
    for number in (1, 9, 5):
        source.schedule(topic="pulled", jobId=f"p{number}", priority=number)
    lines, _ = export(source, limit=3)
    assert send(target, lines).expect(200)["imported"] == len(lines)
    assert in_order(export(target)[0]) == in_order(lines)
    again = target.post(throttled).expect(200)
    assert (again["jobId"], again["throttled"]) == (first["jobId"], True)
    replaced = target.post(debounced).expect(200)
    assert (replaced["jobId"], replaced["debounced"]) == (waiting["jobId"], True)
    assert target.get("/jobs/count?topic=d").expect(200)["count"] == 1
    assert target.get("/limits/partner").expect(200)["settings"]["maxInFlight"] == 2
    target.request("DELETE", "/limits/partner").expect(409)
    resume(target)
    assert [job["jobId"] for job in lease(target, "pulled", max=3)] == ["p9", "p5", "p1"]


# ---- cuts ----

def many(server, count, receiver):
    settings(server, "*", paused=True)
    jobs = [{"topic": f"t{n % 5}", "jobId": str(n), "url": receiver.url(), "body": "x" * 500} for n in range(count)]
    reply = server.request("POST", "/jobs", json.dumps(jobs), JSON, check=False)
    assert reply.status == 207 and reply.body.count(b'"status":201') == count


def killed_at(size_of, minimum, *words):
    """Starts a command, and kills it as soon as size_of() has reached the minimum. Returns whether it still ran then."""
    process = subprocess.Popen([BINARY, *words], env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60 * SLOW
    while process.poll() is None and size_of() < minimum:
        assert time.monotonic() < deadline, "the command does not go on"
    process.kill()
    return process.wait() == -signal.SIGKILL


def size_of(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def test_an_export_and_an_import_continue_after_kills(start, own, data):
    """Both commands, and the servers with their Redis, are killed at pages; the copy is the same."""
    source, target, other = start(data=data), start(), scratch.directory("target")
    many(source, 8000, own)
    whole, _ = export(source)
    path = scratch.file("export")
    path.unlink(missing_ok=True)
    kills = 0
    for minimum in (1, 2_000_000, 4_500_000):
        kills += killed_at(lambda: size_of(path), minimum, "export", "--to", str(path), "--resume", "--server", source.url)
        with path.open("ab") as file:
            file.write(b'{"kind":"job","name":"half')  # a page that was cut off
        source.kill()
        source = start(data=data)
    assert kills > 0
    done = command(source, "export", "--to", str(path), "--resume")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert in_order(line for line in lines if line["kind"] not in PAGE_MARKS) == in_order(whole), "exactly once"
    assert command(source, "export", "--to", str(path)).returncode == 2, "an existing file stays"

    target.stop()
    target = start(data=other)
    state = pathlib.Path(f"{path}.imported")
    done_before = lambda: int((state.read_text() if state.exists() else "0 0").split()[1] or 0)  # noqa: E731
    for minimum in (1, 2_000_000, 4_500_000):
        killed_at(done_before, minimum, "import", str(path), "--resume", "--server", target.url)
        target.kill()
        target = start(data=other)
    done = command(target, "import", str(path), "--resume")
    assert done.returncode == 0, done.stderr
    assert not state.exists()
    assert in_order(export(target)[0]) == in_order(whole) and own.arrivals == []


def test_a_restart_of_redis_loses_no_settings_of_keys(start, data):
    """Hashes have no order that outlives Redis: after a restart, the walk through this one begins again."""
    server = start(*QUIET, data=data)
    keys = [{"kind": "key", "name": f"t\nkey-{number}", "settings": '{"maxInFlight":2}'} for number in range(3000)]
    assert send(server, keys).expect(200)["imported"] == 3000
    first = [json.loads(line) for line in expect_text(server.get("/export?limit=700"), 200).splitlines()]
    server.kill()
    server = start(*QUIET, data=data)
    lines, cursor = first[1:-1], first[-1]["cursor"]
    while cursor:
        page = [json.loads(line) for line in expect_text(server.get(f"/export?cursor={cursor}"), 200).splitlines()]
        lines += page[:-1]
        cursor = page[-1].get("cursor")
    assert page[-1]["lines"] == {"key": len(lines)} and set(in_order(lines)) == set(in_order(keys))


def test_the_commands_wait_for_a_server_that_starts_again(start, own, data):
    port, path = free_port(), scratch.file("export")
    path.unlink(missing_ok=True)
    source = start(data=data, listen=f"127.0.0.1:{port}")
    many(source, 8000, own)
    export_size = lambda: size_of(path)  # noqa: E731
    for words, size, other in ((("export", "--to"), export_size, source), (("import",), None, None)):
        target = other or start(data=scratch.directory("target"), listen=f"127.0.0.1:{free_port()}")
        state = pathlib.Path(f"{path}.imported")
        done_before = size or (lambda state=state: size_of(state))
        command_line = subprocess.Popen([BINARY, *words, str(path), "--server", target.url], env=environment(), stderr=subprocess.PIPE, text=True)
        until(lambda done_before=done_before: done_before() > 0, 30, "the first page")
        target.kill()
        target = start(data=target.data, listen=f"127.0.0.1:{target.port}")
        assert command_line.wait(60 * SLOW) == 0, command_line.stderr.read()
        command_line.stderr.close()
    assert len(export(target)[0]) == 8001


def test_a_pipe(start, own):
    source, target = start(), start()
    many(source, 1500, own)
    script = '"$0" export --server "$1" | "$0" import --server "$2"'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script, BINARY, source.url, target.url], env=environment(), capture_output=True, text=True,
                          timeout=60 * SLOW, check=False)
    assert done.returncode == 0, done.stderr
    assert in_order(export(target)[0]) == in_order(export(source)[0])


def shown_on_terminal(*words, stdout=subprocess.PIPE):
    """Runs a command whose errors, and with stdout=None also its output, go to a terminal. Returns its exit status and the screen."""
    master, slave = pty.openpty()
    try:
        done = subprocess.run([BINARY, *words], stdout=slave if stdout is None else stdout, stderr=slave, env=environment(), timeout=60 * SLOW, check=False)
        os.close(slave)
        slave = -1
        return done.returncode, os.read(master, 65536).decode()
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)


def test_a_terminal_gets_a_progress_bar_and_no_secrets(start, own):
    source, target = start(), start()
    many(source, 1500, own)
    status, shown = shown_on_terminal("export", "--server", source.url, stdout=None)
    assert status == 2 and "expected --to FILE, or a pipe" in shown
    path = scratch.file("export")
    path.unlink(missing_ok=True)
    for words, server in (("export", "--to"), source), (("import",), target):
        status, shown = shown_on_terminal(*words, str(path), "--server", server.url)
        assert status == 0 and re.search(r"\[[#.]{30}\] +\d+ %", shown), shown
        assert "1501 lines" in shown


def test_jobs_that_wait_for_the_history_are_counted(start):
    source = start("--history", "postgresql://127.0.0.1:1/away")  # nothing listens there
    source.schedule(topic="t", jobId="a", url="http://127.0.0.1:1/", delay=60)
    source.cancel("t", "a").expect(200)
    done = command(source, "export")
    assert done.returncode == 0 and json.loads(done.stdout.splitlines()[0])["outbox"] == 1
    assert "1 ended jobs waited for the history" in done.stderr


def test_a_full_disk_is_reported(start, own):
    source = start()
    many(source, 100, own)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BINARY, "export", "--server", source.url], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(),
                              timeout=30 * SLOW, check=False)
    assert done.returncode == 1 and "cannot be written" in done.stderr


def test_a_file_without_its_end_is_not_whole(start, own):
    source, target = start(), start()
    many(source, 100, own)
    path = scratch.file("export")
    path.unlink(missing_ok=True)
    assert command(source, "export", "--to", str(path)).returncode == 0
    text = path.read_text().splitlines(keepends=True)
    path.write_text("".join(text[:50]))
    done = command(target, "import", str(path))
    assert done.returncode == 1 and "has no end" in done.stderr
    path.write_text("".join(text[:50] + text[60:]))
    done = command(target, "import", str(path))
    assert done.returncode == 1 and "91 lines" in done.stderr and "101" in done.stderr, done.stderr


# ---- the requests ----

def test_wrong_requests_change_nothing(start):
    server = start()
    assert server.get("/export?cursor=x&limit=0&no=1").fields() == ["cursor", "limit", "no"]
    assert server.request("POST", "/import?moving=2", "", LINES).fields() == ["moving"]
    assert server.request("POST", "/import", '{"kind":"header","format":2}\n', LINES).fields() == ["format"]
    server.request("POST", "/import", "{}", {"Content-Type": "text/plain"}).expect(415)
    server.request("POST", "/import", b" " * (64 * 1024 * 1024 + 1), LINES).expect(413)
    server.request("DELETE", "/import").expect(405)
    server.request("POST", "/export").expect(405)
    wrong = ['[]', '{"kind":', '{}', '{"kind":"new","name":"a"}', '{"kind":"job","name":"a"}', '{"kind":"job","name":"a/1","score":5}',
             '{"kind":"job","name":"a/1","record":"{}","score":"1"}', '{"kind":"topic","name":"a b","settings":"{}"}',
             '{"kind":"topic","name":"a","settings":"{\\"paused\\":1}"}', '{"kind":"pattern","name":"a","settings":"{}"}',
             '{"kind":"pattern","name":"a*","settings":"x"}', '{"kind":"ended","name":"a/1","text":"x"}', '{"kind":"key","name":"a","settings":"{}"}',
             '{"kind":"schedule","name":"a/1","definition":"{}","next":"x"}', '{"kind":"workflowPart","name":"a/b/1","part":"x"}',
             '{"kind":"send","name":"a/1","text":"x"}', '{"kind":"limit","name":"","settings":"{}"}', '{"kind":"group","name":"a/b","text":"x"}',
             '{"kind":"job","name":"a/1","score":"1","record":{"base64":"?"}}']
    told = server.request("POST", "/import", "\r\n".join(wrong), LINES).expect(200)
    assert (told["imported"], told["refused"]) == (0, len(wrong))
    assert sorted(each["line"] for each in told["notImported"]) == list(range(1, len(wrong) + 1))
    lines, end = export(server)
    assert lines == [] and end == {"kind": "end", "lines": {}, "moving": 0, "unpausedTopics": 0, "isConsistent": True}
    assert server.request("POST", "/import", "\n \n", LINES).expect(200)["imported"] == 0


def test_scopes_and_the_audit_log(start):
    tokens = scratch.file("tokens")
    admin, reader, bound = "a" * 40, "r" * 40, "b" * 40
    digest = lambda token: subprocess.run(["sha256sum"], input=token, capture_output=True, text=True, check=True).stdout.split()[0]  # noqa: E731
    tokens.write_text("".join(f"{name} sha256:{digest(token)} scopes={scopes}\n" for name, token, scopes in (
        ("boss", admin, "schedule,read,cancel,admin"), ("reader", reader, "read"), ("part", bound, "admin topics=orders-*"))))
    tokens.chmod(0o600)
    server = start("--tokens", str(tokens), token=admin)
    server.schedule(topic="t", jobId="a", url="http://127.0.0.1:1/", delay=3600)
    lines, _ = export(server)
    send(server, lines).expect(200)
    for token, status in ((reader, 403), (bound, 403), ("x" * 40, 401)):
        client = server.with_token(token)
        assert client.get("/export").status == client.request("POST", "/import", "{}", LINES).status == status
    told = [re.sub(r"^time=\S+ level=audit ", "", line) for line in server.log().splitlines() if " level=audit " in line and "ported" in line]
    assert told == ["event=exported who=boss from=127.0.0.1 lines=1 part=last",
                    "event=imported who=boss from=127.0.0.1 imported=0 same=1 exists=0 refused=0 outcome=done"]


def test_limits_of_the_target(start, redis):
    source, small = start(), start("--max-jobs", "2")
    for number in range(3):
        source.schedule(topic="t", jobId=str(number), url="http://127.0.0.1:1/", delay=3600)
    lines, _ = export(source)
    told = send(small, lines).expect(200)
    assert (told["imported"], told["refused"]) == (2, 1) and "--max-jobs" in told["notImported"][0]["detail"]
    full = redis()
    server = start(redis=full)
    full.fill()
    send(server, lines).expect(507)
    full.command("CONFIG", "SET", "maxmemory", "0")
    full.kill()
    assert until(lambda: send(server, lines).status == 503, 10, "503") and until(lambda: server.get("/export").status == 503, 10, "503")
    full.start()
    until(lambda: server.get("/readyz").status == 200, 10, "ready")
    assert send(server, lines).expect(200)["imported"] == 3


def test_bytes_that_are_not_utf8_survive(start, redis):
    """duepost writes UTF-8 only; an earlier version, or damage, may have left other bytes."""
    store, other = redis(), redis()
    server = start(*QUIET, redis=store)
    server.schedule(topic="t", jobId="a", url="http://127.0.0.1:1/", delay=3600)
    raw = b"1 1893456000000 5 connect \xff\xfe\n"
    store.command("HSET", "duepost:{0}:attempts", "t/a", raw)
    lines, _ = export(server)
    job, = lines
    assert set(job["attempts"]) == {"base64"}
    send(start(*QUIET, redis=other), lines).expect(200)
    assert raw in other.command("HGET", "duepost:{0}:attempts", "t/a")


def test_the_longest_names_have_room_in_cursors(start):
    server, other = start(*QUIET), start(*QUIET)
    record = '{"createdAt":1,"head":"1 0 0 0 - 28 ","url":"http://a.example/"}'
    lines = [{"kind": "job", "name": "t" * 128 + "~" + "x" * 127 + "/" + "é" * 159 + str(number), "place": "waiting", "score": "4102444800000.001",
              "record": record} for number in range(3)]
    lines += [{"kind": "idempotency", "name": "t" * 128 + "/\n" + kind + "\n" + "k" * 128, "answer": f"{kind} 1 2 t/a", "until": "4102444800000"}
              for kind in ("throttle", "debounce")]
    assert send(server, lines).expect(200)["imported"] == 5
    found, _ = export(server, limit=1)
    assert in_order(found) == in_order(lines)
    assert send(other, found).expect(200)["imported"] == 5


# ---- documents ----

def test_each_key_of_redis_is_decided():
    """docs/move.md says for each key of docs/redis.md whether it moves."""
    def keys(page):
        text = (ROOT / "docs" / page).read_text()
        found = set()
        for row in re.findall(r"^\| (`[^|]*) \|", text, re.M):
            found |= {name.split(":")[0].split("\\n")[0] for name in re.findall(r"`([a-z_]+[^`]*)`", row)}
        return found
    known, decided = keys("redis.md"), keys("move.md")
    assert known - decided == set(), "docs/move.md does not say whether these keys move"
    assert decided - known == set(), "docs/redis.md does not have these keys"
