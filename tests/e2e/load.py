"""Schedules jobs continuously while Redis has faults, and checks the jobs at the end: all confirmed jobs are
delivered, no job is early, and no job is delivered after its cancel."""

import concurrent.futures
import dataclasses
import json
import threading
import time

from patience import until
from timestamp import to_ms

HELD_S = 3600
CONFIRMED, CANCELLED, UNKNOWN = "confirmed", "cancelled", "unknown"


@dataclasses.dataclass
class Sent:
    """A job, and what the client has seen of it."""
    is_held: bool     # the job's due time is far away: it waits in Redis until release()
    at: float         # by time.monotonic()
    earliest_ms: int  # the job must not be delivered before this time
    state: str = UNKNOWN


class Load:
    """One thread for each topic. A job that is not confirmed is sent once more, on another connection, which another
    reactor may serve. Every held_every-th job has a due time that is far away (is_held), and every fourth of these is
    cancelled."""

    def __init__(self, server, receiver, topics, pause=0.1, held_every=3):
        self.server, self.receiver, self.topics = server, receiver, topics
        self.pause, self.held_every = pause, held_every
        self.jobs = {topic: {} for topic in topics}  # topic -> the job's number -> Sent; jobs of put_ahead() have negative numbers
        self.ahead = 0
        self.wrong = []  # answers that duepost must never give
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(topic,)) for topic in topics]
        for thread in self.threads:
            thread.start()
        try:
            until(lambda: all(len(self._numbers(topic, CONFIRMED)) >= 5 for topic in topics), 10, "jobs in every topic")
        except AssertionError:
            self.stop()
            raise

    def _run(self, topic):
        number = 0
        while not self.stopped.wait(self.pause):
            number += 1
            self._schedule(topic, number)
            cancelled = number - 2 * self.held_every
            if number % (4 * self.held_every) == 0 and cancelled > 0:
                self._cancel(topic, cancelled)

    def _ask(self, allowed, method, target, job=None):
        """Sends a request. Returns the answer, or None if the outcome is unknown."""
        body, headers = (json.dumps(job), {"Content-Type": "application/json"}) if job else (None, None)
        try:
            reply = self.server.request(method, target, body, headers, check=False)
        except OSError:
            return None
        if reply.status not in (*allowed, 503):
            self.wrong.append(f"{method} {target}: {reply.status} {reply.body}")
        return reply if reply.status in allowed else None

    def _schedule(self, topic, number):
        is_held = number % self.held_every == 0
        delay = HELD_S if is_held else (0, 0, 0.5, 0)[number % 4]
        job = Sent(is_held, time.monotonic(), int(time.time() * 1000 + delay * 1000))
        self.jobs[topic][number] = job
        body = {"topic": topic, "jobId": str(number), "url": self.receiver.url(), "delay": delay}
        reply = self._ask((200, 201), "POST", "/jobs", body)
        if reply:
            job.earliest_ms = to_ms(reply.json["dueAt"])
        else:
            self.server.close()
            reply = self._ask((200, 201), "POST", "/jobs", body)
        if reply:
            job.state = CONFIRMED

    def _cancel(self, topic, number):
        job = self.jobs[topic][number]
        if job.state == CONFIRMED:
            reply = self._ask((200, 404), "DELETE", f"/jobs/{topic}/{number}")
            if not reply:
                job.state = UNKNOWN
            elif reply.status == 200:
                job.state = CANCELLED  # after a 404, the job stays CONFIRMED, and the final check reports the job as lost

    def _numbers(self, topic, state):
        return {number for number, job in list(self.jobs[topic].items()) if job.state == state}

    def delivered(self, topic):
        return {int(arrival.job_id) for arrival in self.receiver.of(topic)}

    def put_ahead(self, seconds):
        """Schedules jobs for the next seconds, in each topic one job each half second. So jobs become due even while
        new jobs are refused."""
        delays = [step / 2 for step in range(1, 2 * seconds)]
        jobs = [{"topic": topic, "jobId": str(-1 - i - self.ahead), "url": self.receiver.url(), "delay": delay}
                for topic in self.topics for i, delay in enumerate(delays)]
        self.ahead += len(delays)
        answer = self._ask((207,), "POST", "/jobs", jobs)
        for result in answer.json["results"]:
            assert result["status"] == 201, result
            self.jobs[result["topic"]][int(result["jobId"])] = Sent(False, time.monotonic(), to_ms(result["dueAt"]), CONFIRMED)

    def _await(self, what, seconds):
        """Waits until what(topic) is true for each topic."""
        def is_there():
            return all(what(topic) for topic in self.topics)
        until(is_there, seconds, lambda: "still away: %s\n%s" % ([topic for topic in self.topics if not what(topic)],
                                                                 self.server.log()[-3000:]))

    def await_resumed(self, since, seconds):
        """Waits until, in each topic, a job that was sent after this call is confirmed and delivered. Returns the seconds that this took."""
        def has_resumed(topic):
            fresh = {number for number, job in list(self.jobs[topic].items()) if job.at > since and job.state == CONFIRMED}
            return fresh & self.delivered(topic)
        self._await(has_resumed, since + seconds - time.monotonic())
        return time.monotonic() - since

    def await_deliveries(self, seconds):
        """Waits until, in each topic, a job that becomes due from now on is delivered."""
        now_ms = time.time() * 1000

        def has_delivered(topic):
            return any(self.jobs[topic][number].earliest_ms > now_ms for number in self.delivered(topic))
        self._await(has_delivered, seconds)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def _release_one(self, topic, number):
        target = f"/jobs/{topic}/{number}/run"
        return until(lambda: self._ask((202, 404), "POST", target), 20, f"an answer to {target}").status == 202

    def release(self):
        """Runs all confirmed jobs whose due time is far away (is_held). Returns those that duepost does not have, as
        (topic, number)."""
        held = [(topic, number) for topic in self.topics for number in self._numbers(topic, CONFIRMED)
                if self.jobs[topic][number].is_held]
        for topic, number in held:
            self.jobs[topic][number].earliest_ms = int(time.time() * 1000)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            are_there = list(pool.map(lambda job: self._release_one(*job), held))
        return [job for job, is_there in zip(held, are_there) if not is_there and job in self._lost()]

    def _lost(self):
        return [(topic, number) for topic in self.topics
                for number in sorted(self._numbers(topic, CONFIRMED) - self.delivered(topic))]

    def end(self):
        """Checks all jobs. Returns how many were confirmed."""
        self.stop()
        assert not self.wrong, self.wrong[:5]
        missing = self.release()
        assert not missing, f"confirmed, and gone: {missing}"
        until(lambda: not self._lost(), 30, lambda: f"confirmed, and not delivered: {self._lost()}")
        for topic in self.topics:
            jobs = self.jobs[topic]
            assert self.delivered(topic) <= jobs.keys()
            assert not self.delivered(topic) & self._numbers(topic, CANCELLED), "delivered after its cancel"
            for arrival in self.receiver.of(topic):
                assert arrival.at_ms >= jobs[int(arrival.job_id)].earliest_ms, f"{topic}/{arrival.job_id} early"
        return sum(len(self._numbers(topic, CONFIRMED)) for topic in self.topics)
