"""Workers that lease jobs in batches and complete them, and workers that wait for jobs."""

import datetime
import json
import selectors
import socket
import threading
import time

from parts import Link

BATCH, WORKERS = 32, 8
WAIT_S, LEASE_S = 60, 600


def make_pull_topic(port, topic):
    link = Link(port)
    link.ask("PATCH", f"/topics/{topic}", {"delivery": "pull"})
    link.close()


class _Count:
    """The jobs that all workers together have leased and completed."""

    def __init__(self, jobs):
        self.jobs, self.ids, self.done, self.lock = jobs, set(), 0, threading.Lock()

    def take(self, leased, results):
        with self.lock:
            self.ids.update(job["jobId"] for job in leased)
            self.done += sum(result["status"] == 200 for result in results)

    @property
    def is_over(self):
        return self.done >= self.jobs


def _work(port, topic, count, deadline):
    link = Link(port)
    while not count.is_over and time.monotonic() < deadline:
        leased = link.ask("POST", f"/topics/{topic}/lease", {"max": BATCH, "lease": 60})["jobs"]
        if leased:
            ends = [{"jobId": job["jobId"], "token": job["token"]} for job in leased]
            count.take(leased, link.ask("POST", f"/topics/{topic}/complete", ends)["results"])
    link.close()


def work(port, topic, jobs, seconds=300):
    count, begin = _Count(jobs), time.monotonic()
    workers = [threading.Thread(target=_work, args=(port, topic, count, begin + seconds)) for _ in range(WORKERS)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    if not count.is_over:
        raise SystemExit(f"only {count.done} of {jobs} jobs were completed within {seconds} s")
    return {"rate": jobs / (time.monotonic() - begin), "twice": count.done - len(count.ids)}


# ---- workers that wait ----

class Waiters:
    """Workers, each with a connection of its own, that wait for jobs of these topics, and ask again when they have got an answer."""

    def __init__(self, port, topics):
        self._is_over = False
        self._selector = selectors.DefaultSelector()
        self.late_ms = []
        for topic in topics:
            link = socket.create_connection(("127.0.0.1", port), timeout=60)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(link, selectors.EVENT_READ, topic)
            self._ask(link, topic)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @staticmethod
    def _ask(link, topic):
        body = json.dumps({"wait": WAIT_S, "lease": LEASE_S})
        link.sendall(f"POST /topics/{topic}/lease HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def _run(self):
        while not self._is_over:
            for key, _ in self._selector.select(0.2):
                now_ms = time.time() * 1000
                self._take(now_ms, key.fileobj.recv(1 << 16))
                self._ask(key.fileobj, key.data)

    def _take(self, now_ms, answer):
        """The answers are small: each comes in one piece."""
        head, _, body = answer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"lease: {answer.decode()}")
        for job in json.loads(body)["jobs"]:
            due_ms = datetime.datetime.fromisoformat(job["dueAt"]).timestamp() * 1000
            self.late_ms.append(now_ms - due_ms)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over = True
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()
