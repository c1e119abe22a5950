"""The parts of a measurement: the processes that it starts, their CPU time, and a plain connection to Redis.

Each part stops the process that it started, by its pid."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def await_condition(condition, seconds, what, step=0.02):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"gave up after {seconds:.0f} s: {what}")
        time.sleep(step)
    return result


def first_line(process, seconds, what, lines=1):
    """Returns the line, or lines, that the process prints when it is ready."""
    line, deadline = b"", time.monotonic() + seconds
    while line.count(b"\n") < lines:
        if not select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            raise SystemExit(f"{what} said nothing within {seconds} s")
        piece = os.read(process.stdout.fileno(), 1000)
        if not piece:
            raise SystemExit(f"{what} ended at once")
        line += piece
    return line.decode().strip()


def cpu_seconds(pid):
    """Returns the process's user and system time, with all threads and ended children; in ns where the kernel counts them."""
    base = pathlib.Path(f"/proc/{pid}")
    fields = (base / "stat").read_text().rpartition(")")[2].split()
    children_s = (int(fields[13]) + int(fields[14])) * TICK_S
    try:
        threads = [(task / "schedstat").read_text() for task in (base / "task").iterdir()]
        own_s = sum(int(text.split()[0]) for text in threads) / 1e9
    except FileNotFoundError:
        own_s = (int(fields[11]) + int(fields[12])) * TICK_S
    return own_s + children_s


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


class Redis:
    """A client that sends commands over a unix socket."""

    def __init__(self, path):
        # The path of a socket must be short, and the name of a data directory may be long.
        self._dir = os.open(os.path.dirname(path), os.O_PATH)
        self._link = socket.socket(socket.AF_UNIX)
        self._link.settimeout(60)
        self._link.connect(f"/proc/self/fd/{self._dir}/{os.path.basename(path)}")
        self._in = self._link.makefile("rb")

    def send(self, *commands):
        def bulk(word):
            data = word if isinstance(word, bytes) else str(word).encode()
            return b"$%d\r\n%s\r\n" % (len(data), data)
        self._link.sendall(b"".join(b"*%d\r\n%s" % (len(words), b"".join(map(bulk, words))) for words in commands))

    def read(self):
        line = self._in.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._in.read(int(rest) + 2)[:-2].decode() if int(rest) >= 0 else None
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"+":
            return rest.decode()
        raise SystemExit(f"Redis: {rest.decode()}")

    def call(self, *words):
        self.send(words)
        return self.read()

    def info(self, section):
        return dict(line.split(":", 1) for line in self.call("INFO", section).splitlines() if ":" in line)

    def settle(self):
        """Waits until no rewrite of the append-only file is under way, because a rewrite is a process with CPU time
        of its own."""
        await_condition(lambda: self.info("persistence")["aof_rewrite_in_progress"] == "0", 120, "AOF rewrite", .1)

    def close(self):
        self._in.close()
        self._link.close()
        os.close(self._dir)


class Link:
    """A minimal HTTP client with one kept-alive connection."""

    def __init__(self, port):
        self._link = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in = self._link.makefile("rb")

    def ask(self, method, target, document=None):
        """Returns the document of the answer, None if it is empty."""
        body = b"" if document is None else json.dumps(document).encode()
        self._link.sendall(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        status = int(self._in.readline().split()[1])
        answer = self._in.read(int(read_headers(self._in).get("content-length", 0)))
        if status not in (200, 207):
            raise SystemExit(f"{target}: {status} {answer.decode()}")
        return json.loads(answer) if answer else None

    def close(self):
        self._in.close()
        self._link.close()


def read_headers(stream):
    """The headers of a message whose first line has been read, by their names in lower case."""
    headers = {}
    while (line := stream.readline().strip()):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return headers


class Receiver:
    """receiver.c, with and without TLS. ca_file is its certificate, which is self-signed."""

    def __init__(self, binary, scratch):
        self._folder = tempfile.TemporaryDirectory(prefix="duepost-bench-", dir=scratch)
        self.ca_file, key = (f"{self._folder.name}/{name}.pem" for name in ("certificate", "key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.ca_file],
                       check=True, capture_output=True)
        self._process = subprocess.Popen([binary, self.ca_file, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port, self._tls_port = map(int, first_line(self._process, 10, "the receiver", lines=2).split())
        self._link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def url(self, number, tls=False):
        return f"https://127.0.0.1:{self._tls_port}/{number}" if tls else f"http://127.0.0.1:{self.port}/{number}"

    def _get(self, target):
        self._link.request("GET", target)
        return json.loads(self._link.getresponse().read())

    def take(self):
        return self._get("/take")

    def count(self):
        return self._get("/count")

    def stop(self):
        self._link.close()
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()
        self._folder.cleanup()


class Duepost:
    """A server with its private Redis, in a temporary directory."""

    def __init__(self, binary, scratch, options=()):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="duepost-bench-", dir=scratch))
        self._command = [binary, "--config", "/dev/null", "--listen", "127.0.0.1:0", "--data", str(self.data / "redis"),
                         "--allow-target", "127.0.0.0/8", *options]
        self._start()

    def _start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DUEPOST_")}
        self._log = (self.data / "log").open("w+")
        self._process = subprocess.Popen(self._command, env=environment, stdout=subprocess.PIPE, stderr=self._log)
        self.pid, self.redis_pid, self.redis = self._process.pid, 0, None
        try:
            self._await_start()
        except BaseException:
            self.stop()
            raise

    def _await_start(self):
        self.port = int(first_line(self._process, 300, "duepost").rpartition(":")[2])
        log = (self.data / "log").read_text()
        self.redis_pid = int(re.search(r"embedded_redis_(?:started|taken_over) pid=(\d+)", log)[1])
        # Each reactor becomes ready separately, and any of them may answer the request.
        for _ in range(32):
            await_condition(self._is_ready, 300, "duepost ready")
        self.redis = Redis(str(self.data / "redis" / "redis.sock"))

    def _is_ready(self):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            link.request("GET", "/readyz")
            return link.getresponse().status == 200
        finally:
            link.close()

    def cpu(self):
        return cpu_seconds(self.pid), cpu_seconds(self.redis_pid)

    def job_count(self):
        return self.redis.call("HLEN", "duepost:{0}:jobs")

    def outbox_count(self):
        """Returns the number of ended jobs that the history does not have yet."""
        return self.redis.call("HLEN", "duepost:{0}:ended")

    def again(self, how=signal.SIGTERM):
        """Ends the process and starts it with the same data. Returns how long the start took, in s."""
        self._end(how)
        began = time.monotonic()
        self._start()
        return time.monotonic() - began

    def stop(self):
        self._end(signal.SIGTERM)
        shutil.rmtree(self.data, ignore_errors=True)

    def _end(self, how):
        if self.redis:
            self.redis.close()
        self._process.send_signal(how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            if self.redis_pid:
                os.kill(self.redis_pid, signal.SIGKILL)
        self._process.stdout.close()
        self._log.close()


class Load:
    """One run of the load generator; result() waits for its end."""

    def __init__(self, binary, server, url, **settings):
        words = [f"{name}={value}" for name, value in settings.items()]
        self._process = subprocess.Popen([binary, str(server.port), url, *words], stdout=subprocess.PIPE, text=True)

    def is_running(self):
        return self._process.poll() is None

    def result(self, seconds=900):
        try:
            out, _ = self._process.communicate(timeout=seconds)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
        if self._process.returncode != 0:
            raise SystemExit("the load generator failed")
        return json.loads(out)


class Postgres:
    """Debian's PostgreSQL with its default settings, on a unix socket. PostgreSQL refuses to run as root, so root
    runs it as the user postgres."""

    def __init__(self, scratch):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs:
            raise SystemExit("PostgreSQL is not installed: script/bootstrap")
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="duepost-bench-", dir=scratch))
        self._as_user = []
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
            self._as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"]
        data = self._folder / "data"
        subprocess.run([*self._as_user, programs[-1] / "initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust",
                        "--encoding", "UTF8", "--locale", "C"], check=True, stdout=subprocess.DEVNULL, cwd="/")
        self._process = subprocess.Popen([*self._as_user, programs[-1] / "postgres", "-D", data, "-k", self._folder, "-c", "listen_addresses="],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        self.url = f"postgresql://postgres@/postgres?host={self._folder}"

    def __enter__(self):
        ready = next(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_isready"))
        await_condition(lambda: subprocess.run([ready, "--quiet", "--host", self._folder], check=False).returncode == 0, 30, "PostgreSQL")
        return self

    def _pids(self):
        own = str(self._process.pid)
        children = pathlib.Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return [int(pid) for pid in (own, *children)]

    @contextlib.contextmanager
    def frozen(self):
        """Within this context, all processes of the server are stopped. Its sockets stay open."""
        pids = self._pids()
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)
        shutil.rmtree(self._folder, ignore_errors=True)
