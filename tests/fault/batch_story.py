"""Jobs that are delivered in batches in the story of a test point: requests whose answer decides each job for itself, and
one that fails as a whole. Each job has one outcome, and an attempt that comes twice has the same number."""

import datetime
import http.server
import json
import threading
import time

import audit
from client import Told
from judge import Arrival
from lane import request
import verdict

GROUPS = {"mixed": 6, "failed": 4}  # key of the jobs -> their number
SIZE = 4


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        at_us, story = time.time_ns() // 1000, self.server.story
        jobs = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_failed = len(jobs) > 1 and jobs[0]["key"] == "failed"
        actions = ["500" if is_failed else self.action_of(job) for job in jobs]
        arrivals = [Arrival(at_us, self.client_address[0], job["attempt"], action) for job, action in zip(jobs, actions)]
        with story.lock:
            story.sizes.append(len(jobs))
            for job, arrival in zip(jobs, arrivals):
                story.arrivals.setdefault(f"{job['topic']}/{job['jobId']}", []).append(arrival)
        results = {"200": {"ok": True}, "500": {"retry": 0.5}, "410": {"bury": "gone"}}
        body = json.dumps({"results": [{"jobId": job["jobId"], **results[action]} for job, action in zip(jobs, actions)]}).encode()
        self.send_response(500 if is_failed else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        for arrival in arrivals:
            arrival.answered_us = time.time_ns() // 1000

    @staticmethod
    def action_of(job):
        number = int(job["jobId"].split("-")[1])
        return "410" if job["key"] == "mixed" and number == 1 else "500" if job["key"] == "mixed" and number == 2 and job["attempt"] == 1 else "200"

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A process that is killed resets its connections."""


class BatchStory:
    def __init__(self, lane):
        self.lane, self.topic = lane, lane.name + "-batch"
        self.lock, self.arrivals, self.sizes, self.told = threading.Lock(), {}, [], {}
        self.server = Server(("127.0.0.1", 0), Receiver)
        self.server.story = self
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def use(self, node, can_go_on):
        """Schedules all jobs in one request."""
        settings = {"batch": {"size": SIZE, "wait": 0.2}, "url": f"http://127.0.0.1:{self.server.server_port}/", "retrySchedule": [0.5] * 3}
        if not can_go_on() or request(node, "PUT", f"/topics/{self.topic}", settings)[0] != 200 or not can_go_on():
            return
        names = [(key, f"{key}-{number}") for key, most in GROUPS.items() for number in range(most)]
        sent_us = time.time_ns() // 1000
        status, answer = request(node, "POST", "/jobs", [{"topic": self.topic, "jobId": job_id, "key": key, "body": job_id} for key, job_id in names])
        results = (answer or {}).get("results") or [{"status": status, "detail": str(answer)}] * len(names)
        for (_, job_id), result in zip(names, results):
            told = self.told[f"{self.topic}/{job_id}"] = Told(scheduled=result["status"], sent_us=sent_us, answered_us=time.time_ns() // 1000)
            told.nothing_changed = "nothing changed" in result.get("detail", "")
            if "dueAt" in result:
                told.due_ms = int(datetime.datetime.fromisoformat(result["dueAt"]).timestamp() * 1000 + 0.5)

    def faults(self):
        """Returns the broken promises as sentences. The caller has waited until no job is left."""
        books = self.lane.books()
        dead = {key: losses for key, losses in books.dead.items() if key.startswith(self.topic + "/")}
        with self.lock:
            said = verdict.judge(self.told, self.arrivals, dead, self.lane.faults).broken
            said += [f"books of {self.topic}: {what}" for what in audit.faults(books)]
            for key, told in self.told.items():
                is_buried = key in dead
                if told.scheduled == 201 and is_buried != key.endswith("/mixed-1"):
                    said.append(f"{key} is {'dead' if is_buried else 'not dead'}")
                if is_buried and any(arrival.is_success for arrival in self.arrivals.get(key, ())):
                    said.append(f"{key} is dead and delivered")
        return said
