"""The events while a client turns the manual clock: retries, breakers, limits, expiry, leases, workflows, restarts."""

import calendar
import itertools
import json
import threading
import time

import pytest

import pull
from clock import MANUAL, ManualClock, attempts, seconds_after
from duepost import run
from patience import until
from qstash import QStash
from receiver import CLOSE, HANG, Answer
from runs import TAKEN, Run, decoded, step
from timestamp import from_ms, to_ms

JSON = {"Content-Type": "application/json"}
MINUTE, HOUR, DAY = 60, 3600, 86400
PLAN = [15, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 15 * HOUR]  # the default retry schedule


def time_of(job_id):
    """Returns the ms since 1970 of an occurrence, which its id contains."""
    text = job_id.rpartition("~")[2].removesuffix("Z")
    whole, _, ms = text.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y%m%dT%H%M%S")) * 1000 + int(ms or 0)


def put(server, target, **document):
    return server.request("PUT", target, json.dumps(document), JSON)


# ---- retries ----

def test_a_plan_of_25_hours_to_the_millisecond(manual, receiver, topic):
    server, clock = manual()
    receiver.script(topic, 500)
    begin = clock.now()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDead=receiver.url("/dead"))
    fired = clock.until_idle()
    wanted = [0, *itertools.accumulate(PLAN)]
    assert seconds_after(begin, attempts(fired, topic)) == wanted and clock.now() == begin + wanted[-1] * 1000
    assert [(one["attempt"], one["status"], one["outcome"]) for one in attempts(fired, topic)] == [
        *((number, 500, "retry") for number in range(1, 10)), (10, 500, "dead")]
    assert [(to_ms(one["nextAt"]) - begin) / 1000 for one in attempts(fired, topic)[:-1]] == wanted[1:]
    assert [one.attempt for one in receiver.of(topic)] == list(range(1, 11))
    job = server.job(topic, "a")
    assert (job["reason"], to_ms(job["deadAt"])) == ("retries_exhausted", begin + wanted[-1] * 1000)
    shown = server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]
    assert [(to_ms(one["at"]) - begin) / 1000 for one in shown] == wanted
    callback, = receiver.of(f"{topic}~callbacks")
    document = json.loads(callback.body)
    # the end of an attempt is its time by the manual clock and its duration, which is real
    assert to_ms(document["endedAt"]) == begin + wanted[-1] * 1000 + shown[-1]["durationMs"] and document["lateMs"] == 0
    assert seconds_after(begin, attempts(fired, f"{topic}~callbacks")) == wanted[-1:]


def test_nothing_is_sent_early_and_the_clock_stands_still(manual, receiver, topic):
    server, clock = manual()
    begin = clock.now()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="3d")
    assert clock.move_to(begin + 3 * DAY * 1000 - 1) == []
    time.sleep(1)
    assert receiver.count(topic) == 0 and clock.now() == begin + 3 * DAY * 1000 - 1
    one, = clock.advance(0.001)
    assert (one["event"], one["jobId"], to_ms(one["at"]), one["outcome"]) == ("attempt", "a", begin + 3 * DAY * 1000, "delivered")
    assert receiver.count(topic) == 1


def test_a_receiver_says_how_long_to_wait(manual, receiver, topic):
    """Retry-After of a day, then two rounds of "not yet", then a retry."""
    server, clock = manual()
    later = [("Retry-After", "86400")], [("Duepost-Again", "365d")], [("Duepost-Again", "1h30m")]
    receiver.script(topic, *(Answer(status, headers=tuple(headers)) for status, headers in zip((503, 202, 202), later)), 500, 200)
    begin = clock.now()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=["5m"])
    sent = attempts(clock.until_idle())
    assert seconds_after(begin, sent) == list(itertools.accumulate([0, DAY, 365 * DAY, 90 * MINUTE, 5 * MINUTE]))
    assert [one["outcome"] for one in sent] == ["retry", "again", "again", "retry", "delivered"]
    assert [(one.attempt, one.headers.get("duepost-round")) for one in receiver.of(topic)] == [(1, None), (2, None), (1, "2"), (1, "3"), (2, "3")]


def test_attempts_that_fail_without_an_answer(manual, receiver, topic):
    """A timeout takes real time. The clock waits for its end."""
    server, clock = manual("--breaker", "off")
    receiver.script(topic, HANG, CLOSE, CLOSE, 200)
    begin = clock.now()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=1, retrySchedule=["1h"] * 5)
    sent = attempts(clock.until_idle())
    assert [one["error"] for one in sent[:2]] == ["timeout", "reset"] and sent[-1]["outcome"] == "delivered"
    assert seconds_after(begin, sent) == [HOUR * number for number in range(len(sent))]


def test_the_jobs_of_a_fifo_topic_wait_for_the_first_one(manual, receiver, topic):
    server, clock = manual()
    put(server, f"/topics/{topic}", order="fifo").expect(200)
    receiver.script(topic, 500, 500, 500, 200, job_id="b")
    begin = clock.now()
    for number, job_id in enumerate("abcd"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=number + 1)
    sent = attempts(clock.until_idle())
    end = 2 + sum(PLAN[:3])
    assert [one["jobId"] for one in sent] == list("abbbbcd") == [one.job_id for one in receiver.of(topic)]
    assert seconds_after(begin, sent) == [1, *itertools.accumulate([2, *PLAN[:3]]), end, end]


# ---- breaker ----

def test_a_receiver_that_is_down_for_a_day(manual, own, topic):
    """A job comes every 10 minutes, and 25 come at once. 20 failures open the breaker. Then only probes are sent, at
    growing waits. When the receiver is back, all jobs are delivered: none has used up its attempts."""
    server, clock = manual()
    own.script(topic, 503)
    begin = clock.now()
    put(server, f"/schedules/{topic}/s", every="10m", endAt=from_ms(begin + DAY * 1000), job={"url": own.url()}).expect(201)
    for number in range(25):
        server.schedule(topic=topic, jobId=str(number), url=own.url())
    fired = clock.advance("1d")
    failed = attempts(fired, topic)
    assert {one["status"] for one in failed} == {503} and len(failed) == own.count(topic)
    at = seconds_after(begin, failed)
    assert 20 <= at.count(0) <= 25  # the breaker opens
    probes = [0, *at[at.count(0):]]
    waits = [after - before for before, after in zip(probes, probes[1:])]
    for wait, least in zip(waits, [30, 60, 120, 240, 480, *[600] * 200]):  # then until a job comes that may be the probe
        assert least - 0.01 <= wait <= least + 600, waits
    assert len(waits) > 130, waits
    jobs = server.get(f"/topics/{topic}").expect(200)["jobs"]
    assert jobs["dead"] == 0
    entry, = server.get("/receivers").expect(200)["receivers"]
    assert entry["state"] == "open" and entry["failures"] == len(failed) and to_ms(entry["openSince"]) == begin

    own.script(topic, 200)
    fired = attempts(clock.until_idle(), topic)
    assert {one["outcome"] for one in fired} == {"delivered"} and fired[0]["at"] == entry["probeAt"]
    assert len(fired) == 25 + 144 == len({one.job_id for one in own.of(topic)})
    assert len([one for one in fired if one["at"] == fired[0]["at"]]) > 144, "those that the breaker held follow at once"


# ---- limits ----

def test_a_rate_spreads_jobs_over_hours(manual, receiver, topic):
    server, clock = manual()
    put(server, f"/topics/{topic}", rate={"jobs": 6, "per": HOUR}).expect(200)
    begin = clock.now()
    for number in range(12):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url(), delay=1)
    assert seconds_after(begin, attempts(clock.until_idle())) == [1 + 600 * number for number in range(12)]


def test_a_window_lets_its_jobs_begin_at_once(manual, receiver, topic):
    server, clock = manual()
    put(server, f"/topics/{topic}", rate={"jobs": 5, "per": HOUR, "window": True}).expect(200)
    begin = clock.now()
    for number in range(12):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url(), delay=1)
    assert seconds_after(begin, attempts(clock.until_idle())) == [1] * 5 + [1 + HOUR] * 5 + [1 + 2 * HOUR] * 2


def test_a_shared_limit_and_the_bounds_of_a_key(manual, receiver, topic):
    server, clock = manual()
    put(server, "/limits/shared", rate={"jobs": 1, "per": HOUR}).expect(201)
    put(server, f"/topics/{topic}.keys", perKey={"rate": {"jobs": 1, "per": HOUR}}).expect(200)
    begin = clock.now()
    for name in "xy":
        put(server, f"/topics/{topic}.{name}", limit="shared").expect(200)
        for number in range(2):
            server.schedule(topic=f"{topic}.{name}", jobId=str(number), url=receiver.url(), delay=1)
            server.schedule(topic=f"{topic}.keys", jobId=f"{name}{number}", key=name, url=receiver.url(), delay=1)
    fired = clock.until_idle()
    assert seconds_after(begin, [one for one in attempts(fired) if not one["topic"].endswith("keys")]) == [1 + HOUR * number for number in range(4)]
    assert seconds_after(begin, attempts(fired, f"{topic}.keys")) == [1, 1, 1 + HOUR, 1 + HOUR]


# ---- times of what is kept ----

def test_kept_and_dead_jobs_are_readable_until_their_time_is_over(manual, receiver, topic):
    server, clock = manual("--dead-max-age", "30d")
    put(server, f"/topics/{topic}", retention="1h").expect(200)
    receiver.script(f"{topic}.dead", 410)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.schedule(topic=f"{topic}.dead", jobId="a", url=receiver.url())
    clock.until_idle()
    kept = to_ms(server.job(topic, "a")["keptUntil"])
    assert kept == clock.now() + HOUR * 1000
    clock.move_to(kept - 1)
    assert server.job(topic, "a")["state"] == "delivered"
    clock.move_to(kept + 1000)
    until(lambda: server.job(topic, "a") is None, 10, "removed")
    died = to_ms(server.job(f"{topic}.dead", "a")["deadAt"])
    clock.move_to(died + 30 * DAY * 1000 - 1)
    assert server.job(f"{topic}.dead", "a")["state"] == "dead"
    clock.move_to(died + 30 * DAY * 1000 + 60_000)
    until(lambda: server.job(f"{topic}.dead", "a") is None, 10, "removed")


def test_an_idempotency_key_is_kept_for_its_window(manual, receiver, topic):
    server, clock = manual()
    job = {"topic": topic, "url": receiver.url()}

    def send():
        return server.post(job, headers={"Idempotency-Key": "k"}).expect(201)["jobId"]
    first = send()
    clock.advance(DAY - 1)
    assert send() == first
    clock.advance(2)
    assert send() != first
    clock.until_idle()
    assert receiver.count(topic) == 2


def test_a_time_to_live_ends_to_the_millisecond(manual, receiver, topic):
    server, clock = manual()
    put(server, f"/topics/{topic}", paused=True).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl="12h", onDead=receiver.url("/dead"))
    expires = to_ms(server.job(topic, "a")["expiresAt"])
    assert expires == clock.now() + 12 * HOUR * 1000
    clock.move_to(expires - 1)
    assert server.job(topic, "a")["state"] != "dead"
    fired = clock.advance("1h")
    expired, = [one for one in fired if one["event"] == "expired"]
    job = server.job(topic, "a")
    assert (job["state"], job["reason"]) == ("dead", "expired") and to_ms(job["deadAt"]) == to_ms(expired["at"])
    assert expires <= to_ms(job["deadAt"]) <= expires + 1000
    assert receiver.count(topic) == 0 and receiver.count(f"{topic}~callbacks") == 1


def test_an_expiry_between_two_retries(manual, receiver, topic):
    server, clock = manual()
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl="2h")
    begin = clock.now()
    sent = attempts(clock.until_idle())
    assert seconds_after(begin, sent) == [0, *itertools.accumulate(PLAN[:5])]
    job = server.job(topic, "a")
    assert (job["reason"], job["attempts"]) == ("expired", 6) and 0 <= to_ms(job["deadAt"]) - (begin + 2 * HOUR * 1000) <= 1000


# ---- workers, workflows ----

def test_a_workers_lease_runs_out_when_the_clock_says_so(manual, topic):
    server, clock = manual()
    pull.make_pull(server, topic, retrySchedule=["10m"])
    server.schedule(topic=topic, jobId="a")
    first = pull.lease_one(server, topic, lease="1h")
    ends = to_ms(first["leaseUntil"])
    assert ends == clock.now() + HOUR * 1000
    time.sleep(1)
    clock.move_to(ends - 1000)
    assert pull.lease(server, topic) == []
    extended = pull.end(server, "extend", topic, pull.name(first, lease="1h")).expect(200)
    assert to_ms(extended["leaseUntil"]) == ends - 1000 + HOUR * 1000
    clock.move_to(ends + 60_000)
    assert pull.lease(server, topic) == []
    ends = to_ms(extended["leaseUntil"])
    lapsed, = clock.move_to(ends + 599_999)
    assert (lapsed["event"], lapsed["jobId"], to_ms(lapsed["at"])) == ("lapsed", "a", ends)
    assert [one["error"] for one in server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]] == ["lease_expired"]
    assert pull.lease(server, topic) == []  # the retry schedule counts from the end of the lease
    clock.advance(0.001)
    second = pull.lease_one(server, topic)
    assert (second["jobId"], second["attempt"]) == ("a", 2) and second["token"] != first["token"]
    assert pull.end(server, "complete", topic, pull.name(first)).status == 409
    pull.end(server, "complete", topic, pull.name(second)).expect(200)


def test_a_waiting_worker_gets_the_job_that_becomes_due(manual, topic):
    server, clock = manual()
    pull.make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", delay="7d")
    waiter = pull.Waiter(server, topic)
    pull.await_waiting(server, 1)
    clock.advance("7d")
    job, = waiter.jobs()
    assert job["jobId"] == "a" and to_ms(job["dueAt"]) == clock.now()


def test_a_workflow_sleeps_for_a_month(receiver, topic):
    server = QStash(*MANUAL)
    try:
        clock = ManualClock(server)
        receiver.script(f"/{topic}", TAKEN)
        run = Run(server, receiver, f"/{topic}")
        clock.until_idle()
        begin = clock.now()
        asleep, = run.step(step(1, ""), upstash_delay="30d")
        clock.advance("29d")
        assert receiver.count(run.path) == 1
        clock.advance("1d")
        last = receiver.of(run.path)[-1]
        assert last.job_id == asleep and decoded(last) == ["payload", step(1, "")]
        assert clock.now() == begin + 30 * DAY * 1000 and run.is_active()
        message = server.publish(receiver.url(f"/{topic}/plain"), b"x", Upstash_Delay="50d")
        clock.until_idle()
        assert receiver.of(f"/{topic}/plain")[0].job_id == message and clock.now() == begin + 80 * DAY * 1000
    finally:
        server.stop()


# ---- the move itself ----

def test_until_idle_ends_although_a_schedule_goes_on(manual, receiver, topic):
    server, clock = manual()
    put(server, f"/schedules/{topic}.tick/s", every="1h", job={"url": receiver.url()}).expect(201)
    receiver.script(topic, 500, 500, 200)
    begin = clock.now()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="1d", retrySchedule=["6h", "6h"])
    fired = clock.until_idle()
    assert seconds_after(begin, attempts(fired, topic)) == [DAY, DAY + 6 * HOUR, DAY + 12 * HOUR]
    assert clock.now() == begin + (DAY + 12 * HOUR) * 1000
    assert len(attempts(fired, f"{topic}.tick")) in (35, 36)
    assert clock.until_idle() == []
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay="30d")
    at = clock.now()
    clock.until_idle(advance="10d")
    assert clock.now() == at + 10 * DAY * 1000 and server.job(topic, "b")["state"] == "delayed"


def test_events_come_in_pages(manual, receiver, topic):
    server, clock = manual()
    put(server, f"/schedules/{topic}/s", every="1m", job={"url": receiver.url()}).expect(201)
    begin, found, move, pages = clock.now(), [], {"advance": "1h"}, 0
    while True:
        answer = clock.request(**move, limit=7).expect(200)
        assert len(answer["fired"]) <= 7 and "lost" not in answer
        found, pages, move = found + answer["fired"], pages + 1, {"to": answer["to"]}
        if answer["reached"] and not answer["more"]:
            break
    assert seconds_after(begin, attempts(found)) == [60 * number for number in range(1, 61)] and pages >= 120 / 7
    assert clock.request(to=from_ms(clock.now())).expect(200)["fired"] == []


def test_the_clock_waits_for_the_answers_of_receivers(manual, receiver, topic):
    server, clock = manual()
    receiver.script(topic, Answer(500, delay=1), Answer(200, delay=1))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="1h", retrySchedule=["1h"])
    begin, real = clock.now(), time.monotonic()
    fired = clock.advance("1d")
    assert time.monotonic() - real >= 2 and seconds_after(begin, fired) == [HOUR, 2 * HOUR]
    job = receiver.of(topic)
    assert job[1].at_ms >= job[0].answered_at_ms


def test_one_client_at_a_time_turns_the_clock(manual, receiver, topic):
    server, clock = manual()
    receiver.script(topic, Answer(delay=2))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="1h")
    begin, fired = clock.now(), []
    other = threading.Thread(target=lambda: fired.extend(clock.advance("1d")))
    other.start()
    until(lambda: receiver.count(topic), 10, "the attempt")
    clock.request(advance="2d").expect(409)
    assert clock.shown()["inFlight"] == 1 and clock.now() == begin + HOUR * 1000
    other.join()
    assert clock.now() == begin + DAY * 1000 and len(fired) == 1


# ---- restarts ----

def test_the_clock_stays_where_it_was(manual, receiver, topic, data):
    server, clock = manual(data=data)
    begin = clock.now()
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="10d")
    clock.advance("9d")
    server.terminate()
    time.sleep(1)
    server, clock = manual(data=data)
    assert clock.now() == begin + 9 * DAY * 1000 and receiver.count(topic) == 0
    assert seconds_after(begin, clock.advance("1d")) == [10 * DAY] and receiver.count(topic) == 1


def test_a_move_goes_on_after_a_kill(manual, receiver, topic, data):
    """The server is killed while the clock moves, again and again. Nothing is lost, nothing is early, and only jobs whose
    attempt may have been in flight come twice."""
    server, clock = manual(data=data)
    receiver.script(topic, 500, 200)  # the first job of each topic fails once
    put(server, f"/schedules/{topic}/s", every="1h", job={"url": receiver.url(), "retrySchedule": ["90m"]}).expect(201)
    begin, kills = clock.now(), 4
    end, wanted = begin + 20 * DAY * 1000, 20 * 24
    for number in range(kills):
        mover = threading.Thread(target=move_until_killed, args=(clock, end))
        mover.start()
        until(lambda: receiver.count(topic) > (number + 1) * 80, 30, "jobs")
        server.kill()
        mover.join()
        server, clock = manual(data=data)
        assert begin <= clock.now() < end
        assert max(time_of(one.job_id) for one in receiver.of(topic)) <= clock.now()
    clock.move_to(end)
    assert clock.now() == end
    came = [one.job_id for one in receiver.of(topic)]
    assert len(set(came)) == wanted
    assert wanted + 1 <= len(came) <= wanted + 1 + 2 * kills, len(came)
    times = [one.partition("~")[2] for one in dict.fromkeys(came)]
    assert times == sorted(times)
    assert not [job for job in server.get(f"/jobs?topic={topic}&state=dead").expect(200)["jobs"]]


def move_until_killed(clock, end):
    try:
        clock.move_to(end)
    except Exception:  # the server is killed; how the connection ends depends on the moment
        pass


@pytest.mark.parametrize("first, second", [(MANUAL, ()), ((), MANUAL)], ids=["manual", "ordinary"])
def test_a_directory_belongs_to_one_kind_of_clock(start, data, first, second):
    server = start(*first, data=data)
    server.terminate()
    done = run("--listen", "127.0.0.1:0", "--data", str(data), *second, seconds=30)
    assert done.returncode != 0 and "--clock" in done.stdout + done.stderr, done
