"""duepost bench, against a real server: its figures, its receiver, and what it leaves behind."""

import json
import os
import pty
import signal
import socket
import subprocess

import pytest

import duepost
from patience import SLOW, until
from redis_server import free_port
from tokens import TokenFile


@pytest.fixture
def bench():
    """bench(server, *words): a running command."""
    started = []

    def one(server, *words, token=None, **named):
        command = [duepost.BINARY, "bench", "--server", f"http://{server.host}:{server.port}", *words]
        process = subprocess.Popen(command, env=duepost.environment({"DUEPOST_TOKEN": token} if token else None), text=True,
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **named})
        started.append(process)
        return process

    yield one
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def end(process, seconds=60):
    out, errors = process.communicate(timeout=seconds * SLOW)
    return process.returncode, out, errors


def left(server, prefix="bench"):
    topics = [topic["topic"] for topic in server.get("/topics").expect(200)["topics"]]
    return [topic for topic in topics if topic.startswith(prefix)]


def test_a_run_measures_and_leaves_nothing_behind(start, bench):
    server = start("--history", "off")
    status, out, errors = end(bench(server, "--jobs", "1200", "--json", "--per-second", "300", "--topic", "sizing", "--batch", "50"))
    assert (status, errors) == (0, "")
    figures = json.loads(out)
    assert figures["topic"].startswith("sizing-") and figures["batch"] == 50
    for part in ("accept", "deliver"):
        assert figures[part]["jobs"] == 1200 and figures[part]["jobsPerSecond"] > 0 and figures[part]["repeats"] == 0
        assert figures[part]["duepostMicroseconds"] > 0 and figures[part]["redisMicroseconds"] >= 0
    late = figures["lateness"]
    assert late["jobs"] == 1200 and late["early"] == 0 and late["clockOffsetMilliseconds"] == 0
    assert 0 <= late["p50Milliseconds"] <= late["p99Milliseconds"] <= late["maxMilliseconds"] < 60_000
    assert server.get("/jobs/count").expect(200)["count"] == 0 and not left(server, "sizing")
    text = server.get("/metrics").body.decode()
    assert f'duepost_jobs_accepted_total{{topic="{figures["topic"]}"}} 2401' in text  # 2,400 jobs, and one job that checks the receiver


def asked(words, answer):
    """Returns what bench prints on a terminal, to which the answer is typed."""
    leader, terminal = pty.openpty()
    process = subprocess.Popen([duepost.BINARY, "bench", "--jobs", "1", *words], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(terminal)
    os.write(leader, answer)
    out, errors = process.communicate(timeout=60 * SLOW)
    os.close(leader)
    return process.returncode, out, errors


def test_a_server_that_is_not_local_is_loaded_only_after_a_question():
    """192.0.2.0/24 is for documentation, so no request can arrive there; nothing is sent to it before the answer."""
    far = "http://192.0.2.1:7700"
    done = subprocess.run([duepost.BINARY, "bench", "--server", far], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * SLOW, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"duepost bench: {far} is not on this host, and bench would send it 100000 jobs; --yes permits this; see duepost bench -h" in done.stderr
    for answer in b"n\n", b"\n", b"yes please\n", b"\x04":
        status, out, errors = asked(["--server", far], answer)
        assert (status, out) == (2, "") and f"{far} is not on this host. Send it 1 job? [y/N] " in errors and "nothing was sent" in errors
    for local in "localhost:1", "http://LOCALHOST:1", "http://127.9.9.9:1", "http://[::1]:1", "http://[::ffff:127.0.0.1]:1":
        assert "check the server" in asked(["--server", local], b"")[2], local
    for name in "http://127.0.0.1.example:1", "http://user@192.0.2.1:1", "http://127.0.0.1@192.0.2.1:1":
        assert "is not on this host" in asked(["--server", name], b"n\n")[2], name


def test_a_question_that_is_answered_or_spared_by_yes(start, bench):
    """0.0.0.0 is this host for connect, but bench cannot know this of an address that is not a loopback address."""
    server = start("--history", "off", "--hosts", "0.0.0.0")
    url = f"http://0.0.0.0:{server.port}"
    status, out, errors = asked(["--server", url], b"y\n")
    assert status == 0 and "accept" in out, errors
    status, out, errors = end(bench(server, "--server", url, "--yes", "--jobs", "1", stdin=subprocess.DEVNULL))
    assert status == 0 and "accept" in out, errors


@pytest.mark.parametrize("batch", ["1", "10000"])
def test_batches_of_any_size(server, bench, batch):
    status, out, errors = end(bench(server, "--jobs", "150", "--batch", batch))
    assert (status, errors) == (0, "")
    assert "accept    150 jobs in" in out and f"({batch} in a request, 8 requests at once)" in out
    assert "deliver   150 jobs in" in out and "0 early (150 jobs, 200/s)" in out and "Redis" in out


def test_a_terminal_shows_progress(server, bench):
    master, slave = pty.openpty()
    process = bench(server, "--jobs", "300", stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        seen += piece
    os.close(master)
    assert process.wait(20 * SLOW) == 0
    assert b"lateness [" in seen and b"of 300 jobs" in seen and b"accept    300 jobs in" in seen


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_cancels_its_jobs(start, bench, sent):
    server = start()
    process = bench(server, "--jobs", "2000", "--per-second", "10")  # the lateness is measured with 50 jobs, in 5 s
    until(lambda: server.get("/jobs/count").expect(200)["count"] > 10, 20, "jobs wait")
    process.send_signal(sent)
    status, out, errors = end(process)
    assert (status, out) == (1, "") and errors.endswith("duepost bench: stopped by a signal\n")
    assert server.get("/jobs/count").expect(200)["count"] == 0 and not left(server)


def test_a_server_that_does_not_permit_the_receiver_says_so(start, bench):
    server = start(allow=None)
    status, out, errors = end(bench(server, "--jobs", "10"))
    assert (status, out) == (1, "")
    assert "400: url" in errors and "--allow-target" in errors and "--receiver-url" in errors
    assert not left(server)


def test_the_receiver_is_elsewhere_for_the_server(server, bench):
    """The server reaches the receiver by a url that differs from the address at which the receiver listens. A
    forwarded port is an example."""
    port = free_port()
    status, out, errors = end(bench(server, "--jobs", "20", "--receiver-listen", f"127.0.0.1:{port}",
                                    "--receiver-url", f"http://localhost:{port}/hook"))
    assert (status, errors) == (0, "") and "deliver   20 jobs" in out


def test_a_receiver_that_is_not_reached_ends_the_run_with_the_reason(start, bench):
    server = start()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        status, out, errors = end(bench(server, "--jobs", "10", "--receiver-url", url))
    assert (status, out) == (1, "")
    assert "no job has come for 10 s" in errors and "--receiver-url" in errors
    assert server.get("/jobs/count").expect(200)["count"] == 0 and not left(server)


def test_a_token_needs_its_scopes(start, bench):
    tokens = TokenFile()
    server = start("--tokens", str(tokens.path), token=tokens.add("all", ["schedule", "read", "cancel", "admin"]))
    status, out, errors = end(bench(server, "--jobs", "10", token=server.token))
    assert (status, errors) == (0, "") and "duepost " in out
    status, out, errors = end(bench(server, "--jobs", "10"))
    assert (status, out) == (1, "") and "401" in errors


def test_the_receiver_answers_others_with_404(server, bench):
    port = free_port()
    process = bench(server, "--jobs", "2000", "--per-second", "10", "--receiver-listen", f"127.0.0.1:{port}")

    def status_of(request):
        with socket.create_connection(("127.0.0.1", port), timeout=10 * SLOW) as link:
            link.sendall(request)
            return link.recv(4096)[:12]

    def is_there():
        try:
            return status_of(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        except OSError:
            return None
    assert until(is_there, 10, "the receiver listens") == b"HTTP/1.1 404"
    body = b'{"bench":"0123456789abcdef","series":1,"number":99999999999,"due":1}'
    assert status_of(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body) == b"HTTP/1.1 404"
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 1


@pytest.mark.parametrize("words, said", [
    (["--jobs", "0"], "--jobs is 0: expected 1 to 10000000"),
    (["--batch", "x"], "--batch is x: expected 1 to 10000"),
    (["--parallel", "101"], "--parallel is 101: expected 1 to 100"),
    (["--per-second", "0"], "--per-second is 0: expected 1 to 100000"),
    (["--topic", "a/b"], "--topic is a/b: it is not the beginning of a topic's name"),
    (["--topic", "a~b"], "--topic is a~b: it is not the beginning of a topic's name"),
    (["--topic", "a" * 120], "it is not the beginning of a topic's name"),
    (["--topic", "a" * 300], "it is not the beginning of a topic's name"),
    (["--receiver-url", "ftp://a/"], "--receiver-url is ftp://a/: it "),
    (["--receiver-listen", "here"], "--receiver-listen is here: expected an address and a port"),
    (["--receiver-listen", "here:1"], "set --receiver-listen"),
    (["--receiver-listen", "192.0.2.1:0"], "the receiver cannot listen at 192.0.2.1"),
])
def test_wrong_words_are_refused(server, bench, words, said):
    status, out, errors = end(bench(server, *words))
    assert (status, out) == (2, "") and said in errors


def test_a_server_that_is_away(bench):
    class Away:
        host, port = "127.0.0.1", free_port()
    status, out, errors = end(bench(Away, "--jobs", "10"))
    assert (status, out) == (1, "") and "check the server (--server URL or DUEPOST_SERVER)" in errors and "is not removed" not in errors
