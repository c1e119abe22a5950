"""A name server that does not answer delays the jobs of its names, and no others."""

import json
import pathlib
import re
import time

import pytest

from field import Field
from name_server import SILENCE
from network import Unavailable
from patience import SLOW, until
from receiver import Receiver
from timestamp import from_ms

LIVE = int(5000 / SLOW)
DEAD = 500
PER_SECOND = 400 / SLOW
LIVE_NAMES = 50
LOOKUPS_MAX = 2048  # maximum number of lookups that continue after their attempts have ended, see io/http/name_lookups.c
IN_FLIGHT_MAX = 1024


@pytest.fixture
def field():
    names = {"*": [SILENCE], **{f"live{i}.example": [["8.8.8.8"]] for i in range(LIVE_NAMES)}}
    try:
        made = Field(names)
    except Unavailable as why:
        pytest.skip(str(why))
    with made:
        yield made
    made.close()


@pytest.fixture
def receiver(field):
    started = Receiver(hosts="0.0.0.0", port=80)
    yield started
    started.stop()


def schedule(server, jobs):
    for start in range(0, len(jobs), 1000):
        reply = server.request("POST", "/jobs", json.dumps(jobs[start:start + 1000]), {"Content-Type": "application/json"})
        assert all(each["status"] == 201 for each in reply.expect(207)["results"])


def lateness(server, receiver, name, dead):
    """Returns the lateness in ms of the jobs with working names, sorted. The jobs with dead names are due half a
    second earlier."""
    begin = time.time() * 1000 + 6000 * SLOW
    due = [begin + i * 1000 / PER_SECOND for i in range(LIVE)]
    schedule(server, [{"topic": f"{name}-dead.{i % 4}", "jobId": str(i), "url": f"http://dead{i}.example/", "retry": 0,
                       "dueAt": from_ms(int(begin - 500))} for i in range(dead)])
    schedule(server, [{"topic": f"{name}.{i % 10}", "jobId": str(i), "url": f"http://live{i % LIVE_NAMES}.example/", "dueAt": from_ms(int(at))}
                      for i, at in enumerate(due)])
    topics = [f"{name}.{i}" for i in range(10)]
    until(lambda: sum(map(receiver.count, topics)) == LIVE, 60, "the live ones")
    return sorted(arrival.at_ms - due[int(arrival.job_id)] for topic in topics for arrival in receiver.of(topic))


def test_jobs_of_dead_names_hold_up_no_others(field, receiver):
    server = field.start("--durability", "memory", allow=None)
    figures = {}
    for name, dead in (("alone", 0), ("beside", DEAD)):
        late = lateness(server, receiver, name, dead)
        figures[name] = late[len(late) * 99 // 100]
        print(f"{LIVE} live jobs {name} {dead} dead ones: late p50 {late[len(late) // 2]:.0f} ms, p99 {figures[name]:.0f} ms, most {late[-1]:.0f} ms")
    assert figures["beside"] < 2 * figures["alone"] + 500 * SLOW
    asked = sum(1 for name in field.name_server.asked if name.startswith("dead"))
    assert asked == DEAD, "their names were not looked for"


def test_attempts_that_give_up_leave_a_bounded_number_of_lookups_behind(field, receiver, topic):
    """An attempt gives up after 1 s; its lookup, in libc, continues for up to 10 s. script/test does not run this
    test on sanitized builds, for which thousands of threads are too many."""
    server = field.start("--durability", "memory", "--max-in-flight-topic", str(IN_FLIGHT_MAX), allow=None)
    server.schedule(topic=topic, jobId="first", url="http://live1.example/")
    server.wait_for_state(topic, "first", None)
    schedule(server, [{"topic": f"{topic}.{i % 5}", "jobId": str(i), "url": f"http://dead{i}.example/", "timeout": 1, "retry": 100,
                       "retrySchedule": [0.1] * 100} for i in range(1000)])
    server.schedule(topic=topic, jobId="new", url="http://live2.example/", retry=0, delay=5)  # due while thousands of lookups still run

    def threads():
        return int(re.search(r"Threads:\s+(\d+)", pathlib.Path(f"/proc/{server.pid}/status").read_text())[1])
    most, end, number = 0, time.monotonic() + 7, 0
    while time.monotonic() < end:
        most, number = max(most, threads()), number + 1
        server.schedule(topic=topic, jobId=str(number), url="http://live1.example/")
        server.wait_for_state(topic, str(number), None)
        time.sleep(0.2)
    print(f"at most {most} threads")
    assert server.job(topic, "new")["state"] == "delayed" and server.job(topic, "new")["attempts"] == 0
    assert "\nduepost_held_by_lookups_total 0\n" not in server.get("/metrics").body.decode()
    for i in range(5):
        server.request("PUT", f"/topics/{topic}.{i}", '{"paused": true}', {"Content-Type": "application/json"}).expect(200)
    until(lambda: receiver.of(topic, "new"), 45, "the job whose name was not looked for")
    assert 1500 < most <= LOOKUPS_MAX + IN_FLIGHT_MAX + 50
