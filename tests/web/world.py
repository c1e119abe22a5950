"""A server with an example of everything that the dashboard shows."""

import json

from patience import until
from pull import Waiter, lease
from qstash import QStashWithBreakers
from receiver import HANG, Answer, Receiver
from redis_server import free_port, release_port
from runs import TAKEN
import durable
import scratch

JSON = {"Content-Type": "application/json"}
BREAKER_OPENS = 20  # failures in a row


def settings(server, topic, **members):
    return server.request("PUT", f"/topics/{topic}", json.dumps(members), JSON).expect(200)


def limit(server, name, **members):
    return server.request("PUT", f"/limits/{name}", json.dumps(members), JSON).expect(201)


def group(server, name, **endpoints):
    return server.request("PUT", f"/groups/{name}", json.dumps({"endpoints": endpoints}), JSON).expect(201)


def recurring(server, topic, name, **members):
    return server.request("PUT", f"/schedules/{topic}/{name}", json.dumps(members), JSON).expect(201)


def count(server, **filters):
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    return server.get(f"/jobs/count?{query}").expect(200)["count"]


def open_breaker(server, topic):
    """Opens the breaker of a receiver that refuses connections, and schedules one more job, which is held. Returns the receiver's name."""
    port = free_port()
    name, url = f"127.0.0.1:{port}", f"http://127.0.0.1:{port}/hook"
    try:
        for number in range(BREAKER_OPENS):
            server.schedule(topic=topic, jobId=f"refused-{number}", url=url, retrySchedule=[20 * 3600])
        until(lambda: any(one["receiver"] == name and one["state"] == "open" for one in server.get("/receivers").expect(200)["receivers"]),
              20, "the breaker is open")
    finally:
        release_port(port)
    server.schedule(topic=topic, jobId="held", url=url)
    return name


class World:
    """
    topic | has
    orders | labels, settings, delayed, delivered and cancelled jobs
    orders-* | settings by pattern; orders-eu has some of them, and a job of a key that is paused
    mail | paused, with jobs that wait
    slow | leased jobs: the receiver does not answer
    invoices | dead jobs, of several reasons, and one that waits for a retry
    shop | jobs of a receiver that is impaired
    thumbs, render | pull topics: a worker waits; jobs are leased
    reports | schedules, and the limit stripe, which it could share with others
    cart-1 | fifo
    shops | a group
    qstash | durable workflows: order-1041 sleeps, signup-7 waits for an event, import-3 failed, report-9 succeeded, mail-5 was cancelled
    """

    def __init__(self, *options):
        self.receiver = Receiver()
        self.server = QStashWithBreakers("--breaker-wait", "10m", "--history", f"sqlite:{scratch.file('history.sqlite')}", *options)
        self.waiter = None
        try:
            self.fill()
        except BaseException:
            self.stop()
            raise

    def fill(self):
        self.topics()
        self.jobs()
        self.ended_jobs()
        self.impaired = open_breaker(self.server, "shop")
        self.pulled()
        self.others()
        self.workflows()

    def topics(self):
        settings(self.server, "orders", maxInFlight=20, rate={"jobs": 500, "per": 1}, headers={"Authorization": "Bearer s3cret"})
        settings(self.server, "orders-*", timeout=20, maxInFlight=7)
        settings(self.server, "orders-eu", timeout=10)
        settings(self.server, "mail", paused=True)
        settings(self.server, "cart-1", order="fifo")

    def jobs(self):
        url, server = self.receiver.url("/hook?key=s3cret"), self.server
        for number in range(30):
            server.schedule(topic="orders", jobId=f"order-{number:03}", url=url, delay=3600 + 60 * number, body={"order": number, "total": 1.5},
                            labels=["eu" if number % 2 else "us", f"tenant-{number % 3}"], headers={"X-Key": "s3cret", "Content-Type": "application/json"})
        server.schedule(topic="orders-eu", jobId="far", url=url, delay="20d", key="tenant-1")
        server.request("PUT", "/topics/orders-eu/keys/tenant-1", json.dumps({"paused": True, "pauseReason": "unpaid", "maxInFlight": 2}), JSON).expect(200)
        for number in range(4):
            server.schedule(topic="mail", jobId=f"mail-{number}", url=url, body=f"text {number}")
        self.receiver.script("slow", HANG)
        for number in range(3):
            server.schedule(topic="slow", jobId=f"slow-{number}", url=url, timeout=3600)
        for number in range(3):
            server.schedule(topic="cart-1", jobId=f"step-{number}", url=url, delay=7200 + number)

    def ended_jobs(self):
        url, server = self.receiver.url(), self.server
        self.receiver.script("invoices", Answer(500, body=b'{"error": "out of paper"}'))
        self.receiver.script("invoices", Answer(410, body=b"no longer here"), job_id="gone")
        for number in range(8):
            server.schedule(topic="invoices", jobId=f"invoice-{number}", url=url, retry=0, body={"invoice": number})
        server.schedule(topic="invoices", jobId="gone", url=url)
        server.schedule(topic="invoices", jobId="waits", url=url, retrySchedule=[7200])
        for number in range(12):
            server.schedule(topic="orders", jobId=f"done-{number}", url=url, labels=["eu"], body={"order": number})
        server.schedule(topic="orders", jobId="cancelled", url=url, delay=3600)
        server.cancel("orders", "cancelled").expect(200)
        until(lambda: count(server, state="delivered", topic="orders") == 12, 20, "delivered jobs are in the history")
        until(lambda: count(server, state="cancelled", topic="orders") == 1, 20, "the cancelled job is in the history")
        until(lambda: count(server, state="dead", topic="invoices") == 9, 20, "dead jobs")

    def pulled(self):
        settings(self.server, "thumbs", delivery="pull")
        settings(self.server, "render", delivery="pull")
        for number in range(3):
            self.server.schedule(topic="render", jobId=f"frame-{number}", body={"frame": number})
        lease(self.server, "render", max=2, lease=3600)
        self.waiter = Waiter(self.server, "thumbs")

    def others(self):
        url = self.receiver.url()
        recurring(self.server, "reports", "daily", cron="0 4 * * mon-fri", timezone="Europe/Berlin", job={"url": url, "body": {"kind": "daily"}})
        recurring(self.server, "reports", "hourly", every="1h", paused=True, job={"url": url})
        limit(self.server, "stripe", maxInFlight=20, rate={"jobs": 100, "per": 1})
        settings(self.server, "reports", limit="stripe")
        group(self.server, "shops", north={"url": url, "headers": {"Authorization": "Bearer s3cret"}}, south={"url": url, "method": "PUT"})

    def workflows(self):
        server, url = self.server, self.receiver.url("/workflow")
        self.receiver.script("/workflow", TAKEN)
        self.receiver.script("/import", TAKEN, Answer(489, body=b"broken", headers=(("Upstash-NonRetryable-Error", "true"),)))
        for name in ("order-1041", "signup-7", "report-9", "mail-5"):
            durable.begin(server, url, name, upstash_label="shop")
            durable.append(server, url, name, "charged")
        durable.append(server, url, "order-1041", "asleep", upstash_delay="1h")
        durable.wait(server, url, "signup-7", "confirmed")
        durable.end(server, "report-9")
        server.request("DELETE", "/workflows/qstash/mail-5").expect(200)
        failing = self.receiver.url("/import")
        durable.begin(server, failing, "import-3")
        durable.append(server, failing, "import-3", "broken")
        until(lambda: server.get("/workflows/qstash/import-3").expect(200)["state"] == "failed", 20, "a workflow has failed")
        until(lambda: server.get("/workflows/qstash/order-1041").expect(200)["openCount"] == 1, 20, "a workflow sleeps")

    def stop(self):
        if self.waiter:
            self.waiter.leave()
        self.server.stop()
        self.receiver.stop()
