"""How the process starts, stops and is killed; the private Redis; the log."""

import contextlib
import fcntl
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

import processes
import scratch
from duepost import BINARY, environment, is_readable, run
from patience import SLOW, until, watch
from receiver import HANG, Answer
from redis_server import RedisServer
from timestamp import to_ms


def redis_of(server):
    return until(lambda: (pids := server.redis_pids()) and len(pids) == 1 and pids[0], 5, server.redis_pids)


def test_the_data_directory_is_private_and_redis_has_no_port(start, data):
    server = start(data=data / "new" / "dir")
    assert stat.S_IMODE((data / "new" / "dir").stat().st_mode) == 0o700
    listening = [line.split() for line in open("/proc/net/tcp") if line.split()[3] == "0A"]
    inodes = {os.readlink(f"/proc/{redis_of(server)}/fd/{fd}") for fd in os.listdir(f"/proc/{redis_of(server)}/fd")}
    assert not any(f"socket:[{row[9]}]" in inodes for row in listening)


def test_sigterm_stops_everything_cleanly(start, data, receiver, topic):
    server = start(data=data)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    redis_pid = redis_of(server)
    assert server.terminate() == 0
    until(lambda: not processes.is_alive(redis_pid), 5, "end of the embedded Redis")
    assert start(data=data).job(topic, "a")["state"] == "delayed"


def test_jobs_that_became_due_while_it_was_stopped_arrive_at_once(start, data, receiver, topic):
    server = start(data=data)
    due = {}
    for i in range(20):
        due[str(i)] = to_ms(server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=0.5 + i * 0.1)["dueAt"])
    server.terminate()
    until(lambda: time.time() * 1000 > due["0"] + 200, 3, "due time")
    start(data=data)
    until(lambda: receiver.count(topic) == 20, 10, lambda: f"{receiver.count(topic)} of 20")
    assert all(a.at_ms >= due[a.job_id] for a in receiver.of(topic))


def test_a_running_attempt_finishes_within_the_drain(start, data, receiver, topic):
    server = start(data=data)
    receiver.script(topic, Answer(200, delay=1.5))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=1)
    until(lambda: receiver.count(topic), 5, "the attempt")
    assert server.terminate() == 0
    assert receiver.of(topic)[0].answered_at_ms, "it was cut"
    assert receiver.count(topic) == 1, "a claim during the drain"
    again = start(data=data)
    assert again.job(topic, "a") is None
    again.wait_for_state(topic, "later", None)
    assert [a.job_id for a in receiver.of(topic)] == ["a", "later"]


def test_no_client_can_connect_during_the_drain(start, receiver, topic):
    server = start()
    receiver.script(topic, Answer(200, delay=2))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic), 5, "the attempt")
    server.process.send_signal(signal.SIGTERM)

    def refused():
        try:
            socket.create_connection((server.host, server.port), timeout=1).close()
        except OSError:
            return True
        return False
    until(refused, 1.5, "no new connections")
    assert server.process.poll() is None, "it did not wait for the attempt"
    assert server.process.wait(10 * SLOW) == 0


def ask_all(sockets):
    for sock in sockets:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")


def test_a_restart_on_a_shared_port_has_no_gap(start, redis, receiver, topic):
    """The old process accepts connections while it waits for its last attempt."""
    shared = redis()
    old = start("--reactors", "2", redis=shared)
    receiver.script(topic, Answer(200, delay=min(4 * SLOW, 20)), job_id="long")  # within --drain-timeout
    old.schedule(topic=topic, jobId="long", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    new = start("--reactors", "2", "--share-port", "on", redis=shared, listen=f"{old.host}:{old.port}")
    old.process.send_signal(signal.SIGTERM)
    until(lambda: "event=draining " in old.log(), 5, "the drain")
    new.process.send_signal(signal.SIGSTOP)  # while the new process is stopped, the old one must serve requests
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(old.connect()) for _ in range(64)]
        ask_all(sockets)
        until(lambda: sum(map(is_readable, sockets)) >= 8, 3, lambda: f"{sum(map(is_readable, sockets))} answers of the old one")
        new.process.send_signal(signal.SIGCONT)
        assert all(sock.recv(12) == b"HTTP/1.1 200" for sock in sockets)
    assert old.process.wait(30 * SLOW) == 0
    assert receiver.of(topic, "long")[0].answered_at_ms
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(new.connect()) for _ in range(64)]
        ask_all(sockets)
        assert all(sock.recv(12) == b"HTTP/1.1 200" for sock in sockets)


def test_a_new_process_on_a_shared_port_answers_only_once_it_can(start, redis):
    """The new process listens after it is connected to Redis; until then the old process answers."""
    shared, answers = redis(), []
    old = start("--reactors", "1", redis=shared)
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            with contextlib.closing(http.client.HTTPConnection(old.host, old.port, timeout=10 * SLOW)) as link:
                link.request("GET", "/readyz")
                answers.append(link.getresponse().status)
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(3):
            start("--reactors", "2", "--share-port", "on", redis=shared, listen=f"{old.host}:{old.port}")
    finally:
        stop.set()
        asking.join()
    assert set(answers) == {200}


def test_an_attempt_that_does_not_finish_is_aborted_and_its_lease_released(start, redis, receiver, topic):
    shared = redis()
    server = start("--drain-timeout", "300ms", redis=shared)
    receiver.script(topic, HANG, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    began = time.monotonic()
    assert server.terminate() == 0
    assert time.monotonic() - began < 2 * SLOW
    start(redis=shared)
    until(lambda: receiver.count(topic) == 2, 3, "delivery without waiting for the lease")
    assert [a.attempt for a in receiver.of(topic)] == [1, 1], "a cut attempt is not counted"


def test_a_second_sigterm_ends_at_once(start, receiver, topic):
    server = start()
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic), 5, "the attempt")
    server.process.send_signal(signal.SIGTERM)
    watch(0.5, lambda: server.process.poll() is None, "the process ended without draining")
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(2 * SLOW)


def test_a_second_duepost_on_the_directory_stops_with_the_pid_of_the_first(start, data):
    server = start(data=data)
    result = run("--listen", "127.0.0.1:0", "--data", str(data))
    assert result.returncode not in (0, -signal.SIGTERM) and str(server.pid) in result.stderr
    server.get("/readyz").expect(200)


def test_a_port_that_is_taken_stops_the_start(start, tmp_path):
    server = start()
    result = run("--listen", f"127.0.0.1:{server.port}", "--data", str(tmp_path / "d"))
    assert result.returncode > 0 and str(server.port) in result.stderr
    assert not processes.redis_servers_of(tmp_path)


def test_a_killed_duepost_leaves_its_redis_which_the_next_takes_over(start, data, receiver, topic):
    server = start(data=data)
    redis_pid = redis_of(server)
    receiver.script(topic, HANG, 200, job_id="leased")
    server.schedule(topic=topic, jobId="leased", url=receiver.url(), timeout=60)
    due = {str(i): to_ms(server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=0.5 + i * 0.1)["dueAt"])
           for i in range(20)}
    until(lambda: receiver.of(topic, "leased"), 5, "the attempt")
    server.kill()
    assert processes.is_alive(redis_pid)
    server = start(data=data)
    assert redis_of(server) == redis_pid
    until(lambda: receiver.count(topic) == 22, 30, lambda: f"{receiver.count(topic)} of 22 arrivals")
    assert all(a.at_ms >= due[a.job_id] for a in receiver.of(topic) if a.job_id in due)
    assert [a.attempt for a in receiver.of(topic, "leased")] == [1, 1], "an attempt whose outcome is lost repeats its number"
    assert server.terminate() == 0
    until(lambda: not processes.is_alive(redis_pid), 5, "end of the Redis that was taken over")


def test_the_embedded_redis_is_restarted_when_it_dies(start, receiver, topic):
    server = start()
    for i in range(20):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=1 + i * 0.02)
    for _ in range(2):
        old = redis_of(server)
        os.kill(old, signal.SIGKILL)
        until(lambda: server.redis_pids() not in ([], [old]) and server.get("/readyz").status == 200, 10, "a new Redis")
    until(lambda: receiver.count(topic) >= 20, 15, lambda: f"{receiver.count(topic)} of 20")
    assert {a.job_id for a in receiver.of(topic)} == {str(i) for i in range(20)}


def test_accepted_jobs_survive_a_kill_of_both(start, data, receiver, topic):
    server = start(data=data)
    accepted = [server.schedule(topic=topic, url=receiver.url(), delay=1.5)["jobId"] for _ in range(50)]
    os.kill(server.pid, signal.SIGKILL)
    os.kill(redis_of(server), signal.SIGKILL)
    server.process.wait()
    start(data=data)
    until(lambda: {a.job_id for a in receiver.of(topic)} == set(accepted), 15, lambda: f"{receiver.count(topic)} of 50")


def test_half_a_script_on_the_disk_is_never_executed(start, data, topic):
    """A power cut can leave the beginning of a script's changes on the disk, and a command that is torn. Redis keeps
    the commands before the torn one, and would execute them at a later start. In this test, they would delete a
    job."""
    def cut_power():
        server.kill()
        os.kill(redis_of(server), signal.SIGKILL)
        until(lambda: not server.redis_pids(), 5, "Redis is gone")
    server = start(data=data)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600)
    cut_power()
    [log] = (data / "appendonlydir").glob("*.incr.aof")
    with log.open("ab") as file:
        torn = RedisServer.encode("MULTI") + RedisServer.encode("HDEL", "duepost:{0}:jobs", f"{topic}/a") + b"*2\r\n$3\r\nDE"
        file.write(torn)
    server = start(data=data)
    # The power cut may itself have left a part of a script, for example of a tick.
    assert int(re.search(r"event=append_only_file_cut bytes=(\d+)", server.log())[1]) >= len(torn)
    server.schedule(topic=topic, jobId="b", url="http://127.0.0.1:9/", delay=3600)
    cut_power()
    server = start(data=data)
    assert [server.job(topic, job_id) is not None for job_id in "ab"] == [True, True]


def test_it_listens_on_ipv6(start, receiver, topic):
    server = start(listen="[::1]:0")
    assert server.host == "::1"
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)


def test_the_first_job_after_a_start_arrives_at_once(start, receiver, topic):
    """When a process says that it is ready, it delivers jobs at once."""
    for number in range(3):
        server = start()
        due = to_ms(server.schedule(topic=topic, jobId=str(number), url=receiver.url())["dueAt"])
        until(lambda: receiver.count(topic) > number, 5, "delivery")
        assert receiver.of(topic)[-1].at_ms - due < 300 * SLOW


def test_a_healthy_start_has_no_warning(start, redis):
    for behind in None, None, redis():
        server = start(redis=behind)
        server.terminate()
        assert [line for line in server.log().splitlines() if "level=info" not in line] == []


def test_stdout_has_one_line(start):
    server = start()
    server.terminate()
    assert server.process.stdout.read() == b""


SECRETS = ["s3cretheader", "s3cretquery", "s3cretbody", "s3cretpassword"]


def test_a_password_that_others_may_read_is_a_warning(start, redis):
    behind = redis(password="s3cretpassword")
    password = behind.directory / "password"
    password.write_text("s3cretpassword\n")
    password.chmod(0o644)
    assert "may read the file of redis-password-file; chmod o-r" in start("--redis-password-file", str(password), redis=behind).log()


@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_the_log_has_a_line_an_event_and_no_secrets(start, redis, receiver, topic, form):
    behind = redis(password="s3cretpassword")
    password = behind.directory / "password"
    password.write_text("s3cretpassword\n")
    password.chmod(0o600)
    server = start("--log-level", "debug", "--log-format", form, "--redis-password-file", str(password), redis=behind)
    receiver.script(topic, 500, 200)
    receiver.script(topic, 410, job_id="dead")
    receiver.script(topic, HANG, job_id="slow")
    for job_id in ("fine", "dead", "slow"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url("/p?t=s3cretquery"), headers={"Authorization": "s3cretheader"},
                        body={"k": "s3cretbody"}, retrySchedule=[0.05], timeout=0.3, retry=1)
    server.schedule(topic=topic, jobId="refused", url="http://nowhere.invalid/?t=s3cretquery", retry=0)
    server.post('{"topic":"s3cretbody').expect(400)
    for job_id, state in (("fine", None), ("dead", "dead"), ("slow", "dead"), ("refused", "dead")):
        server.wait_for_state(topic, job_id, state, 20)
    behind.kill()
    until(lambda: server.get("/readyz").status == 503, 10, "not ready")
    server.terminate(40)
    lines = server.log().splitlines()
    assert lines
    assert [secret for secret in SECRETS if secret in server.log()] == []
    for line in lines:
        if form == "json":
            assert isinstance(json.loads(line), dict)
        else:
            assert re.fullmatch(r'[a-z_]+=("([^"\\]|\\.)*"|[^ "]*)( [a-z_]+=("([^"\\]|\\.)*"|[^ "]*))*', line), line


def test_without_a_redis_server_to_run_it_says_so(tmp_path):
    result = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--data", str(tmp_path / "d")],
                            env={**environment(), "PATH": str(tmp_path)}, capture_output=True, text=True, timeout=10 * SLOW, check=False)
    assert result.returncode > 0 and "redis-server" in result.stderr


def test_a_hangup_reads_the_options_again(start, receiver, topic, tmp_path):
    """A SIGHUP changes options in all reactors. The log names the options that need a restart, and mistakes."""
    config = tmp_path / "duepost.conf"
    config.write_text("allow-target = 127.0.0.0/8\n")
    server = start("--config", str(config), allow=None)
    server.post({"topic": topic, "url": receiver.url()}).expect(201)
    config.write_text("allow-target = ::1\nprefix = other:\n")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "event=options_reloaded" in server.log(), 5, "the reload")
    assert "options_need_a_restart options=prefix" in server.log()
    for _ in range(20):
        server.post({"topic": topic, "url": receiver.url()}).expect(400)
    config.write_text("allow-targets = 127.0.0.0/8\n")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "event=options_not_reloaded" in server.log(), 5, "the refusal")
    assert "duepost.conf:1" in server.log()
    server.post({"topic": topic, "url": receiver.url()}).expect(400)


def test_a_hangup_opens_the_log_file_again(start, receiver, topic, tmp_path):
    log = tmp_path / "duepost.log"
    server = start("--log", str(log), "--log-level", "debug")
    log.rename(tmp_path / "duepost.log.1")
    server.process.send_signal(signal.SIGHUP)
    until(log.exists, 5, "a new log file")
    until(lambda: "event=options_reloaded" in log.read_text(), 5, "a line in it")


def test_a_log_that_nothing_reads_stops_no_start_and_no_reload(start, data):
    fifo = scratch.file("log.fifo")
    os.mkfifo(fifo)
    done = run("--data", str(data), "--log", str(fifo), seconds=10 * SLOW)
    assert done.returncode == 1 and "it is a FIFO that no process reads, or a device that is not there" in done.stderr, done
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    server = start("--log", str(fifo), data=data)
    os.close(reader)
    os.kill(server.pid, signal.SIGHUP)
    until(lambda: server.get("/healthz").status == 200, 5, "an answer")
    assert server.post({"topic": "fifo", "url": "http://127.0.0.1:9/", "delay": 60}).status == 201


def test_an_unread_log_stops_nothing(start, receiver, topic, tmp_path):
    """The log is a pipe, and its reader stops reading. Lines are dropped; when it reads again, the log says how
    many."""
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    try:
        server = start("--reactors", "1", through=("sh", "-c", 'exec "$@" 2>"$0"', str(fifo)))
        for number in range(100):
            server.schedule(topic=topic, jobId=str(number), url=receiver.url())
        until(lambda: receiver.count(topic) == 100, 10, "delivered")
        text = os.read(reader, 1 << 20)
        server.schedule(topic=topic, jobId="last", url=receiver.url())

        def report():
            nonlocal text
            with contextlib.suppress(BlockingIOError):
                text += os.read(reader, 1 << 20)
            return re.search(rb"^time=\S+ level=warning event=log_lines_dropped lines=([0-9]+)$", text, re.M)
        assert int(until(report, 10, "the report")[1]) > 50
        assert all(line.startswith(b"time=") for line in text.splitlines())
        assert server.terminate() == 0
    finally:
        os.close(reader)


def warnings_of(server):
    return [line for line in server.log().splitlines() if "event=settings_differ" in line]


def test_a_process_with_other_settings_is_warned_of(start, redis):
    """The log of the second process has one warning, which names the first process and the options that differ."""
    behind = redis()
    first = start("--durability", "fsync", "--max-jobs", "100", "--dead-max-age", "60s", "--history",
                  "postgresql://me@127.0.0.1:1/db?connect_timeout=1", redis=behind)
    second = start("--durability", "memory", "--max-jobs", "200", "--dead-max-age", "1m", "--qstash", "on",
                   "--retry-schedule", "1s 2s", redis=behind)
    (line,) = until(lambda: warnings_of(second), 10, second.log)
    for difference in ("durability: memory here, fsync there", "max-jobs: 200 here, 100 there", "qstash: on here, off there",
                       "history: off here, 127.0.0.1:1/db there", "retry-schedule: 1s,2s here, 15s,3m,10m,30m,30m,1h,2h,6h,15h there"):
        assert difference in line, line
    assert "dead-max-age" not in line and "me@" not in line and f"other_pid={first.pid}" in line, line
    third = start("--durability", "memory", "--max-jobs", "200", "--qstash", "on", "--retry-schedule", "1s 2s", redis=behind)
    until(lambda: warnings_of(third), 10, third.log)
    assert len(warnings_of(third)) == len(warnings_of(second)) == 1
    assert len(warnings_of(first)) <= 1  # the first process also warns if both processes have checked at the same moment


@pytest.mark.parametrize("closed", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_nothing_takes_the_place_of_a_closed_descriptor(start, closed):
    """The next socket or file would get the number of a descriptor that stays closed, and log lines would be written
    there."""
    server = start(through=("sh", "-c", f'exec "$@" {closed}', "sh"))
    for word in closed.split():
        assert os.readlink(f"/proc/{server.pid}/fd/{word[0]}") == "/dev/null"
    assert server.terminate() == 0


def test_a_closed_output_is_an_error():
    result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", BINARY, "token", "new", "shop", "scopes=read"], env=environment(),
                            stderr=subprocess.PIPE, text=True, timeout=10 * SLOW, check=False)
    assert result.returncode == 1 and "standard output cannot be written" in result.stderr
