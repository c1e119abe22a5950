"""A server with the jobs, receivers and traffic of an imaginary shop, for pictures of the dashboard."""

import json
import math
import random
import threading
import time

from duepost import Duepost
from pull import Waiter, lease
from receiver import HANG, Answer, Receiver
from world import group, open_breaker, recurring, settings
import scratch

# topic: jobs a second, the longest delay in seconds, and the share of attempts that the receiver answers with a failure.
TRAFFIC = {
    "orders.close": (12, 40, 0.0), "mail": (30, 5, 0.01), "webhooks.acme": (9, 8, 0.04), "payments.settle": (6, 20, 0.0),
    "search.index": (18, 3, 0.0), "carts.remind": (4, 60, 0.02), "invoices": (3, 10, 0.03),
}
LATER = {"orders.close": 900, "carts.remind": 86400, "subscriptions.renew": 30 * 86400, "trials.end": 14 * 86400}  # s
TICK = 0.25  # s
NDJSON = {"Content-Type": "application/x-ndjson"}


class Shop:
    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.receiver = Receiver()
        self.server = Duepost("--breaker-wait", "5m", "--history", f"sqlite:{scratch.file('history.sqlite')}")
        self.number = 7000
        self.waiters = []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.trade, daemon=True)
        try:
            self.fill()
            self.thread.start()
        except BaseException:
            self.stop()
            raise

    def fill(self):
        settings(self.server, "mail", rate={"jobs": 200, "per": 1}, maxInFlight=20)
        settings(self.server, "webhooks.*", maxInFlight=10, timeout=15)
        settings(self.server, "newsletter", paused=True, pauseReason="waits for the new template")
        for topic, (_, _, share) in TRAFFIC.items():
            self.receiver.script(topic, *self.answers(share))
        self.later()
        self.stuck()
        self.pulled()
        url = self.receiver.url()
        recurring(self.server, "reports", "daily-revenue", cron="0 4 * * mon-fri", timezone="Europe/Berlin", job={"url": url})
        recurring(self.server, "reports", "stock-levels", every="15m", job={"url": url})
        group(self.server, "shops", north={"url": url}, south={"url": url}, web={"url": url})

    def answers(self, share):
        """Returns a receiver's answers. share: the share of failures, 0 to 1."""
        return [Answer(503 if self.random.random() < share else 200, delay=self.random.choice((0.002, 0.004, 0.01, 0.03))) for _ in range(20000)]

    def job(self, topic, delay, **members):
        self.number += 1
        return {"topic": topic, "jobId": f"{topic.split('.')[0].rstrip('s')}-{self.number}", "url": self.receiver.url(f"/{topic.replace('.', '/')}"),
                "delay": round(delay, 3), "labels": [self.random.choice(("eu", "us")), f"tenant-{self.random.randrange(5)}"],
                "body": {"order": self.number, "total": round(self.random.uniform(5, 300), 2), "currency": "EUR"}, **members}

    def send(self, jobs):
        text = "\n".join(json.dumps(job) for job in jobs)
        if jobs:
            self.server.request("POST", "/jobs", text, NDJSON, check=False).expect(207)

    def later(self):
        """Schedules jobs for the next hours, days and weeks."""
        for topic, span in LATER.items():
            self.send([self.job(topic, span * self.random.random() ** 1.5 + 60) for _ in range(700)])
        self.send([self.job("newsletter", 0) for _ in range(240)])

    def stuck(self):
        open_breaker(self.server, "webhooks.globex")
        self.receiver.script("exports", HANG)
        self.receiver.script("webhooks.initech", Answer(410, body=b'{"error": "This shop is closed."}'))
        self.receiver.script("payments.capture", Answer(422, body=b'{"error": "card_declined", "code": 51}'))
        self.send([self.job("exports", 0, timeout=3600) for _ in range(3)])
        self.send([self.job("webhooks.initech", 0) for _ in range(14)])
        self.send([self.job("payments.capture", 0, retry=1, retrySchedule=[2]) for _ in range(6)])

    def pulled(self):
        settings(self.server, "thumbnails", delivery="pull")
        settings(self.server, "render", delivery="pull")
        self.send([{"topic": "render", "jobId": f"frame-{number}", "body": {"frame": number}} for number in range(40)])
        lease(self.server, "render", max=6, lease=3600)
        self.waiters = [Waiter(self.server, "thumbnails") for _ in range(4)]

    def trade(self):
        """Schedules jobs until the shop stops. Their number rises and falls slowly, with a small random part."""
        began, owed = time.monotonic(), dict.fromkeys(TRAFFIC, 0.0)
        while not self.ends.wait(TICK):
            swing = 1 + 0.45 * math.sin((time.monotonic() - began) / 37) + self.random.uniform(-0.15, 0.15)
            for topic, (rate, longest, _) in TRAFFIC.items():
                owed[topic] += rate * swing * TICK
                whole, owed[topic] = int(owed[topic]), owed[topic] % 1
                self.send([self.job(topic, longest * self.random.random() ** 2, retrySchedule=[4, 15, 60]) for _ in range(whole)])

    def retried(self):
        """Schedules a job with an interesting timeline: two attempts fail, and the third one delivers it. Returns topic and id
        of the job."""
        self.receiver.script("orders.close", Answer(503, body=b'{"error": "database is locked"}', delay=0.4), Answer(503, delay=1.1),
                             Answer(200, delay=0.08), job_id="order-1041")
        self.server.schedule(topic="orders.close", jobId="order-1041", url=self.receiver.url("/orders/close"), delay=6, retrySchedule=[9, 14],
                             labels=["eu", "tenant-3"], headers={"Authorization": "Bearer s3cret"},
                             body={"order": 1041, "total": 129.5, "currency": "EUR", "customer": {"id": 77, "name": "Ada"}})
        return "orders.close", "order-1041"

    def stop(self):
        self.ends.set()
        if self.thread.ident:
            self.thread.join()
        for waiter in self.waiters:
            waiter.leave()
        self.server.stop()
        self.receiver.stop()
