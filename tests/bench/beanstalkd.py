"""beanstalkd with its log, for comparison with duepost: put, a consumer that POSTs, and reserve and delete in
pipelines."""

import contextlib
import pathlib
import socket
import subprocess
import tempfile
import time

from parts import Load, await_condition, cpu_seconds

SYNCED, UNSYNCED = ["-f", "0"], ["-F"]  # -f 0: an fsync for each write, which beanstalkd cannot share among writes; -F: no fsync
BATCH = 32


class Beanstalkd:
    """with Beanstalkd(scratch, sync): a server with an empty log in a directory of its own."""

    def __init__(self, scratch, sync):
        self._folder = tempfile.TemporaryDirectory(prefix="duepost-bench-", dir=scratch)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        self._process = subprocess.Popen(["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), "-b", self._folder.name, *sync],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.link = await_condition(self._connect, 10, "beanstalkd")
        self.stream = self.link.makefile("rb")

    def _connect(self):
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def cpu(self):
        return cpu_seconds(self._process.pid)

    def job_count(self):
        self.link.sendall(b"stats\r\n")
        text = self.stream.read(int(self.stream.readline().split()[1]) + 2).decode()
        counts = dict(line.split(": ") for line in text.splitlines() if ": " in line)
        return sum(int(counts[f"current-jobs-{state}"]) for state in ("ready", "reserved", "delayed", "buried"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.link.close()
        self._process.terminate()
        self._process.wait(30)
        self._folder.cleanup()


class Consumer:
    """with Consumer(build, port, url, connections): consumer.c, which POSTs what is put."""

    def __init__(self, build, port, url, connections):
        program = pathlib.Path(build) / "tests" / "bench" / "bench_consumer"
        self._process = subprocess.Popen([program, str(port), url, str(connections)])

    def cpu(self):
        return cpu_seconds(self._process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait(30)


def _put(bench, server, jobs, connections, **more):
    first, bench.numbers = bench.numbers, bench.numbers + jobs
    load = pathlib.Path(bench.settings.build) / "tests" / "bench" / "bench_load"
    return Load(str(load), server, "", beanstalkd=1, jobs=jobs, first=first, connections=connections, **more)


def accept(bench, sync, jobs, **more):
    """Returns the CPU time of a put in us."""
    with Beanstalkd(bench.settings.scratch, sync) as server:
        before = server.cpu()
        _put(bench, server, jobs, **more).result()
        return (server.cpu() - before) / jobs * 1e6


def deliver(bench, sync, jobs, connections, body):
    """Returns the CPU time of beanstalkd and the consumer in us a job, for jobs that are ready when the consumer
    begins."""
    with Beanstalkd(bench.settings.scratch, sync) as server:
        _put(bench, server, jobs, connections, body=body, due=1).result()
        bench.receiver.take()
        before = server.cpu()
        with Consumer(bench.settings.build, server.port, bench.receiver.url(0), connections) as consumer:
            _await_end(bench, server, jobs)
            return (server.cpu() - before + consumer.cpu()) / jobs * 1e6


def light(bench, sync, jobs, connections, body):
    """Returns the CPU time of put and delivery in us a job, for 200 jobs a second with delays of 1 to 10 whole
    seconds."""
    with Beanstalkd(bench.settings.scratch, sync) as server, \
            Consumer(bench.settings.build, server.port, bench.receiver.url(0), connections) as consumer:
        time.sleep(1)
        bench.receiver.take()
        before = server.cpu() + consumer.cpu()
        _put(bench, server, jobs, connections, body=body, rate=200, delay_min_ms=1000, delay_max_ms=10_000).result()
        _await_end(bench, server, jobs)
        return (server.cpu() + consumer.cpu() - before) / jobs * 1e6


def _await_end(bench, server, jobs):
    await_condition(lambda: bench.receiver.count()[0] >= jobs, 300, "all jobs delivered")
    await_condition(lambda: server.job_count() == 0, 30, "all jobs deleted")
    bench.receiver.take()


# ---- a worker that reserves and deletes jobs, and POSTs nothing ----

def _lines(stream, count, is_job):
    ids = []
    for _ in range(count):
        words = stream.readline().split()
        if is_job:
            if words[0] != b"RESERVED":
                raise SystemExit(f"beanstalkd: {words}")
            ids.append(words[1])
            stream.read(int(words[2]) + 2)
        elif words[0] not in (b"INSERTED", b"DELETED"):
            raise SystemExit(f"beanstalkd: {words}")
    return ids


def _in_pipeline(server, commands, is_job=False):
    server.link.sendall(b"".join(commands))
    return _lines(server.stream, len(commands), is_job)


def reserve_and_delete(bench, sync, jobs, body):
    """Returns the CPU time of beanstalkd in us a job, with 32 commands in a pipeline."""
    with Beanstalkd(bench.settings.scratch, sync) as server:
        put = b"put 0 0 60 %d\r\n%s\r\n" % (body, b"x" * body)
        for first in range(0, jobs, BATCH):
            _in_pipeline(server, [put] * min(BATCH, jobs - first))
        before = server.cpu()
        for first in range(0, jobs, BATCH):
            ids = _in_pipeline(server, [b"reserve\r\n"] * min(BATCH, jobs - first), is_job=True)
            _in_pipeline(server, [b"delete %s\r\n" % number for number in ids])
        return (server.cpu() - before) / jobs * 1e6
