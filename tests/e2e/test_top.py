"""duepost top, in a terminal and without one."""

import fcntl
import http.server
import json
import os
import pty
import re
import signal
import ssl
import struct
import subprocess
import termios
import threading

import pytest

import duepost
from patience import SLOW, until
from tls import Authority
from tokens import TokenFile

HIDE, SHOW, ENTER, LEAVE = b"\x1b[?25l", b"\x1b[?25h", b"\x1b[?1049h", b"\x1b[?1049l"


class Overview:
    """A server that knows only GET /overview. The figures of each answer begin one second later."""

    def __init__(self):
        self.status, self.requests, self.number = 200, [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.requests.append((self.path, self.headers["Authorization"]))
                body = json.dumps(outer.answer()).encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self):
        if self.status != 200:
            return {"title": "no", "status": self.status, "detail": "Not now."}
        self.number += 1
        return {"now": "2030-01-01T00:00:00.000Z",
                "series": {"from": 1000000 + 1000 * self.number, "step": 1, "accepted": [self.number] * 5, "delivered": [7] * 5},
                "jobs": {"delayed": 3, "ready": 1, "held": 0, "leased": 0, "pulled": 0, "dead": 2},
                "overdue": [{"topic": f"topic-{at}", "lateSeconds": 61, "ready": 1, "held": 0} for at in range(10)],
                "processes": [{"host": "node", "pid": 7, "version": "1", "reactors": 1, "inFlight": 0}]}

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def overview():
    server = Overview()
    yield server
    server.stop()


class Terminal:
    """A running duepost top with its own terminal."""

    def __init__(self, url, *words, size=(24, 80), **extra):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        environment = duepost.environment({"DUEPOST_SERVER": url, "TERM": "xterm", "LC_ALL": "C.UTF-8", **extra})
        self.process = subprocess.Popen([duepost.BINARY, "top", *words], stdin=slave, stdout=slave, stderr=slave, env=environment,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave, self.seen = slave, b""
        os.set_blocking(self.master, False)

    def read(self):
        while True:
            try:
                piece = os.read(self.master, 65536)
            except (BlockingIOError, OSError):
                return self.seen
            if not piece:
                return self.seen
            self.seen += piece

    def screen(self):
        """Returns the rows of the last complete frame."""
        frames = re.findall(rb"\x1b\[H(.*?)\x1b\[J", self.read(), re.S)
        return re.sub(r"\x1b\[[0-9;]*[mK]", "", frames[-1].decode()).replace("\r", "").split("\n") if frames else []

    def await_screen(self, condition, what):
        return until(lambda: (rows := self.screen()) and condition(rows) and rows, 10, lambda: (what, self.screen(), self.seen[-300:]))

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def await_end(self):
        """Returns the exit code, and checks that the terminal is as it was before."""
        until(lambda: (self.read(), self.process.poll())[1] is not None, 10, lambda: self.seen[-300:])
        assert termios.tcgetattr(self.slave) == self.before
        self.read()
        assert self.seen.endswith(SHOW + LEAVE) or ENTER not in self.seen
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def top():
    opened = []

    def one(*words, **named):
        opened.append(Terminal(*words, **named))
        return opened[-1]
    yield one
    for each in opened:
        each.close()


def is_drawn(rows):
    return any(row.startswith("processes: 1") for row in rows)


def test_the_screen_is_drawn_again_each_second(overview, top):
    terminal = top(overview.url)
    terminal.await_screen(is_drawn, "a first screen")
    assert terminal.read().startswith(ENTER + HIDE)
    first = overview.number
    rows = terminal.await_screen(lambda rows: overview.number >= first + 3, "three more answers")
    assert 10 < len(rows) <= 24 and all(len(row) <= 80 for row in rows)
    assert "█" in "".join(rows)
    # Only the first request asks for all figures.
    assert overview.requests[0][0] == "/overview"
    assert all(re.fullmatch(r"/overview\?after=1\d{6}", path) for path, _ in overview.requests[1:])
    terminal.type(b"xq")
    assert terminal.await_end() == 0


def test_the_screen_follows_the_window(overview, top):
    terminal = top(overview.url, size=(60, 120))
    terminal.await_screen(lambda rows: is_drawn(rows) and "overdue topics: 10" in rows, "all topics")
    terminal.resize(12, 40)
    rows = terminal.await_screen(lambda rows: len(rows) == 12, "12 rows")
    assert all(len(row) <= 40 for row in rows) and is_drawn(rows)
    terminal.resize(50, 100)
    terminal.await_screen(lambda rows: len(rows) > 12 and is_drawn(rows), "more rows")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(overview, top, number):
    terminal = top(overview.url)
    terminal.await_screen(is_drawn, "a screen")
    if number == signal.SIGINT:
        terminal.type(b"\x03")
    else:
        terminal.process.send_signal(number)
    assert terminal.await_end() == 0


def test_it_can_be_stopped_and_continued(overview, top):
    terminal = top(overview.url)
    terminal.await_screen(is_drawn, "a screen")
    terminal.process.send_signal(signal.SIGTSTP)
    until(lambda: "T" in open(f"/proc/{terminal.process.pid}/stat").read().rpartition(")")[2].split()[0], 10, "stopped")
    assert terminal.read().endswith(SHOW + LEAVE) and termios.tcgetattr(terminal.slave) == terminal.before
    terminal.seen = b""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.await_screen(is_drawn, "a screen again")
    terminal.type(b"q")
    assert terminal.await_end() == 0


def test_a_server_that_is_away_is_shown_and_comes_back(overview, top):
    terminal = top(overview.url)
    terminal.await_screen(is_drawn, "a screen")
    overview.status = 503
    terminal.await_screen(lambda rows: "no answer: 503: Not now." in rows and is_drawn(rows), "the reason, over the last figures")
    overview.status = 200
    terminal.await_screen(lambda rows: is_drawn(rows) and not any(row.startswith("no answer") for row in rows), "an answer")
    terminal.type(b"q")
    assert terminal.await_end() == 0


def test_a_server_that_refuses_at_first_takes_no_screen(overview, top):
    overview.status = 401
    terminal = top(overview.url)
    assert terminal.await_end() == 1
    assert ENTER not in terminal.seen and b"DUEPOST_TOKEN" in terminal.seen


def test_colours_can_be_turned_off(overview, top):
    for extra, has_color in (({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)):
        terminal = top(overview.url, **extra)
        terminal.await_screen(is_drawn, "a screen")
        assert (re.search(rb"\x1b\[[0-9]+m", terminal.read()) is not None) == has_color, extra
        terminal.type(b"q")
        assert terminal.await_end() == 0


def test_another_locale_has_ascii_only(overview, top):
    terminal = top(overview.url, LC_ALL="C")
    terminal.await_screen(is_drawn, "a screen")
    assert terminal.read().isascii()


def once(url, *words, token="", code=0, **extra):
    done = subprocess.run([duepost.BINARY, "top", *words], capture_output=True, text=True, timeout=30 * SLOW,
                          env=duepost.environment({"DUEPOST_SERVER": url, "DUEPOST_TOKEN": token, **extra}))
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def test_without_a_terminal_it_is_printed_once(overview):
    for words in (), ("--once",):
        text = once(overview.url, *words, token="dp_secret")
        assert "\x1b" not in text and "jobs      3 delayed   1 ready" in text
        assert text.count(" late  1 ready") == 10
    assert [token for _, token in overview.requests] == ["Bearer dp_secret"] * 2
    assert all(len(row) <= 50 for row in once(overview.url, COLUMNS="50").splitlines())
    assert json.loads(once(overview.url, "--json"))["jobs"]["dead"] == 2


def test_once_in_a_terminal_is_plain_text(overview, top):
    terminal = top(overview.url, "--once", size=(5, 60))
    assert terminal.await_end() == 0
    assert b"\x1b" not in terminal.seen and b"processes: 1" in terminal.seen


def test_errors_are_printed(overview):
    assert "unknown option" in once(overview.url, "--wrong", code=2)
    assert "check the server" in once("http://127.0.0.1:1", code=1)
    overview.status = 403
    assert "403: Not now." in once(overview.url, code=1)
    assert "--once" in duepost.run("top", "-h").stdout


# ---- a real server ----

def test_jobs_of_a_server_are_shown_while_they_flow(start, receiver, topic, top):
    """The server asks for a token and uses TLS."""
    authority, tokens = Authority(), TokenFile()
    authority.issue("first", "IP:127.0.0.1")
    token = tokens.add("watcher", scopes=["schedule", "read"])
    server = start("--tls-cert", str(authority.directory / "first.pem"), "--tls-key", str(authority.directory / "first.key"),
                   "--tokens", tokens.path, token=token, tls=ssl.create_default_context(cafile=authority.certificate))
    server.schedule_many([{"topic": topic, "url": receiver.url(), "delay": 7200}] * 3)
    terminal = top(server.url, "--ca-file", str(authority.certificate), size=(40, 120), DUEPOST_TOKEN=token)

    def flows(rows):
        server.schedule(topic=topic, url=receiver.url())
        return any(re.match(r"delivered +[0-9.]*[1-9][0-9.]*/s .*█", row) for row in rows)
    terminal.await_screen(flows, "a rate")
    rows = terminal.await_screen(lambda rows: any("week 3 " in row for row in rows), "three jobs that are coming")
    assert any(re.match(r"jobs +3 delayed", row) for row in rows)
    assert "processes: 1" in rows and f"pid {server.pid}" in "".join(rows)
    terminal.type(b"q")
    assert terminal.await_end() == 0
    assert "401" in once(server.url, "--ca-file", str(authority.certificate), token="dp_wrong", code=1)
