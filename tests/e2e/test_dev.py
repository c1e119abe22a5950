"""duepost receive, which prints what arrives, and duepost dev, which starts a server and such a receiver."""

import http.client
import pathlib
import re
import signal
import subprocess
import threading

import pytest

from duepost import BINARY, environment
from patience import SLOW, until
import scratch


class Program:
    """A running command. lines: what it has printed on standard output."""

    def __init__(self, *words, **variables):
        self.lines, self.errors = [], scratch.file("errors")
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([BINARY, *words], stdout=subprocess.PIPE, stderr=errors, text=True, errors="surrogateescape",
                                            env={**environment(), **variables})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def find(self, pattern, seconds=20):
        """Waits for a line, and returns the match."""
        def look():
            return next((found for line in list(self.lines) if (found := re.search(pattern, line))), None)
        return until(look, seconds, lambda: f"{pattern}\n{self.lines}\n{pathlib.Path(self.errors).read_text()}", 0.05)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(30 * SLOW)
        self.reader.join(30 * SLOW)
        return status


@pytest.fixture
def program():
    started = []

    def one(*words, **variables):
        started.append(Program(*words, **variables))
        return started[-1]
    yield one
    for each in started:
        each.end()


def send(port, body=b"", method="POST", **headers):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=15 * SLOW)
    link.request(method, "/hook", body, headers)
    answer = link.getresponse()
    answer.read()
    link.close()
    return answer.status


def test_a_receiver_prints_what_arrives(server, topic, program):
    receiver = program("receive", "0")
    port = int(receiver.find(r"^receiver on http://127\.0\.0\.1:(\d+)$")[1])
    server.schedule(topic=topic, jobId="a/1", url=f"http://127.0.0.1:{port}/close", body={"order": 1041})
    receiver.find(rf'^\d\d:\d\d:\d\d\.\d{{3}}Z attempt 1 of {re.escape(topic)}/a\S*1 {{"order": ?1041}}$')
    assert send(port, method="GET") == 204
    receiver.find(r"Z GET /hook$")
    assert receiver.end(signal.SIGINT) == 0


def test_a_receiver_answers_with_a_status(program):
    receiver = program("receive", "--status", "503", "127.0.0.1:0")
    port = int(receiver.find(r":(\d+)$")[1])
    assert send(port, b"x") == 503
    receiver.find("Z POST /hook x$")


def test_what_arrives_does_nothing_to_the_terminal(program):
    receiver = program("receive", "0")
    port = int(receiver.find(r":(\d+)$")[1])
    foreign = "a\x1b[2J\nb\u202ec\u0085d é".encode() + b"\x9b2J\xff\xe2\x80"
    send(port, foreign, **{"Duepost-Job-Id": "1\u009b".encode(), "Duepost-Topic": "t", "Duepost-Attempt": "2"})
    assert receiver.find(r"attempt (.*)$")[1] == "2 of t/1? a?[2J?b?c?d é?2J???"
    send(port, b"y" * 100_000)
    assert len(receiver.find(r"Z POST /hook (y+) \.\.\. \(100000 bytes\)$")[1]) == 65536


@pytest.mark.parametrize("words, said", [
    (["receive", "here"], "PORT is here: expected PORT or HOST:PORT"),
    (["receive", "1", "2"], "2: "),
    (["receive", "--status", "99"], "--status is 99: expected 200 to 599"),
    (["receive", "--server", "http://a"], "--server: unknown option"),
    (["receive", "--json"], "--json: unknown option"),
    (["dev", "--statsu", "500"], "did you mean --status?"),
    (["dev", "--receiver-listen", "here"], "--receiver-listen is here: expected PORT or HOST:PORT"),
])
def test_wrong_words_are_refused(words, said):
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=30 * SLOW, check=False, env=environment())
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr, done


def test_a_port_in_use_is_named(program):
    port = program("receive", "0").find(r":(\d+)$")[1]
    other = program("receive", port)
    assert other.process.wait(30 * SLOW) == 1
    assert f"cannot listen at 127.0.0.1, port {port}" in pathlib.Path(other.errors).read_text()


def start_dev(program, *words, **variables):
    """Starts dev, and returns it with the origins of server and receiver, and the data directory."""
    dev = program("dev", "--receiver-listen", "127.0.0.1:0", *words, "--", "--listen", "127.0.0.1:0", **variables)
    server = dev.find(r"^dashboard on (http://127\.0\.0\.1:\d+)/$", 40)[1]
    receiver = dev.find(r"^receiver on (http://\S+)$")[1]
    data = pathlib.Path(dev.find(r"^data in (\S+?)(, removed at the end.*)?$")[1])
    assert dev.find(r"^try: (.*)$")[1] == \
        f"""duepost schedule hello --server {server} --delay 5s --url {receiver}/ --body '{{"hello":"world"}}'"""
    return dev, server, receiver, data


def schedule(server, receiver):
    done = subprocess.run([BINARY, "schedule", "hello/one", "--server", server, "--url", f"{receiver}/", "--body", '{"hello":"world"}'],
                          capture_output=True, text=True, timeout=30 * SLOW, check=False, env=environment())
    assert done.returncode == 0, done


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_command_starts_a_server_and_a_receiver(program, number):
    """The variables name another Redis and another address, as on the host of a real server."""
    dev, server, receiver, data = start_dev(program, DUEPOST_REDIS="redis://127.0.0.1:1", DUEPOST_LISTEN="127.0.0.1:1")
    assert data.is_dir()
    schedule(server, receiver)
    dev.find(r'Z attempt 1 of hello/one {"hello":"world"}$')
    assert dev.end(number) == 0
    assert not data.exists()
    with pytest.raises(OSError):
        send(int(server.rsplit(":", 1)[1]))


def test_a_named_directory_is_kept(program, tmp_path):
    dev, server, receiver, data = start_dev(program, "--data", str(tmp_path / "kept"), "--status", "500")
    assert data == tmp_path / "kept"
    schedule(server, receiver)
    dev.find(r"Z attempt 1 of hello/one ")
    assert dev.end() == 0 and any(data.iterdir())
    dev, server, *_ = start_dev(program, "--data", str(data))
    done = subprocess.run([BINARY, "jobs", "--server", server], capture_output=True, text=True, timeout=30 * SLOW, check=False, env=environment())
    assert "one" in done.stdout and "500" in done.stdout, done


def test_the_server_ends_with_the_command(program):
    """If the command is killed, its server stops, and no receiver is left."""
    dev, server, _, data = start_dev(program)
    dev.process.kill()
    dev.process.wait()

    def has_stopped():
        try:
            send(int(server.rsplit(":", 1)[1]))
        except OSError:
            return True
    until(has_stopped, 30, "the server has stopped")
    subprocess.run(["rm", "-rf", "--", str(data)], check=True)


def test_a_server_that_cannot_start_is_told(program):
    dev = program("dev", "--receiver-listen", "0", "--", "--no-such-option")
    assert dev.process.wait(30 * SLOW) == 1
    errors = pathlib.Path(dev.errors).read_text()
    assert "--no-such-option" in errors and "the server has ended with status 2" in errors


def test_the_server_of_dev_can_have_a_manual_clock(program):
    dev, server, receiver, _ = start_dev(program, "--clock", "manual")
    assert dev.find(r"^turn the clock: (.*)$")[1] == f"duepost clock advance 1h --server {server}"
    subprocess.run([BINARY, "schedule", "hello/one", "--server", server, "--delay", "1h", "--url", receiver, "--body", "1"], check=True, capture_output=True)
    turned = subprocess.run([BINARY, "clock", "advance", "1h", "--server", server], check=True, capture_output=True, text=True)
    assert " hello  one  attempt  1 " in turned.stdout
    dev.find(r"Z attempt 1 of hello/one 1$")
