"""duepost work: a command for each job of a pull topic."""

import base64
import json
import os
import signal
import socket
import subprocess

import pytest

import duepost
import processes
from patience import SLOW, until, watch
from tokens import TokenFile
from worker import Worker, is_running, pull, pull_post


@pytest.fixture
def work():
    """Yields a function: work(server, topic, ...) starts a worker for this test only."""
    started = []

    def one(*words, **named):
        started.append(Worker(*words, **named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


def attempts(server, topic, job_id):
    return server.get(f"/jobs/{topic}/{job_id}/attempts").expect(200)["attempts"]


# ---- the input of a command: body, variables, process ----

@pytest.mark.parametrize("text", ['{"n":1.10, "x" : "\u00e9\\n"}', "[]", "0", "null", "-1.50e+3", '"\\u20ac \\"quoted\\"\\n\\ttext"', '""'])
def test_a_command_gets_the_body_as_a_receiver_would(server, topic, work, text):
    pull(server, topic)
    server.post(f'{{"topic":"{topic}","jobId":"a","body":{text}}}').expect(201)
    worker = work(server, topic, "--until-empty")
    worker.wait()
    run, = worker.runs()
    assert run.body.decode() == (json.loads(text) if text[0] == '"' else text)
    assert server.job(topic, "a") is None


@pytest.mark.parametrize("size", [0, 1, 256, 700_000])
def test_a_command_gets_bytes_as_they_are(server, topic, work, size):
    pull(server, topic)
    body = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
    server.schedule(topic=topic, jobId="a", bodyBase64=base64.b64encode(body).decode(), headers={"Content-Type": "image/png"})
    worker = work(server, topic, "--until-empty")
    worker.wait()
    run, = worker.runs()
    assert run.body == body
    assert run.variables["DUEPOST_HEADER_CONTENT_TYPE"] == "image/png"


def test_a_job_without_a_body_has_an_empty_input(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic, "--until-empty")
    worker.wait()
    assert [run.body for run in worker.runs()] == [b""]


HOSTILE = ["$(id >&2)", "`id`", "a b", "a\"b'c\\", "/etc/passwd", "--until-empty", "-", "*", "\u202egpj.exe", "x" * 255, "\u20ac" * 85, "a/b?c#d%2F",
           "${PATH}", "a=b", "~", "\U0001f980"]


def test_names_reach_the_command_as_they_are(server, topic, work):
    """Names are passed in the environment, where no shell interprets them."""
    pull(server, topic)
    labels = ["$(id)", "a=b", "two words", "\u20ac" * 21]
    for job_id in HOSTILE:
        server.schedule(topic=topic, jobId=job_id, labels=labels, headers={"X-Shop": "() { :; }; id", "LD_PRELOAD": "/x", "a.b!c": "$(id)", "PATH": "/x"})
    worker = work(server, topic, "--until-empty", "--parallel", "4")
    worker.wait(seconds=60)
    runs = worker.runs()
    assert sorted(run.job_id for run in runs) == sorted(HOSTILE)
    for run in runs:
        assert run.variables["DUEPOST_TOPIC"] == topic and run.variables["DUEPOST_ATTEMPT"] == "1"
        assert run.variables["DUEPOST_LABELS"].split("\n") == labels
        assert run.variables["DUEPOST_HEADER_X_SHOP"] == "() { :; }; id"
        assert run.variables["DUEPOST_HEADER_LD_PRELOAD"] == "/x" and run.variables["DUEPOST_HEADER_A_B_C"] == "$(id)"
        assert "LD_PRELOAD" not in run.variables and run.variables["PATH"] == os.environ["PATH"]
    assert all(server.request("GET", f"/topics/{topic}").expect(200)["jobs"][state] == 0 for state in ("delayed", "ready", "leased", "dead"))


def test_a_command_gets_times_and_none_of_the_workers_own_names(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", ttl=3600, retrySchedule=[0])
    worker = work(server, topic, "--until-empty", plan="exit $((1 - DUEPOST_ATTEMPT % 2))",
                  extra={"DUEPOST_HEADER_X": "theirs", "DUEPOST_LABELS_OLD": "theirs"})
    worker.wait()
    run, = worker.runs()
    shown = {"DUEPOST_EXPIRES_AT", "DUEPOST_CREATED_AT", "DUEPOST_DUE_AT"}
    assert shown <= set(run.variables)
    assert not {"DUEPOST_HEADER_X", "DUEPOST_LABELS_OLD", "DUEPOST_TOKEN"} & set(run.variables)
    assert run.variables["DUEPOST_SERVER"] == server.url


def test_a_command_does_not_get_the_token(start, topic, work):
    tokens = TokenFile()
    admin, leaser = tokens.add("shop"), tokens.add("worker", ["lease"], topics=topic)
    server = start("--tokens", str(tokens.path), token=admin)
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic, "--until-empty", extra={"DUEPOST_TOKEN": leaser})
    worker.wait()
    run, = worker.runs()
    assert leaser not in str(run.variables)
    refused = work(server, topic, "--until-empty", extra={"DUEPOST_TOKEN": tokens.add("reader", ["read"])})
    assert "401" in refused.wait(1)
    assert "403" in work(server, "other", "--until-empty", extra={"DUEPOST_TOKEN": leaser}).wait(1)


# ---- how a command ends ----

def test_the_exit_status_decides(server, topic, work):
    pull(server, topic)
    for job_id in ("0", "100", "3", "9"):
        server.schedule(topic=topic, jobId=job_id, retrySchedule=[3600])
    plan = 'echo noise >&2; echo "no luck with $DUEPOST_JOB_ID" >&2; echo >&2; test $DUEPOST_JOB_ID = 9 && kill -9 $$; exit $DUEPOST_JOB_ID'
    log = work(server, topic, "--until-empty", plan=plan).wait()
    assert server.job(topic, "0") is None
    dead, late, killed = (server.job(topic, job_id) for job_id in ("100", "3", "9"))
    assert (dead["state"], dead["reason"], late["state"], killed["state"]) == ("dead", "rejected", "delayed", "delayed")
    for job_id in ("100", "3", "9"):
        attempt, = attempts(server, topic, job_id)
        assert (attempt["error"], attempt["errorDetail"]) == ("worker", f"no luck with {job_id}")
        assert f"no luck with {job_id}" in log
    assert "noise" in log


@pytest.mark.parametrize("plan, expected", [
    ("exit 7", "exit status 7"),
    ("kill -15 $$", "ended by signal 15"),
    ("printf 'without a line end' >&2; exit 1", "without a line end"),
    ("printf '\\377\\376x\\001\\n' >&2; exit 1", "??x?"),
    ("head -c 5000 /dev/zero | tr '\\0' e >&2; exit 1", "e" * 256),
    ("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1", "line 2999"),
], ids=["status", "signal", "line", "bytes", "long", "many"])
def test_a_failed_attempt_says_why(server, topic, work, plan, expected):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", retrySchedule=[3600])
    work(server, topic, "--until-empty", plan=plan).wait()
    attempt, = attempts(server, topic, "a")
    assert attempt["errorDetail"] == expected


def test_a_failed_job_comes_back_by_its_retry_schedule_and_dies_without_retries(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", retrySchedule=[0.01, 0.01])
    worker = work(server, topic, plan="exit 1")
    runs = worker.await_runs(3)
    assert server.wait_for_state(topic, "a", "dead")["reason"] == "retries_exhausted"
    assert [run.variables["DUEPOST_ATTEMPT"] for run in runs] == ["1", "2", "3"]
    worker.terminate()


def test_a_command_that_takes_too_long_is_killed(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", retrySchedule=[3600])
    worker = work(server, topic, "--until-empty", "--timeout", "1s", plan="trap '' TERM; sleep 600 & wait")
    worker.wait()
    run, = worker.runs()
    assert not is_running(run.pid, "sleep")
    assert attempts(server, topic, "a")[0]["errorDetail"] == "killed after 1 s (--timeout)"


def test_a_command_that_does_not_exist_takes_no_attempt(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    log = work(server, topic, command=["./there-is-none"]).wait(1)
    assert "cannot run ./there-is-none: No such file or directory" in log
    assert server.wait_for_state(topic, "a", "ready")["attempts"] == 0


# ---- leases ----

def test_a_lease_is_extended_while_its_command_runs(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic, "--once", "--lease", "3s", plan="sleep 7")
    worker.await_runs(1)
    watch(5, lambda: (server.job(topic, "a") or {}).get("attempts", 0) == 0, "the lease ran out")
    worker.wait()
    assert server.job(topic, "a") is None and len(worker.runs()) == 1


def test_a_lost_lease_kills_the_command(server, topic, work):
    """The job is cancelled while its command runs. The worker learns it from the answer to its next extension of the
    lease."""
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic, "--lease", "2s", plan="exec sleep 600")
    run, = worker.await_runs(1)
    server.cancel(topic, "a")
    until(lambda: not is_running(run.pid, "sleep"), 15, "end of the command")
    until(lambda: "the lease is lost" in worker.log(), 5, "a line in its log")
    server.schedule(topic=topic, jobId="b")  # the worker continues with this job
    assert worker.await_runs(2)[1].job_id == "b"
    worker.terminate()


def test_a_command_does_not_outlive_its_lease_while_the_server_is_away(start, topic, work):
    server = start()
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic, "--lease", "2s", plan="exec sleep 600")
    run, = worker.await_runs(1)
    server.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: not is_running(run.pid, "sleep"), 15, "end of the command")
    finally:
        server.process.send_signal(signal.SIGCONT)
    worker.terminate()


def test_a_killed_worker_takes_its_command_along(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", retrySchedule=[0.01])
    worker = work(server, topic, "--lease", "1s", plan="exec sleep 600")
    run, = worker.await_runs(1)
    processes.end(worker.process.pid)
    until(lambda: not is_running(run.pid, "sleep"), 15, "end of the command")
    other = work(server, topic)
    again, = other.await_runs(1)
    assert again.variables["DUEPOST_ATTEMPT"] == "2"
    until(lambda: server.job(topic, "a") is None, 10, "the end of the job")
    other.terminate()


# ---- a worker is stopped or killed ----

def test_sigterm_releases_the_jobs(server, topic, work):
    pull(server, topic)
    for job_id in ("a", "b"):
        server.schedule(topic=topic, jobId=job_id)
    worker = work(server, topic, "--parallel", "2", plan="exec sleep 600")
    runs = worker.await_runs(2)
    worker.terminate()
    assert not any(is_running(run.pid, "sleep") for run in runs)
    for job_id in ("a", "b"):
        assert server.wait_for_state(topic, job_id, "ready")["attempts"] == 0


def test_a_command_that_ends_well_after_sigterm_completes_its_job(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic, plan="trap 'exit 0' TERM; echo ready >&2; while :; do sleep 0.1; done")
    until(lambda: "ready" in worker.log(), 15, "the command has set its trap")
    worker.terminate()
    assert server.job(topic, "a") is None


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    plan = "trap '' TERM; echo ready >&2; while :; do sleep 0.1; done"
    worker = work(server, topic, "--grace", "200ms", plan=plan)
    until(lambda: "ready" in worker.log(), 15, "the command has set its trap")
    worker.terminate()
    assert server.wait_for_state(topic, "a", "ready")["attempts"] == 0
    impatient = work(server, topic, "--grace", "1h", plan=plan)
    until(lambda: "ready" in impatient.log(), 15, "the command has set its trap")
    impatient.process.send_signal(signal.SIGTERM)
    watch(0.3, lambda: impatient.process.poll() is None, "the worker did not wait for its command")
    impatient.terminate()  # the second signal kills the command
    assert server.wait_for_state(topic, "a", "ready")["attempts"] == 0


def test_an_idle_worker_ends_at_once(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    worker = work(server, topic)
    worker.await_runs(1)
    until(lambda: server.job(topic, "a") is None, 10, "the end of the job")
    worker.process.send_signal(signal.SIGINT)
    worker.wait(seconds=15)
    server.schedule(topic=topic, jobId="b")
    assert server.wait_for_state(topic, "b", "ready")["attempts"] == 0


def test_once_takes_one_job(server, topic, work):
    pull(server, topic)
    for job_id in ("a", "b"):
        server.schedule(topic=topic, jobId=job_id)
    worker = work(server, topic, "--once", "--parallel", "8")
    worker.wait()
    assert len(worker.runs()) == 1
    assert server.request("GET", f"/topics/{topic}").expect(200)["jobs"]["ready"] == 1


def test_a_worker_until_empty_also_takes_what_its_commands_schedule(server, topic, work):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    plan = f'test $DUEPOST_JOB_ID != a || "{duepost.BINARY}" schedule {topic}/b >&2'
    worker = work(server, topic, "--until-empty", plan=plan)
    worker.wait()
    assert sorted(run.job_id for run in worker.runs()) == ["a", "b"]


def test_commands_run_in_parallel(server, topic, work):
    pull(server, topic)
    server.schedule_many([{"topic": topic, "jobId": f"{number}"} for number in range(12)])
    worker = work(server, topic, "--parallel", "6", plan="while [ $(ls -d $RUNS/*.run | wc -l) -lt 6 ]; do sleep 0.05; done")
    worker.await_runs(12, 60)
    until(lambda: server.request("GET", f"/topics/{topic}").expect(200)["jobs"]["leased"] == 0, 10, "the ends")
    worker.terminate()


# ---- the server is unreachable ----

def test_a_worker_waits_for_its_server(start, topic, work, data):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    worker = work(f"http://127.0.0.1:{port}", topic)
    until(lambda: "trying again" in worker.log(), 15, "a line in its log")
    server = start(listen=f"127.0.0.1:{port}", data=data)
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    until(lambda: "409" in worker.log() or worker.runs(), 30, "an answer")
    if worker.process.poll() is not None:  # the worker sent its request before the topic was a pull topic, got 409, and ended
        worker = work(server, topic)
    worker.await_runs(1, 30)
    worker.terminate()


def test_an_outcome_is_sent_again_until_the_server_takes_it(start, topic, work, data):
    """duepost is killed while the command runs, and comes back within the lease."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = start(listen=f"127.0.0.1:{port}", data=data)
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", retrySchedule=[0.01])
    gate = data / "gate"
    worker = work(server, topic, "--lease", "60s", plan=f"while [ ! -e {gate} ]; do sleep 0.05; done")
    worker.await_runs(1)
    server.kill()
    gate.write_text("")
    until(lambda: not is_running(worker.runs()[0].pid, "gate"), 15, "end of the command")
    server = start(listen=f"127.0.0.1:{port}", data=data)
    until(lambda: server.job(topic, "a") is None, 30, "the end of the job")
    assert len(worker.runs()) == 1
    worker.terminate()


def test_a_topic_that_is_not_a_pull_topic_ends_the_worker(server, receiver, topic, work):
    assert "409" in work(server, topic).wait(1)


@pytest.mark.parametrize("words, said", [
    ([], "expected TOPIC -- COMMAND"),
    (["t"], "expected TOPIC -- COMMAND"),
    (["t", "--"], "expected TOPIC -- COMMAND"),
    (["t", "--parallel", "0", "--", "true"], "--parallel is 0"),
    (["t", "--parallel", "101", "--", "true"], "--parallel is 101"),
    (["t", "--lease", "0.5", "--", "true"], "--lease is 0.5"),
    (["t", "--lease", "13h", "--", "true"], "--lease is 13h"),
    (["t", "--timeout", "soon", "--", "true"], "--timeout is soon"),
    (["t", "u", "--", "true"], "unexpected argument"),
])
def test_wrong_words_are_refused(words, said):
    done = duepost.run("work", *words)
    assert done.returncode == 2 and said in done.stderr


def test_other_commands_take_no_command():
    done = duepost.run("jobs", "--", "true")
    assert done.returncode == 2 and "--: unknown option" in done.stderr


def test_the_workers_standard_output_is_that_of_its_commands(server, topic):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", body="words for a shell")
    done = subprocess.run([duepost.BINARY, "work", topic, "--until-empty", "--server", server.url, "--", "cat"], capture_output=True, text=True,
                          env=duepost.environment(), timeout=30 * SLOW, check=True)
    assert (done.stdout, done.stderr) == ("words for a shell", "")
    assert pull_post(server, topic, "lease").expect(200) == {"jobs": []}
