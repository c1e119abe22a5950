"""duepost measures time with clocks that do not jump, so the host's wall clock may jump."""

import datetime
import json
import time

import pytest

import pull
import scratch
from clock import MovableClock
from patience import SLOW, until
from receiver import Answer
from timestamp import from_ms, to_ms

LATE_MAX = 1000 * SLOW  # ms


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_step_of_the_hosts_clock_delays_nothing(start, redis, receiver, topic, seconds):
    clock = MovableClock()
    server = start("--reactors", "1", redis=redis(), extra={**clock.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    receiver.script(topic, Answer(200, delay=8), job_id="leased")  # the attempt takes longer than a lease
    server.schedule(topic=topic, jobId="leased", url=receiver.url())
    until(lambda: receiver.count(topic), 5, "the attempt")
    dues = {}
    for i in range(40):  # many rounds, so that timers of all kinds are started just after a jump of the clock
        clock.move_by(seconds if i % 20 < 10 else 0)
        dues[str(i)] = to_ms(server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=0.2)["dueAt"])
        time.sleep(0.1)
    until(lambda: receiver.count(topic) == 41, 10, lambda: f"{receiver.count(topic)} of 41")
    late = max(arrival.at_ms - dues[arrival.job_id] for arrival in receiver.of(topic) if arrival.job_id in dues)
    print(f"at most {late:.0f} ms late")
    assert late < LATE_MAX
    server.wait_for_state(topic, "leased", None, 15)
    assert len(receiver.of(topic, "leased")) == 1


@pytest.mark.parametrize("seconds", [7200, -7200])
def test_times_of_clients_are_compared_with_the_clock_of_redis(start, redis, receiver, topic, seconds):
    """The clock of duepost's host is two hours off. Redis's clock is right, and so are those of the clients."""
    clock = MovableClock()
    clock.move_by(seconds)
    server = start(redis=redis(), extra={**clock.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    job = {"url": receiver.url(), "body": 1}
    soon, past = from_ms(time.time() * 1000 + 3600_000), from_ms(time.time() * 1000 - 3600_000)
    json_type = {"Content-Type": "application/json"}
    for send in (lambda members: server.post({"topic": topic, **job, **members}),
                 lambda members: server.request("PUT", f"/jobs/{topic}/put", json.dumps({**job, **members}), json_type)):
        assert send({"expiresAt": soon}).status == 201
        assert send({"expiresAt": past}).fields() == ["expiresAt"]
        assert send({"dueAt": soon, "expiresAt": from_ms(time.time() * 1000 + 3000_000)}).fields() == ["expiresAt"]
    until(lambda: receiver.count(topic) == 2, 10, "both are delivered")
    times = server.get("/cron?expression=@hourly").expect(200)["next"]
    assert 0 < to_ms(times[0]) - time.time() * 1000 <= 3600_000
    receiver.script(f"{topic}.dead", 410)
    server.schedule(topic=f"{topic}.dead", jobId="a", **job, expiresAt=soon)
    server.wait_for_state(f"{topic}.dead", "a", "dead")
    assert server.request("POST", f"/jobs/{topic}.dead/a/run").status == 202


@pytest.mark.parametrize("hours", [2, -2])
def test_an_expiry_is_judged_by_the_clock_that_redis_has_at_the_call(start, redis, receiver, topic, hours):
    """Redis's clock has just stepped, so whatever the process has read of it before is wrong."""
    clock = MovableClock()
    server = start(redis=redis(environment=clock.environment))
    job = {"url": receiver.url(), "body": 1}
    json_type = {"Content-Type": "application/json"}

    def at(hour):
        return from_ms(int(time.time() * 1000) + hour * 3600_000)

    server.request("PUT", "/groups/g", json.dumps({"endpoints": {"e": {"url": receiver.url()}}}), json_type).expect(201)
    receiver.script(f"{topic}.dead", 410)
    for job_id, expires in ("soon", at(1)), ("late", at(9)):
        server.schedule(topic=f"{topic}.dead", jobId=job_id, **job, expiresAt=expires)
        server.wait_for_state(f"{topic}.dead", job_id, "dead")
    server.request("PUT", f"/topics/{topic}", '{"paused":true}', {"Content-Type": "application/json"}).expect(200)
    server.schedule(topic=topic, jobId="patched", **job)
    clock.move_by(hours * 3600)
    over, valid = (at(1), at(3)) if hours > 0 else (at(-3), at(-1))
    sends = {"POST": lambda name, members: server.post({"topic": topic, "jobId": f"post-{name}", **job, **members}),
             "array": lambda name, members: server.post([{"topic": topic, "jobId": f"array-{name}", **job, **members}]),
             "group": lambda name, members: server.post({"topic": topic, "jobId": f"group-{name}", "group": "g", **members}),
             "PUT": lambda name, members: server.request("PUT", f"/jobs/{topic}/put-{name}", json.dumps({**job, **members}), json_type),
             "PUT group": lambda name, members: server.request("PUT", f"/jobs/{topic}/putg-{name}", json.dumps({"group": "g", **members}), json_type)}

    def fields(answer):
        if answer.status == 207:
            return [error["field"] for error in answer.expect(207)["results"][0].get("errors", [])]
        return answer.fields() if answer.status == 400 else [] if answer.status == 201 else answer.status

    for name, send in sends.items():
        assert fields(send("over", {"expiresAt": over})) == ["expiresAt"], name
        assert fields(send("in-time", {"expiresAt": valid})) == [], name
        assert fields(send("delayed", {"delay": 3600 * 3, "expiresAt": valid})) == ["expiresAt"], name
        assert fields(send("ttl", {"dueAt": valid, "ttl": 1800})) == ["ttl"], name
    patched = server.request("PATCH", f"/jobs/{topic}/patched", json.dumps({"delay": 3600 * 3, "expiresAt": valid}), json_type)
    assert patched.status == 400 and patched.fields() == ["expiresAt"]
    assert server.request("PATCH", f"/jobs/{topic}/patched", json.dumps({"delay": 5, "expiresAt": valid}), json_type).status == 200
    patched = server.request("PATCH", f"/jobs/{topic}/patched", json.dumps({"delay": 3600 * 3}), json_type)
    assert patched.status == 400 and patched.fields() == ["delay"]
    run = {job_id: server.request("POST", f"/jobs/{topic}.dead/{job_id}/run").status for job_id in ("soon", "late")}
    assert run == {"soon": 409 if hours > 0 else 202, "late": 202}
    shown = to_ms(server.get("/overview").expect(200)["now"]) - time.time() * 1000
    assert abs(shown - hours * 3600_000) < 60_000 or abs(shown) < 60_000  # the overview's time may be some seconds old


def test_a_repeated_request_is_answered_after_the_expiry_of_its_job(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", '{"paused":true}', {"Content-Type": "application/json"}).expect(200)
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "expiresAt": from_ms(int(time.time() * 1000) + 600)}
    first = server.post(job, headers={"Idempotency-Key": topic})
    assert first.status == 201
    until(lambda: time.time() * 1000 > to_ms(job["expiresAt"]), 5, "the expiry")
    assert server.post(job, headers={"Idempotency-Key": topic}).status in (200, 201)


def test_a_step_of_redis_clock_does_not_stop_a_topic_with_a_rate(start, redis, receiver, topic):
    """Jobs use up the rate of the topic until some time in the future. Then the clock of Redis steps back by an hour.
    The rate must not delay new jobs by this hour."""
    clock = MovableClock()
    server = start(redis=redis(environment=clock.environment))
    for rate in {"jobs": 1, "per": 1}, {"jobs": 2, "per": 1, "burst": 2}:
        name = f"{topic}.{rate['jobs']}"
        server.request("PUT", f"/topics/{name}", json.dumps({"rate": rate}), {"Content-Type": "application/json"}).expect(200)
        for i in range(4):
            server.schedule(topic=name, jobId=f"before-{i}", url=receiver.url())
        until(lambda: receiver.count(name), 5, "the first attempt")
    clock.move_by(-3600)
    names = [f"{topic}.1", f"{topic}.2"]
    for name in names:
        for i in range(3):
            server.schedule(topic=name, jobId=f"after-{i}", url=receiver.url())
    for name in names:
        def after():
            return [a.job_id for a in receiver.of(name) if a.job_id.startswith("after")]
        until(lambda: len(after()) == 3, 10, lambda: f"{after()} of {name}")


@pytest.mark.parametrize("are_both", [False, True], ids=["redis", "both"])
def test_schedules_go_on_after_the_clock_has_stepped_forward_and_back(start, redis, receiver, topic, are_both):
    """The clock steps forward and later back. The schedule fires the times that the step forward skipped, when the
    clock reaches them again. Times that it fired while the clock was ahead are not fired again."""
    clock = MovableClock()
    extra = {**clock.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"} if are_both else {}
    server = start("--reactors", "1", redis=redis(environment=clock.environment), extra=extra)
    kinds = {"every": {"every": 1}, "cron": {"cron": "* * * * * *"}}
    for name, times in kinds.items():
        definition = {**times, "job": {"url": receiver.url()}}
        server.request("PUT", f"/schedules/{topic}.{name}/s", json.dumps(definition), {"Content-Type": "application/json"}).expect(201)

    def times(name):
        """Checks that no occurrence was delivered twice, and returns their times in s."""
        found = [a.job_id for a in receiver.of(f"{topic}.{name}")]
        assert len(found) == len(set(found)), found
        return [datetime.datetime.strptime(job_id[2:17], "%Y%m%dT%H%M%S").replace(tzinfo=datetime.timezone.utc).timestamp()
                for job_id in found]

    for _ in range(2):
        for name in kinds:
            until(lambda: any(abs(t - time.time()) < 2 for t in times(name)), 10, "occurrences before the step")
        clock.move_by(3600)
        for name in kinds:
            until(lambda: sum(t > time.time() + 3500 for t in times(name)) > 1, 10, "occurrences of the clock that is ahead")
        clock.move_by(0)
        back = time.time()
        for name in kinds:
            until(lambda: [t for t in times(name) if back < t < back + 1800], 5, lambda: f"{name}: {times(name)}")
    back = time.time() + 1
    time.sleep(3)  # in this time, no occurrence may be fired early or twice
    for name in kinds:
        until(lambda: max(t for t in times(name) if t < back + 1800) > back + 2, 5, "the next occurrences")
        now = [t for t in times(name) if back <= t < back + 1800]
        assert len(now) >= 2 and max(now) <= time.time()
        gaps = {round(b - a) for a, b in zip(sorted(now), sorted(now)[1:])}
        assert gaps == {1}, now


DAY = 86400


def has(server, topic, job_id, state):
    return server.get(f"/jobs?topic={topic}&state={state}").expect(200)["jobs"][0]["jobId"] == job_id


def test_a_step_of_redis_clock_removes_nothing_by_age(start, redis, receiver, topic):
    """The clock of Redis steps ahead by 31 days, which is longer than the age of anything that is kept: dead jobs,
    delivered jobs of a topic with a retention, and idempotency keys."""
    clock = MovableClock()
    shared = redis(environment=clock.environment)
    server = start("--dead-max-age", "30d", redis=shared)
    server.request("PUT", f"/topics/{topic}", '{"retention": 86400}', {"Content-Type": "application/json"})
    receiver.script(topic, 410, job_id="dead")
    once = {"topic": topic, "jobId": "once", "url": receiver.url(), "delay": 0}
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    first = server.post(once, headers={"Idempotency-Key": topic}).expect(201)
    server.wait_for_state(topic, "dead", "dead")
    until(lambda: server.get(f"/jobs/count?topic={topic}&state=delivered").expect(200)["count"] == 1, 5, "the delivery")
    clock.move_by(31 * DAY)

    until(lambda: "event=removals_rest " in server.log(), 10, "the line in the log")
    assert server.post(once, headers={"Idempotency-Key": topic}).expect(201) == first  # and no second job
    time.sleep(5)
    assert has(server, topic, "dead", "dead") and has(server, topic, "once", "delivered")
    assert server.post(once, headers={"Idempotency-Key": topic}).expect(201) == first and receiver.count(topic) == 2
    assert server.log().count("event=removals_rest ") == 1 and "event=host_clock_off " in server.log()

    clock.move_by(0)
    until(lambda: "event=host_clock_right " in server.log(), 10, "the line in the log")
    assert has(server, topic, "dead", "dead") and has(server, topic, "once", "delivered")
    server.request("PUT", f"/topics/{topic}", '{"retention": 1}', {"Content-Type": "application/json"})
    until(lambda: server.get(f"/jobs/count?topic={topic}&state=dead").expect(200)["count"] == 0, 10, "the removal")


def test_after_a_long_time_without_duepost_nothing_is_removed_at_once(start, redis, receiver, topic):
    """While no duepost runs, nothing watches the clock: it may have stepped, such as on a host without a battery."""
    shared = redis()
    server = start("--dead-max-age", "1h", redis=shared)
    receiver.script(topic, 410)
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    server.wait_for_state(topic, "dead", "dead")
    server.terminate()
    ago = str(int(time.time() * 1000) - 2 * 3_600_000)
    for key in "dead", f"dead:{topic}":
        shared.command("ZADD", "duepost:{0}:" + key, ago, f"{topic}/dead")
    shared.command("HSET", "duepost:{0}:meta", "clock", ago)
    server = start("--dead-max-age", "1h", redis=shared)
    until(lambda: "event=removals_rest " in server.log(), 5, "the line in the log")
    time.sleep(2)
    assert has(server, topic, "dead", "dead")


def test_a_host_whose_clock_is_ahead_leaves_the_shared_history_alone(start, redis, receiver, topic):
    """Two processes share a Redis and a history. The clock of the second one's host is ahead by 8 days, more than
    --history-max-age. Only the owner of the carry lock removes old jobs, by the clock of Redis."""
    clock, shared, where = MovableClock(), redis(), f"sqlite:{scratch.file('history.sqlite')}"
    server = start("--history", where, "--history-max-age", "7d", redis=shared)
    for i in range(50):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url())

    def delivered():
        return server.get(f"/jobs/count?topic={topic}&state=delivered").expect(200)["count"]
    until(lambda: delivered() == 50, 15, "the history")
    clock.move_by(8 * DAY)
    ahead = {**clock.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"}
    other = start("--history", where, "--history-max-age", "7d", redis=shared, extra=ahead)
    until(lambda: "event=host_clock_off " in other.log(), 5, "the line in the log")
    time.sleep(2)
    assert delivered() == 50
    server.terminate()  # the other one owns the lock now, and goes by the clock of Redis
    until(lambda: "event=carry_lock_taken " in other.log(), 10, "the lock")
    time.sleep(4)
    assert other.get(f"/jobs/count?topic={topic}&state=delivered").expect(200)["count"] == 50
    assert "event=history_pruned " not in other.log()


def test_jobs_that_a_rate_holds_go_on_after_a_step_back(start, redis, receiver, topic):
    clock = MovableClock()
    server = start(redis=redis(environment=clock.environment))
    server.request("PUT", f"/topics/{topic}", json.dumps({"rate": {"jobs": 10, "per": 1}, "paused": True}), pull.JSON).expect(200)
    server.schedule_many([{"topic": topic, "url": receiver.url()} for _ in range(100)])
    clock.move_by(60)
    server.request("PUT", f"/topics/{topic}", json.dumps({"rate": {"jobs": 10, "per": 1}}), pull.JSON).expect(200)
    until(lambda: receiver.count(topic) >= 10, 10, "jobs before the step")
    clock.move_by(0)
    before, began = receiver.count(topic), time.monotonic()
    until(lambda: receiver.count(topic) >= before + 5, 5, "jobs after the step")
    assert time.monotonic() - began < 2 * SLOW


def test_a_step_ahead_ends_no_lease_of_a_worker(start, redis, topic):
    clock = MovableClock()
    server = start(redis=redis(environment=clock.environment))
    pull.make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", body="x")
    job = pull.lease_one(server, topic, lease=25)
    clock.move_by(40)
    time.sleep(9)  # longer than the quiet time after a step
    assert server.job(topic, "a")["state"] == "leased"
    pull.end(server, "extend", topic, pull.name(job, lease=3))
    until(lambda: server.job(topic, "a")["state"] == "delayed", 15, "the end of the lease, when it has run out")
    assert server.job(topic, "a")["lastAttempt"]["error"] == "lease_expired"


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["leased", "cancelled"])
def test_a_lease_that_was_taken_while_the_clock_was_ahead_ends_in_time(start, redis, topic, is_cancelled):
    clock = MovableClock()
    clock.move_by(3600)
    server = start(redis=redis(environment=clock.environment))
    pull.make_pull(server, topic, maxInFlight=1)
    server.schedule(topic=topic, jobId="a", body="x")
    pull.lease_one(server, topic, lease=12)
    if is_cancelled:
        server.cancel(topic, "a").expect(200)
    began = time.monotonic()
    clock.move_by(0)
    server.schedule(topic=topic, jobId="b", body="x")
    until(lambda: pull.lease(server, topic, lease=60), 15, "job b, when the place of job a is free")
    assert time.monotonic() - began > 9
