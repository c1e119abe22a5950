"""The data that one version leaves in Redis and in the history, part by part, and what a later version must do with it.

A part has a name, the first version that writes this kind of data, and these methods, each of which may be missing:

write        creates the data, with the old version. It notes values that the checks need, and names the paths whose
             answers must be as before
write_later  creates more data, also with the old version, after its process was killed and a new one has started,
             which cannot reach its history
check        checks the data with the new version, in the second in which the old process was killed
check_later  checks the data two hours later, when everything that waits for a time is due

A dump (upgrade_dump.py) of a version that is older than a part does not have the part. A part in a committed dump
never changes again: additions of a later version are a new part."""

import base64
import json

from patience import until
from pull import ask, end, lease, make_pull, name
from receiver import HANG, Answer
from runs import TAKEN, Run, decoded, failing, step
from qstash import verified
from test_signatures import SHARED, signatures, v1
from timestamp import to_ms
from upgrade_world import BEGIN_MS, HOST, JSON, hours_later, occurrence

HALF = 1800  # s; a job with this delay is due between check and check_later
DAY = 86_400
STEP_1 = step(1, "one")


class Part:
    since = "0.2.0"

    def write(self, world):
        pass

    def write_later(self, world):
        pass

    def check(self, world):
        pass

    def check_later(self, world):
        pass


class Jobs(Part):
    """Delayed jobs with all members."""

    text = '{ "price": 1.10,  "text": "é" }'
    raw = bytes(range(256))
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    def write(self, world):
        callbacks = {event: {"url": world.shop.url(f"/{event}"), "method": "PUT", "headers": {"X-Callback": event}}
                     for event in ("onDelivered", "onDead", "onAttempt")}
        members = {"topic": "jobs", "jobId": "all", "url": world.shop.url("/jobs?x=1"), "delay": "30m", "ttl": "3h", "retry": 3,
                   "retrySchedule": ["1m", 90.5], "timeout": 10, "headers": {"X-Shop": "7"}, "labels": ["a", "ü"], **callbacks}
        text = json.dumps(members)[:-1] + f', "body": {self.text}}}'
        world.server.post(text, headers={"traceparent": self.trace}).expect(201)
        world.schedule("jobs", "bytes", delay=HALF, method="PATCH", bodyBase64=base64.b64encode(self.raw).decode())
        world.schedule("jobs", "ü 1/2", delay=HALF, retryWait="pow(2, retried) * 1000", retry=2)
        world.schedule("jobs", "get", delay=HALF, method="GET")
        world.schedule("jobs", "cancelled", delay=HALF)
        world.schedule("jobs", "moved", delay=HALF)
        world.send("PATCH", "/jobs/jobs/moved", {"delay": "3h"})
        world.show("/jobs/jobs/all", "/jobs/jobs/bytes", "/jobs/jobs/%C3%BC%201%2F2", "/jobs/jobs/get", "/jobs/jobs/moved")

    def check(self, world):
        labelled = world.server.get("/jobs?label=a&topic=jobs").expect(200)["jobs"]
        assert [job["jobId"] for job in labelled] == ["all"]
        world.server.cancel("jobs", "cancelled").expect(200)

    def check_later(self, world):
        one = world.one("jobs", "all")
        assert (one.method, one.target, one.body.decode()) == ("POST", "/jobs?x=1", self.text)
        assert one.headers["x-shop"] == "7" and one.headers["traceparent"].split("-")[1] == self.trace.split("-")[1]
        patch = world.one("jobs", "bytes")
        assert (patch.method, patch.body) == ("PATCH", self.raw)
        assert world.one("jobs", "get").method == "GET"
        until(lambda: len([a for a in world.shop.of("jobs") if a.target == "/hook"]) == 3, 10, "the job with the name in UTF-8")
        until(lambda: world.shop.count("jobs~callbacks") == 2, 20, "both callbacks")
        told = {json.loads(a.body)["callback"]: a for a in world.shop.of("jobs~callbacks")}
        assert {event: (a.method, a.headers["x-callback"]) for event, a in told.items()} == {
            event: ("PUT", event) for event in ("onDelivered", "onAttempt")}
        assert world.shop.of("jobs", "cancelled") == world.shop.of("jobs", "moved") == []
        assert world.server.job("jobs", "moved")["state"] == "delayed"


class Retries(Part):
    """Jobs that wait for a retry, for the next round, or died."""

    def write(self, world):
        shop = world.shop
        world.settings("retries", secrets=[SHARED])  # only signed requests have a webhook-id header
        shop.script("retries", Answer(500, body=b"out of order"), job_id="retried")
        world.schedule("retries", "retried", retrySchedule=[HALF], body={"n": 1})
        shop.script("retries", Answer(202, headers=(("Duepost-Again", str(HALF)),)), job_id="round")
        world.schedule("retries", "round")
        for job_id, status in (("gone", 410), ("exhausted", 500), ("redriven", 500)):
            shop.script("retries", status, job_id=job_id)
            world.schedule("retries", job_id, retry=0, headers={"X-Job": job_id})
        world.server.wait_for_state("retries", "retried", "delayed")
        until(lambda: (world.server.job("retries", "round") or {}).get("rounds") == 1, 10, "one round")
        for job_id in ("gone", "exhausted", "redriven"):
            world.server.wait_for_state("retries", job_id, "dead")
        world.notes["webhook-id"] = world.one("retries", "retried").headers["webhook-id"]
        for job_id in ("retried", "round", "gone", "exhausted", "redriven"):
            world.show(f"/jobs/retries/{job_id}", f"/jobs/retries/{job_id}/attempts")
        world.show("/jobs?topic=retries&state=dead", "/jobs/count?topic=retries&state=dead")

    def check(self, world):
        world.server.run("retries", "gone").expect(202)
        assert world.one("retries", "gone").headers["x-job"] == "gone"
        query = "/jobs/redrive?topic=retries&idPrefix=redriven&limit=10"
        assert world.server.request("POST", query).expect(200)["done"] == 1
        world.one("retries", "redriven")
        assert world.server.job("retries", "exhausted")["state"] == "dead"

    def check_later(self, world):
        again = world.one("retries", "retried")
        assert (again.attempt, again.headers["webhook-id"]) == (2, world.notes["webhook-id"])
        assert world.one("retries", "round").headers["duepost-round"] == "2"


class UnderWay(Part):
    """Attempts whose process was killed, twice."""

    def write(self, world):
        world.shop.script("under-way", HANG)
        for job_id in ("lost", "cancelled"):
            world.schedule("under-way", job_id, timeout=600)
        until(lambda: world.shop.count("under-way") == 2, 10, "two attempts")

    def write_later(self, world):
        until(lambda: world.shop.count("under-way") == 4, 60, "two attempts more")
        assert world.server.cancel("under-way", "cancelled").expect(200)["attemptInFlight"]

    def check(self, world):
        """A job that was lost twice waits up to 20 s. The test moves the clock, and this wait is over."""
        until(lambda: world.server.job("under-way", "lost")["state"] != "leased", 60, "the lease is lost")

    def check_later(self, world):
        lost = world.one("under-way", "lost")
        assert lost.attempt == 1, "a lost process spends no attempt"
        assert world.shop.of("under-way", "cancelled") == []
        assert world.server.get("/topics/under-way").expect(200)["jobs"]["leased"] == 0


class Topics(Part):
    """Topics whose settings hold their jobs back, and all settings."""

    settings = {"paused": True, "pauseReason": "inventory", "maxInFlight": 3, "rate": {"jobs": 2, "per": 3600, "burst": 2}, "weight": 7,
                "retrySchedule": [1, 2], "timeout": 5, "jitter": 0.5, "url": f"{HOST}/paused", "headers": {"X-Topic": "t"}, "breaker": False,
                "retention": DAY, "secrets": [SHARED], "onDelivered": {"url": f"{HOST}/delivered", "headers": {"X-C": "c"}}}

    def write(self, world):
        world.settings("paused", **self.settings)
        world.server.schedule(topic="paused", jobId="p1", body=1)
        world.server.schedule(topic="paused", jobId="expires", ttl=600)
        world.settings("limited", rate={"jobs": 1, "per": "1h", "window": True})
        for job_id in ("first", "second"):
            world.schedule("limited", job_id)
        world.one("limited", "first")
        for pattern, members in (("eu-*", {"timeout": 7, "headers": {"X-Eu": "1"}, "url": f"{HOST}/eu"}), ("eu-de-*", {"timeout": 8})):
            world.settings(pattern, **members)
        world.server.schedule(topic="eu-de-1", jobId="p", delay=HALF)
        world.show("/topics/paused", "/jobs/paused/p1", "/jobs/paused/expires", "/jobs/limited/second", "/jobs/eu-de-1/p", "/topics/eu-de-1",
                   "/topics/eu-de-*", "/topics/eu-*")

    def check(self, world):
        assert world.shop.count("paused") == world.shop.count("limited") == 0
        assert world.answer("/jobs/paused/p1/why")["why"] == "paused" and world.answer("/jobs/limited/second/why")["why"] == "rate"

    def check_later(self, world):
        world.send("PATCH", "/topics/paused", {"paused": None})
        arrival = world.one("paused", "p1")
        assert (arrival.target, arrival.body, arrival.headers["x-topic"]) == ("/paused", b"1", "t")
        assert signatures(arrival) == [v1(SHARED, arrival)]
        assert world.server.wait_for_state("paused", "expires", "dead")["reason"] == "expired"
        until(lambda: world.shop.count("paused~callbacks") == 1, 10, "the callback of the topic")
        assert world.server.wait_for_state("paused", "p1", "delivered")["attempts"] == 1
        world.one("limited", "second")
        pattern = world.one("eu-de-1", "p")
        assert (pattern.target, pattern.headers["x-eu"]) == ("/eu", "1")


class Order(Part):
    """A topic with order fifo, whose first job waits for a retry."""

    def write(self, world):
        world.settings("cart-1", order="fifo", onHeadDead="pause")
        world.shop.script("cart-1", 500, job_id="1")
        for number in "123":
            world.schedule("cart-1", number, retrySchedule=[HALF])
        until(lambda: world.server.job("cart-1", "1").get("attempts") == 1, 10, "the head has failed")
        world.show("/jobs/cart-1/1", "/jobs/cart-1/2", "/topics/cart-1")

    def check(self, world):
        assert world.answer("/jobs/cart-1/3/why")["why"] == "order" and world.shop.count("cart-1") == 0

    def check_later(self, world):
        until(lambda: world.shop.count("cart-1") == 3, 20, "all of the line")
        assert [(a.job_id, a.attempt) for a in world.shop.of("cart-1")] == [("1", 2), ("2", 1), ("3", 1)]


class Kept(Part):
    """Ended jobs of a topic with a retention."""

    def write(self, world):
        world.settings("kept", retention=DAY)
        world.shop.script("kept", 410, job_id="dead")
        for job_id in ("delivered", "dead"):
            world.schedule("kept", job_id, body={"n": 1})
        world.schedule("kept", "cancelled", delay=HALF)
        world.server.cancel("kept", "cancelled").expect(200)
        for state in ("delivered", "dead", "cancelled"):
            world.server.wait_for_state("kept", state, state)
            world.show(f"/jobs/kept/{state}", f"/jobs?topic=kept&source=redis&state={state}")
        world.show("/jobs/kept/delivered/attempts")

    def check_later(self, world):
        assert world.shop.count("kept") == 0, "a job that has ended was sent again"


class Pull(Part):
    """Jobs that workers have leased from the old version. The tokens of these leases are valid in the new version."""

    def write(self, world):
        server = world.server
        make_pull(server, "pull", retrySchedule=[1])
        held = world.notes["leases"] = {}

        def take(count, headers=None, **members):
            jobs = ask(server, "pull", headers, max=count, **members).expect(200)["jobs"]
            held.update({job["jobId"]: job for job in jobs})
            return jobs
        for job_id in ("ended", "held", "extended", "runs-out"):
            server.schedule(topic="pull", jobId=job_id, body={"job": job_id})
        assert len(take(3, lease="12h")) == 3
        take(1, lease="30m")
        server.schedule(topic="pull", jobId="keyed")
        take(1, {"Idempotency-Key": "k"}, lease="12h")
        server.schedule(topic="pull", jobId="waits")
        world.show("/topics/pull", "/jobs/pull/held", "/jobs/pull/waits", "/jobs/pull/runs-out")

    def write_later(self, world):
        end(world.server, "complete", "pull", name(world.notes["leases"]["ended"])).expect(200)

    def check(self, world):
        server, held = world.server, world.notes["leases"]
        end(server, "complete", "pull", name(held["ended"])).expect(200)  # the client repeats its request
        end(server, "extend", "pull", name(held["extended"], lease="11h")).expect(200)
        end(server, "complete", "pull", name(held["held"])).expect(200)
        same, = ask(server, "pull", {"Idempotency-Key": "k"}, max=1, lease="12h").expect(200)["jobs"]
        assert same["token"] == held["keyed"]["token"]
        waited, = lease(server, "pull", max=5)
        assert waited["jobId"] == "waits"
        end(server, "complete", "pull", name(waited)).expect(200)

    def check_later(self, world):
        server, held = world.server, world.notes["leases"]
        failed = until(lambda: lease(server, "pull", max=5, wait=10), 70, "the job whose lease ran out")
        assert [(job["jobId"], job["attempt"], job["body"]) for job in failed] == [("runs-out", 2, {"job": "runs-out"})]
        for job in (failed[0], held["extended"], held["keyed"]):
            end(server, "complete", "pull", name(job)).expect(200)
        assert server.get("/jobs/count?topic=pull").expect(200)["count"] == 0


class Keys(Part):
    """Idempotency keys: a request that is repeated after the upgrade gets the answer that it got before the upgrade."""

    def _post(self, world, **more):
        job = {"topic": "keys", "url": "http://never.example/", "delay": DAY, "body": {"n": 1}, **more}
        return world.server.post(job, headers={"Idempotency-Key": '"one"'})

    def write(self, world):
        world.notes["keyed"] = self._post(world).expect(201)

    def check(self, world):
        assert self._post(world).expect(201) == world.notes["keyed"]
        self._post(world, delay=DAY + 1).expect(422)
        assert world.server.get("/jobs/count?topic=keys").expect(200)["count"] == 1


class Groups(Part):
    """A group, and a job that one of its endpoints has not received yet."""

    def write(self, world):
        endpoints = {"a": {"url": f"{HOST}/a?key=1"}, "b": {"url": f"{HOST}/b", "headers": {"X-Key": "s"}, "method": "PUT"}}
        world.send("PUT", "/groups/partners", {"endpoints": endpoints}, 201)
        job = {"topic": "groups", "jobId": "g", "group": "partners", "body": {"n": 1}, "delay": HALF}
        world.notes["sent"] = world.server.post(job).expect(201)
        world.show("/groups/partners", "/groups", "/jobs/groups/g?group=partners")

    def check(self, world):
        job = {"topic": "groups", "jobId": "g", "group": "partners", "body": {"n": 1}, "delay": HALF}
        world.server.post(job).expect(200)
        world.server.post({**job, "body": {"n": 2}}).expect(409)

    def check_later(self, world):
        until(lambda: world.shop.count("groups") == 2, 20, "both endpoints")
        assert {(a.method, a.target, a.headers.get("x-key")) for a in world.shop.of("groups")} == {
            ("POST", "/a?key=1", None), ("PUT", "/b", "s")}


class Schedules(Part):
    """Schedules continue: no time is fired twice, and none is lost."""

    def write(self, world):
        job = {"url": f"{HOST}/report", "body": {"kind": "report"}}
        common = {"cron": "30 * * * *", "timezone": "Europe/Berlin", "job": job}
        for schedule_id, members in (("one", {}), ("all", {"misfire": "all", "jitter": 0}), ("skip", {"misfire": "skip"}), ("paused", {"paused": True}),
                                     ("ends", {"endAt": "2030-01-01T12:45:00.000Z", "overlap": "skip"})):
            world.send("PUT", f"/schedules/reports/{schedule_id}", {**common, **members}, 201)
            world.show(f"/schedules/reports/{schedule_id}")
        world.send("PUT", "/schedules/reports/every", {"every": "45m", "startAt": "2030-01-01T11:00:00.000Z", "job": job}, 201)
        world.server.request("POST", "/schedules/reports/paused/run").expect(202)
        until(lambda: world.shop.count("reports") == 1, 10, "the job that was made by hand")
        world.show("/schedules/reports/every", "/schedules/reports")

    def check(self, world):
        assert world.shop.count("reports") == 0

    def check_later(self, world):
        """It is shortly after 14:00. Two schedules missed 12:30 and 13:30. A third schedule, which fires every 45
        minutes from 11:00, missed 12:30 and 13:15. Its time 14:00 is only seconds late, so it fires."""
        half_past = [BEGIN_MS + HALF * 1000, hours_later(BEGIN_MS + HALF * 1000, 1)]
        expected = {occurrence("one", half_past[1]), *(occurrence("all", ms) for ms in half_past), occurrence("ends", half_past[0]),
                    occurrence("every", hours_later(BEGIN_MS, 2))}
        until(lambda: world.shop.count("reports") >= len(expected), 20, lambda: [a.job_id for a in world.shop.of("reports")])
        assert sorted(a.job_id for a in world.shop.of("reports")) == sorted(expected)
        assert all(json.loads(a.body) == {"kind": "report"} for a in world.shop.of("reports"))


class GroupSchedules(Part):
    """A schedule that sends to a group: one job for each endpoint at each time."""

    def write(self, world):
        endpoints = {"a": {"url": f"{HOST}/a"}, "b": {"url": f"{HOST}/b", "method": "PUT"}}
        world.send("PUT", "/groups/branches", {"endpoints": endpoints}, 201)
        job = {"group": "branches", "body": {"kind": "summary"}}
        world.send("PUT", "/schedules/summaries/s", {"cron": "30 * * * *", "timezone": "Europe/Berlin", "job": job}, 201)
        world.show("/groups/branches", "/schedules/summaries/s")

    def check(self, world):
        assert world.shop.count("summaries") == 0

    def check_later(self, world):
        """The schedule missed the times 12:30 and 13:30. It fires once, for 13:30."""
        until(lambda: world.shop.count("summaries") >= 2, 20, "both endpoints")
        assert sorted((a.method, a.target, json.loads(a.body)["kind"]) for a in world.shop.of("summaries")) == [
            ("POST", "/a", "summary"), ("PUT", "/b", "summary")]


class Breakers(Part):
    """A job that an open circuit breaker holds."""

    url = "http://down.example/hook"

    def write(self, world):
        world.shop.script("down", 503)
        for number in range(20):
            world.server.schedule(topic="down", jobId=str(number), url=self.url, retry=0)
        receivers = until(lambda: [one for one in world.answer("/receivers")["receivers"] if one["state"] == "open"], 20, "an open breaker")
        assert receivers[0]["receiver"] == "down.example:80"
        until(lambda: self.is_held(world), 10, lambda: world.answer("/jobs/down/held/why"))
        world.show("/jobs/down/held")

    def is_held(self, world):
        """Schedules a job, and returns whether the breaker holds this job. A reactor that does not know yet that the
        breaker is open may have attempted the job. Then the job is deleted, and the result is False."""
        world.server.schedule(topic="down", jobId="held", url=self.url)
        until(lambda: world.answer("/jobs/down/held/why")["why"] in ("breaker", "waits_for_retry"), 10, "held, or attempted")
        if world.answer("/jobs/down/held/why")["why"] == "breaker":
            return True
        world.server.request("DELETE", "/jobs/down/held").expect(200)
        return False

    def check(self, world):
        assert [one["state"] for one in world.answer("/receivers")["receivers"] if one["receiver"] == "down.example:80"] == ["open"]
        assert world.answer("/jobs/down/held/why")["why"] == "breaker"

    def check_later(self, world):
        """Closes the breaker by request, because its wait in the process does not follow the clock of the test."""
        world.server.request("POST", "/receivers/down.example:80/close").expect(200)
        assert world.server.wait_for_state("down", "held", "delivered", 20)["attempts"] == 1


class Callbacks(Part):
    """A callback that waits for its retry long after its job has ended."""

    def write(self, world):
        world.shop.script("told~callbacks", 500)
        world.schedule("told", "a", body={"n": 1}, onDelivered=world.shop.url("/told"))
        until(lambda: world.shop.count("told~callbacks") == 1, 10, "the callback")
        until(lambda: world.answer("/jobs?topic=told~callbacks")["jobs"][0].get("attempts") == 1, 10, "the first attempt of the callback has failed")
        world.notes["callback"] = json.loads(world.shop.of("told~callbacks")[0].body)

    def check_later(self, world):
        until(lambda: world.shop.count("told~callbacks") >= 1, 20, "the callback")
        arrival, = world.shop.of("told~callbacks")
        assert json.loads(arrival.body) == world.notes["callback"] and arrival.attempt >= 2


class History(Part):
    """Ended jobs in the history, and in the outbox while the history cannot be reached."""

    @staticmethod
    def _end(world, suffix):
        world.shop.script("past", 410, job_id=f"dead-{suffix}")
        for kind in ("delivered", "dead"):
            world.schedule("past", f"{kind}-{suffix}", body={"n": suffix}, labels=[suffix])
        world.schedule("past", f"cancelled-{suffix}", delay=HALF)
        world.server.cancel("past", f"cancelled-{suffix}").expect(200)

    def write(self, world):
        self._end(world, "early")
        world.await_archived()
        for kind in ("delivered", "dead", "cancelled"):
            path = f"/jobs/past/{kind}-early"
            world.notes[path] = world.answer(path)
            world.notes[f"{path}/attempts"] = world.answer(f"{path}/attempts")

    def write_later(self, world):
        self._end(world, "late")
        until(lambda: world.shop.count("past") == 4, 10, "the attempts")
        world.server.wait_for_state("past", "dead-late", "dead")
        until(lambda: world.answer("/jobs/count?topic=past&state=dead&source=redis")["count"] == 2, 10, "both are dead")

    def check(self, world):
        world.await_archived()
        for kind in ("delivered", "dead", "cancelled"):
            path = f"/jobs/past/{kind}-early"
            for each in (path, f"{path}/attempts"):
                assert_is_shown(world.notes[each], world.answer(each), each)
            found = world.answer(f"/jobs?topic=past&state={kind}&source=history")["jobs"]
            assert {job["jobId"] for job in found} == {f"{kind}-early", f"{kind}-late"}
        counts = world.answer("/jobs/count?topic=past&state=any")
        assert (counts["delivered"], counts["dead"], counts["cancelled"]) == (2, 2, 2)
        world.server.request("POST", "/jobs/past/delivered-early/run?resend=true").expect(202)
        assert json.loads(world.one("past", "delivered-early").body) == {"n": "early"}


class Messages(Part):
    """Messages, queues, URL groups and schedules of the API of QStash."""

    def write(self, world):
        server, shop = world.server, world.shop
        held = world.notes["messages"] = {}
        held["delayed"] = server.publish(shop.url("/m"), b"\xff\x00 raw", Upstash_Delay="30m", Upstash_Retries="5", Upstash_Forward_X="1",
                                         Upstash_Callback=shop.url("/m-callback"), Upstash_Label="m", Upstash_Timeout="20s", Content_Type="text/plain",
                                         Upstash_Flow_Control_Key="flow", Upstash_Flow_Control_Value="parallelism=2, rate=9, period=1m")
        held["once"] = server.publish(shop.url("/once"), b"1", Upstash_Deduplication_Id="once", Upstash_Delay="1d")
        server.call("POST", "queues", {"queueName": "q", "parallelism": 1, "paused": True})
        for number in (1, 2):
            server.call("POST", f"enqueue/q/{shop.url('/q')}", str(number).encode()).expect(200)
        server.call("POST", "topics/urls/endpoints", {"endpoints": [{"name": "e", "url": shop.url("/e")}, {"url": shop.url("/f")}]})
        for sent in server.call("POST", "publish/urls", b"to all", Upstash_Delay="30m").expect(200):
            held[sent["url"]] = sent["messageId"]
        server.call("POST", f"schedules/{shop.url('/s')}", b"scheduled", Upstash_Cron="15 13 * * *", Upstash_Schedule_Id="s", Upstash_Retries="1").expect(200)
        shop.script("/dlq", Answer(500, body=b"no, thanks"))
        held["dead"] = server.publish(shop.url("/dlq"), b"letter", Upstash_Retries="0")
        letter, = until(lambda: server.call("GET", f"dlq?messageId={held['dead']}").expect(200)["messages"], 20, "the dead letter")
        world.notes["letter"] = letter["dlqId"]
        world.show("/v2/keys", "/v2/queues", "/v2/topics/urls", "/v2/schedules/s", f"/v2/dlq/{letter['dlqId']}", "/v2/flowControl/flow",
                   f"/v2/messages/{held['delayed']}", f"/v2/messages/{held['once']}")

    def check(self, world):
        server, shop, held = world.server, world.shop, world.notes["messages"]
        again = server.call("POST", f"publish/{shop.url('/once')}", b"2", Upstash_Deduplication_Id="once").expect(202)
        assert again == {"messageId": held["once"], "deduplicated": True}
        server.call("POST", f"dlq/retry/{world.notes['letter']}").expect(201)
        until(lambda: shop.count("/dlq") == 1, 20, "the dead letter")
        assert shop.of("/dlq")[0].body == b"letter" and shop.count("/q") == 0

    def check_later(self, world):
        server, shop, held = world.server, world.shop, world.notes["messages"]
        server.call("POST", "queues/q/resume").expect(200)
        for target, count in (("/m", 1), ("/m-callback", 1), ("/q", 2), ("/e", 1), ("/f", 1), ("/s", 1)):
            until(lambda target=target, count=count: shop.count(target) >= count, 20, lambda target=target: f"{target}: {shop.count(target)}")
            assert shop.count(target) == count
        message, = shop.of("/m")
        assert (message.job_id, message.body, message.headers["x"]) == (held["delayed"], b"\xff\x00 raw", "1")
        assert [a.body for a in shop.of("/q")] == [b"1", b"2"] and shop.of("/s")[0].body == b"scheduled"
        verified(message, server.call("GET", "keys").expect(200)["current"], shop.url("/m"), now=world.clock.now())


class Runs(Part):
    """Durable workflows in all states."""

    def _run(self, world, path):
        """Returns the run that write() has created, to send messages for it."""
        run = Run.__new__(Run)
        run.qstash, run.receiver, run.path, run.id, run.url = world.server, world.shop, path, f"wfr_{path[1:]}", world.shop.url(path)
        return run

    def write(self, world):
        runs = {}
        for path in ("/sleeps", "/waits", "/over", "/cancelled", "/steps"):
            world.shop.script(path, TAKEN)
            runs[path] = Run(world.server, world.shop, path, id=f"wfr_{path[1:]}")
            until(lambda path=path: world.shop.count(path) == 1, 20, path)
        runs["/sleeps"].step(STEP_1)
        until(lambda: world.shop.count("/sleeps") == 2, 20, "the first step")  # a kept second step makes its delivery needless
        runs["/sleeps"].step(step(2, None, stepType="SleepFor", sleepFor=HALF), upstash_delay="30m")
        runs["/steps"].step(STEP_1, Upstash_Delay="30m")
        run = runs["/waits"]
        headers = {"Upstash-Workflow-Init": ["false"], "Upstash-Workflow-RunId": [run.id], "Upstash-Workflow-Url": [run.url]}
        body = {"url": run.url, "timeout": "5h", "timeoutUrl": run.url, "timeoutHeaders": headers,
                "step": {"stepId": 1, "stepType": "Wait", "stepName": "for it", "concurrent": 1}}
        assert world.server.call("POST", "wait/picked-up", body, Upstash_Workflow_RunId=run.id, Upstash_Workflow_CallType="step").status == 200
        assert world.server.call("POST", f"notify/{run.id}/later", b"kept").expect(201) == []
        runs["/over"].step(STEP_1)
        until(lambda: world.shop.count("/over") == 2, 20, "two requests to /over")
        assert runs["/over"].end(b'"result"').status == 200
        world.server.call("DELETE", f"workflows/runs/{runs['/cancelled'].id}").expect(200)
        failing(world.server, world.shop, "fails", Answer(500), id="wfr_fails").step(STEP_1, upstash_retries="0")
        letters = until(lambda: world.server.call("GET", "workflows/dlq").expect(200)["messages"], 20, "the failed run")
        world.notes["run letter"] = letters[0]["dlqId"]
        until(lambda: world.shop.count("/fails/failed") == 1, 20, "the failure callback of the run")
        for path in (*runs, "/fails"):
            world.show(f"/workflows/qstash/wfr_{path[1:]}")
        world.show("/v2/waiters/picked-up", "/workflows?state=succeeded", "/workflows?state=failed")

    def check(self, world):
        told, = world.server.call("POST", "notify/picked-up", b'"news"').expect(201)
        assert told["workflowRunId"] == "wfr_waits"
        until(lambda: world.shop.count("/waits") == 1, 20, "the event")
        woken = json.loads(decoded(world.shop.of("/waits")[0])[-1])
        assert base64.b64decode(woken["out"]) == b'"news"' and woken["waitTimeout"] is False
        world.shop.script("/fails", TAKEN)
        world.server.call("POST", f"workflows/dlq/restart/{world.notes['run letter']}").expect(200)
        until(lambda: world.shop.count("/fails") == 1, 20, "the run begins again")

    def check_later(self, world):
        until(lambda: world.shop.count("/sleeps") == 1 and world.shop.count("/steps") == 1, 20, "the end of the sleep")
        bodies = decoded(world.shop.of("/sleeps")[0])
        assert bodies[:2] == ["payload", STEP_1] and json.loads(bodies[2])["sleepFor"] == HALF
        run = self._run(world, "/sleeps")
        world.shop.script("/sleeps", TAKEN)
        run.step(step(3, "three"))
        until(lambda: world.shop.count("/sleeps") == 2, 20, "the step after it")
        assert decoded(world.shop.of("/sleeps")[1])[-1] == step(3, "three")
        assert run.end(b'"done"').status == 200
        until(lambda: world.answer("/workflows/qstash/wfr_sleeps")["state"] == "succeeded", 10, "the run has succeeded")
        assert world.shop.count("/over") == world.shop.count("/cancelled") == 0


def assert_is_shown(old, new, path):
    """Checks that everything in the old version's answer is also in the new version's answer."""
    if isinstance(old, dict):
        for member, value in old.items():
            assert member in new, f"{path}: {member} is missing"
            assert_is_shown(value, new[member], f"{path} {member}")
    elif isinstance(old, list):
        assert len(old) == len(new), f"{path}: {old} became {new}"
        for at, (one, other) in enumerate(zip(old, new)):
            assert_is_shown(one, other, f"{path} [{at}]")
    else:
        assert old == new, f"{path}: {old!r} became {new!r}"


class Traced(Part):
    """Jobs that were scheduled while duepost sent spans to a collector. The span of the request is the parent in
    their trace context."""

    trace, state = "4bf92f3577b34da6a3ce929d0e0e4736", "shop=7,other=x"
    ids = ("given", "begun", "unsampled", "retried")

    def write(self, world):
        world.shop.script("traced", Answer(500), job_id="retried")
        for job_id in self.ids:
            context = {"traceparent": f"00-{self.trace}-00f067aa0ba902b7-{'00' if job_id == 'unsampled' else '01'}", "tracestate": self.state}
            job = {"topic": "traced", "jobId": job_id, "url": world.shop.url("/traced"), "retrySchedule": ["30m"], "onDelivered": world.shop.url("/told"),
                   **({} if job_id == "retried" else {"delay": "30m"})}
            world.server.post(job, headers={} if job_id == "begun" else context).expect(201)
        world.server.wait_for_state("traced", "retried", "delayed")
        requests = [span for span in world.collector.of("traced", 4) if span.kind == "server"]  # the other span is that of an attempt
        world.notes["spans"] = {span.attributes["duepost.job.id"]: [span.trace, span.id] for span in requests}
        world.show(*(f"/jobs/traced/{job_id}" for job_id in self.ids))

    def check_later(self, world):
        """The spans of the attempts belong to the traces of the requests, and have the requests' spans as parents.
        Callbacks belong to the same traces."""
        spans = {}
        for span in world.collector.of("traced", 3, 30):
            assert span.kind == "client"
            spans[span.attributes["duepost.job.id"]] = span
        assert {job_id: [span.trace, span.parent] for job_id, span in spans.items()} == world.notes["spans"]
        assert spans["given"].trace == spans["retried"].trace == self.trace != spans["begun"].trace
        for job_id in self.ids:
            version, trace, span_id, flags = world.one("traced", job_id).headers["traceparent"].split("-")
            assert (version, flags) == ("00", "00" if job_id == "unsampled" else "01")
            assert trace == (spans[job_id].trace if job_id in spans else self.trace)
            assert job_id not in spans or span_id == spans[job_id].id
            assert world.one("traced", job_id).headers.get("tracestate") == (None if job_id == "begun" else self.state)
        until(lambda: world.shop.count("traced~callbacks") == 4, 20, "the callbacks")
        told = sorted(arrival.headers["traceparent"].split("-")[1] for arrival in world.shop.of("traced~callbacks"))
        assert told == sorted([self.trace] * 3 + [spans["begun"].trace])


TRACED = [Traced()]  # the parts of a run whose process sends spans
PARTS = [Breakers(), Jobs(), Retries(), Topics(), Order(), Kept(), Pull(), Keys(), Groups(), Schedules(), GroupSchedules(), Callbacks(), History(),
         Messages(), Runs(), UnderWay()]
