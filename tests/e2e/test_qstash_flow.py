"""Flow control: Upstash-Flow-Control-Key and -Value of messages, /v2/flowControl, /v2/globalParallelism."""

import urllib.parse

import pytest

from clock import MANUAL, ManualClock, attempts, seconds_after
from patience import until, watch
from qstash import QStash, arrivals
from receiver import Answer


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def publish(qstash, key, url, value=None, **headers):
    if value:
        headers["Upstash_Flow_Control_Value"] = value
    return qstash.publish(url, b"x", Upstash_Flow_Control_Key=key, **headers)


def get(qstash, key):
    return qstash.call("GET", f"flowControl/{urllib.parse.quote(key)}").expect(200)


def change(qstash, key, what):
    reply = qstash.call("POST", f"flowControl/{urllib.parse.quote(key)}/{what}")
    assert (reply.status, reply.body) == (200, b"")


def most_at_once(found):
    """Returns the highest number of requests that were under way at the same time. A request that ends when the next
    one begins does not overlap with it."""
    times = sorted([(arrival.at_ms, 1) for arrival in found] + [(arrival.answered_at_ms, -1) for arrival in found])
    running = most = 0
    for _, step in times:
        running += step
        most = max(most, running)
    return most


def is_idle(qstash, key):
    return get(qstash, key)["parallelismCount"] == get(qstash, key)["waitListSize"] == 0


# ---- what is shown ----

def test_a_key_is_there_from_its_first_message_on(qstash, receiver, topic):
    assert qstash.call("GET", f"flowControl/{topic}").status == 404
    message_id = publish(qstash, topic, receiver.url(f"/{topic}"), "parallelism=3, rate=5, period=1m")
    assert message_id.startswith(f"msg_flow.{topic}.")
    arrivals(receiver, f"/{topic}", 1)
    until(lambda: is_idle(qstash, topic), 10, "the end of the message")
    shown = get(qstash, topic)
    assert shown.pop("ratePeriodStart") > 1_700_000_000
    assert shown == {"flowControlKey": topic, "waitListSize": 0, "parallelismMax": 3, "parallelismCount": 0, "rateMax": 5, "rateCount": 1,
                     "ratePeriod": 60, "isPaused": False, "isPinnedParallelism": False, "isPinnedRate": False}
    native = qstash.request("GET", f"/topics/qstash~flow.{topic}").expect(200)
    assert native["settings"] == {"maxInFlight": 3, "rate": {"jobs": 5, "per": 60, "burst": 1, "window": True}}


def test_keys_may_be_any_text(qstash, topic):
    key = f"{topic}: 50 % of a€b".encode().decode("latin-1")
    publish(qstash, key, "https://example.com/", "rate=1", Upstash_Delay="1h")
    shown = qstash.call("GET", f"flowControl/{urllib.parse.quote(key.encode('latin-1'))}").expect(200)
    assert shown["flowControlKey"].startswith(f"{topic}: 50 % of a")


def test_a_list_has_all_keys_or_those_with_a_text(qstash, topic):
    wanted = sorted(f"{topic}.{word}" for word in ("one", "two", "three"))
    for key in wanted:
        publish(qstash, key, "https://example.com/", "parallelism=1", Upstash_Delay="1h")

    def keys(query=""):
        return [flow["flowControlKey"] for flow in qstash.call("GET", f"flowControl{query}").expect(200)]
    assert [key for key in keys() if key.startswith(topic)] == wanted
    assert keys(f"?search={topic}.t") == [f"{topic}.three", f"{topic}.two"]
    assert keys(f"?search={topic}.none") == []


def test_all_messages_together(qstash):
    shown = qstash.call("GET", "globalParallelism").expect(200)
    assert shown["parallelismMax"] > 0 and shown["parallelismCount"] >= 0


@pytest.mark.parametrize("value", ["parallelism=0", "rate=x", "speed=3", "period=8d", "parallelism"])
def test_wrong_values_are_refused(qstash, topic, value):
    reply = qstash.call("POST", "publish/https://example.com/", b"", Upstash_Flow_Control_Key=topic, Upstash_Flow_Control_Value=value)
    assert reply.status == 400 and "Flow-Control-Value" in reply.json["error"]
    assert qstash.call("GET", f"flowControl/{topic}").status == 404


def test_a_key_without_limits_is_refused(qstash, topic):
    """A key of a message to a group may get its limits from the settings of the group."""
    for path in "publish/https://example.com/", "publish/https%3A%2F%2Fexample.com%2F", f"enqueue/{topic}/https://example.com/", "schedules/https://example.com/":
        reply = qstash.call("POST", path, b"", Upstash_Flow_Control_Key=topic, Upstash_Cron="* * * * *")
        assert reply.status == 400 and "needs Upstash-Flow-Control-Value" in reply.json["error"], (path, reply.body)
    qstash.call("POST", f"topics/{topic}/endpoints", {"endpoints": [{"name": "a", "url": "https://example.com/"}]}).expect(200)
    assert qstash.call("POST", f"publish/{topic}", b"", Upstash_Flow_Control_Key=topic, Upstash_Delay="1h").status == 400
    qstash.call("PATCH", f"topics/{topic}", {"headers": {"Upstash-Flow-Control-Value": "rate=1"}}).expect(200)
    assert qstash.call("POST", f"publish/{topic}", b"", Upstash_Flow_Control_Key=topic, Upstash_Delay="1h").status == 200
    assert get(qstash, topic)["rateMax"] == 1


def test_a_key_that_is_too_long_is_refused(qstash):
    reply = qstash.call("POST", "publish/https://example.com/", b"", Upstash_Flow_Control_Key="k" * 91, Upstash_Flow_Control_Value="rate=1")
    assert reply.status == 400 and "90 bytes" in reply.json["error"]


@pytest.mark.parametrize("what", ["resume", "resetRate", "unpin?rate=true"])
def test_unknown_keys(qstash, topic, what):
    reply = qstash.call("POST", f"flowControl/{topic}/{what}")
    assert reply.status == 404 and topic in reply.json["error"]


# ---- the limits ----

@pytest.mark.parametrize("parallelism", [1, 3])
def test_parallelism_is_never_exceeded_and_spans_urls(qstash, receiver, topic, parallelism):
    targets = [f"/{topic}.a", f"/{topic}.b"]
    for target in targets:
        receiver.script(target, Answer(200, delay=0.2))
    change(qstash, topic, "pause")
    for number in range(8):
        publish(qstash, topic, receiver.url(targets[number % 2]), f"parallelism={parallelism}")
    change(qstash, topic, "resume")
    until(lambda: sum(map(receiver.count, targets)) == 8, 20, "all messages")
    until(lambda: is_idle(qstash, topic), 10, "the end of the messages")
    assert most_at_once([arrival for target in targets for arrival in receiver.of(target)]) == parallelism


def test_a_rate_holds_for_its_period(qstash, receiver, topic):
    target = f"/{topic}"
    for _ in range(5):
        publish(qstash, topic, receiver.url(target), "rate=3, period=1h")
    arrivals(receiver, target, 3)
    watch(1, lambda: receiver.count(target) == 3, "the others wait")
    shown = get(qstash, topic)
    assert (shown["rateCount"], shown["rateMax"], shown["waitListSize"]) == (3, 3, 2)


def test_a_rate_continues_in_the_next_period(receiver, topic):
    server = QStash(*MANUAL)
    try:
        clock = ManualClock(server)
        begin = clock.now()
        for _ in range(5):
            publish(server, topic, receiver.url(f"/{topic}"), "rate=2, period=1d")
        assert seconds_after(begin, attempts(clock.until_idle())) == [0, 0, 86400, 86400, 172800]
        assert receiver.count(f"/{topic}") == 5
    finally:
        server.stop()


def test_the_limits_are_those_of_the_last_message(qstash, receiver, topic):
    target = f"/{topic}"
    for _ in range(3):
        publish(qstash, topic, receiver.url(target), "rate=1, period=1h")
    arrivals(receiver, target, 1)
    assert get(qstash, topic)["rateMax"] == 1
    publish(qstash, topic, receiver.url(target), "parallelism=2")
    assert (get(qstash, topic)["rateMax"], get(qstash, topic)["parallelismMax"]) == (0, 2)
    arrivals(receiver, target, 4)


# ---- pause, pin and reset ----

def test_a_paused_key_delivers_nothing(qstash, receiver, topic):
    target = f"/{topic}"
    change(qstash, topic, "pause")
    publish(qstash, topic, receiver.url(target), "parallelism=1")
    watch(1, lambda: receiver.count(target) == 0, "nothing is delivered")
    shown = get(qstash, topic)
    assert shown["isPaused"] is True and shown["waitListSize"] == 1
    change(qstash, topic, "resume")
    arrivals(receiver, target, 1)
    assert get(qstash, topic)["isPaused"] is False


def test_a_reset_begins_a_new_period(qstash, receiver, topic):
    target = f"/{topic}"
    for _ in range(5):
        publish(qstash, topic, receiver.url(target), "rate=2, period=1h")
    arrivals(receiver, target, 2)
    change(qstash, topic, "resetRate")
    arrivals(receiver, target, 4)
    assert get(qstash, topic)["rateCount"] == 2
    change(qstash, topic, "resetRate")
    arrivals(receiver, target, 5)


def test_a_pin_wins_over_messages_until_it_is_taken_away(qstash, receiver, topic):
    target = f"/{topic}"
    change(qstash, topic, "pin?parallelism=4&rate=2&period=1h")
    for _ in range(4):
        publish(qstash, topic, receiver.url(target), "parallelism=1, rate=9, period=5s")
    arrivals(receiver, target, 2)
    watch(1, lambda: receiver.count(target) == 2, "the pinned rate holds")
    shown = get(qstash, topic)
    assert (shown["parallelismMax"], shown["rateMax"], shown["ratePeriod"]) == (4, 2, 3600)
    assert shown["isPinnedParallelism"] and shown["isPinnedRate"]
    change(qstash, topic, "unpin?parallelism=true")
    shown = get(qstash, topic)
    assert (shown["parallelismMax"], shown["rateMax"], shown["isPinnedParallelism"], shown["isPinnedRate"]) == (1, 2, False, True)
    change(qstash, topic, "unpin?rate=true")
    arrivals(receiver, target, 4)
    shown = get(qstash, topic)
    assert (shown["rateMax"], shown["ratePeriod"], shown["isPinnedRate"]) == (9, 5, False)


@pytest.mark.parametrize("query", ["", "?rate=0", "?parallelism=x", "?speed=1"])
def test_wrong_pins_are_refused(qstash, topic, query):
    assert qstash.call("POST", f"flowControl/{topic}/pin{query}").status == 400
    assert qstash.call("GET", f"flowControl/{topic}").status == 404


def test_a_message_of_a_queue_keeps_to_the_rate_of_its_key(qstash, receiver, topic):
    target = f"/{topic}"
    for number in range(4):
        qstash.call("POST", f"enqueue/{topic}/{receiver.url(target)}", str(number).encode(), Upstash_Flow_Control_Key=topic,
                    Upstash_Flow_Control_Value="rate=2, period=1h").expect(200)
    assert [arrival.body for arrival in arrivals(receiver, target, 2)] == [b"0", b"1"]
    watch(1, lambda: receiver.count(target) == 2, "the others wait")
    assert qstash.call("GET", f"queues/{topic}").expect(200)["lag"] == 2
