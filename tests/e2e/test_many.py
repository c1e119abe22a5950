"""Many jobs at once."""

import re
import time

from patience import SLOW, until, watch
from receiver import HANG, Answer
from timestamp import from_ms


def test_a_topic_whose_receiver_hangs_delays_no_other_topic(start, receiver, topic):
    """The topic has 5,000 due jobs. The 1,000 jobs of another topic arrive within 2 s."""
    server = start()
    stuck = topic + ".stuck"
    receiver.script(stuck, HANG)
    server.schedule_many([{"topic": stuck, "url": receiver.url(), "timeout": 30 * SLOW, "retry": 0} for _ in range(5000)])
    until(lambda: receiver.count(stuck) >= 256, 10, lambda: f"{receiver.count(stuck)} of 256 hanging attempts")
    at = int(time.time() * 1000) + int(3000 * SLOW)
    server.schedule_many([{"topic": topic, "jobId": str(i), "url": receiver.url(), "dueAt": from_ms(at)} for i in range(1000)])
    assert time.time() * 1000 < at, "scheduling took longer than planned"
    until(lambda: receiver.count(topic) >= 1000, 3 * SLOW + 10, lambda: f"{receiver.count(topic)} of 1000")
    late = [a.at_ms - at for a in receiver.of(topic)]
    assert 0 <= min(late) and max(late) < 2000 * SLOW, (min(late), max(late))
    assert receiver.count(stuck) == 256, "max-in-flight-topic is kept"
    assert len({a.job_id for a in receiver.of(topic)}) == len(late) == 1000


def test_a_thousand_attempts_are_in_flight_on_one_reactor(start, receiver, topic):
    server = start("--reactors", "1", "--max-in-flight", "1000", "--max-in-flight-topic", "1000")
    receiver.script(topic, HANG)
    server.schedule_many([{"topic": topic, "url": receiver.url(), "timeout": 30, "retry": 0} for _ in range(1100)])
    until(lambda: receiver.count(topic) >= 1000, 10, lambda: f"{receiver.count(topic)} of 1000")
    watch(1, lambda: receiver.count(topic) == 1000, "more than max-in-flight")
    server.get("/healthz").expect(200)


def test_many_ends_of_different_topics_are_several_calls(start, redis, receiver, topic):
    """All outcomes arrive while Redis does not answer. duepost then sends several calls, because one call that ends
    attempts of hundreds of topics would occupy Redis for too long."""
    store = redis()
    server = start("--reactors", "1", redis=store)
    store.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
    store.command("CONFIG", "SET", "slowlog-max-len", "10000")
    topics = [f"{topic}.{i}" for i in range(250)]
    for name in topics:
        receiver.script(name, Answer(200, delay=2))
    server.schedule_many([{"topic": name, "url": receiver.url()} for name in topics])
    until(lambda: all(receiver.count(name) for name in topics), 20, "all attempts are under way")
    store.freeze()
    time.sleep(2.5)
    store.thaw()
    until(lambda: server.get("/jobs/count").expect(200)["count"] == 0, 20, "all jobs are delivered")
    log = store.command("SLOWLOG", "GET", "10000").decode("latin-1")
    # The log has the first 31 words of a long command, then "... (<number> more arguments)".
    longest = max(int(found) for found in re.findall(r"duepost_complete_.*?\(([0-9]+) more arguments\)", log, re.S)) + 31
    print(f"at most {longest} words")
    assert longest <= 5 + 3 * 96


def test_a_burst_arrives_once_each(start, receiver, topic):
    """3,000 jobs are due at one instant."""
    server = start()
    at = int(time.time() * 1000) + int(4000 * SLOW)
    server.schedule_many([{"topic": f"{topic}.{i % 10}", "jobId": str(i), "url": receiver.url(), "dueAt": from_ms(at), "body": i}
                          for i in range(3000)])

    def count():
        return sum(receiver.count(f"{topic}.{i}") for i in range(10))
    until(lambda: count() >= 3000, 20, lambda: f"{count()} of 3000")
    arrivals = [a for i in range(10) for a in receiver.of(f"{topic}.{i}")]
    assert min(a.at_ms for a in arrivals) >= at
    assert sorted(int(a.body) for a in arrivals) == list(range(3000))
