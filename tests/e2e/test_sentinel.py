"""Sentinels replace a primary that is lost, or move it: confirmed jobs are kept, and deliveries continue."""

import time

import pytest
from names import private_name
from patience import SLOW, until
from sentinels import DOWN_AFTER_MS, Sentinels

RESUMED_WITHIN_S = DOWN_AFTER_MS / 1000 + 5
REJOINED_WITHIN_S = 30  # time until Sentinels have turned the old primary into a replica


@pytest.fixture
def sentinels():
    group = Sentinels()
    yield group
    group.stop()


def kill(group):
    group.primary().kill()


def freeze(group):
    """Freezes the primary until another node has become primary. When the frozen node wakes up, it still acts as a
    primary."""
    old = group.primary()
    old.freeze()
    until(lambda: group.primary() is not old, 20, "another primary")
    old.thaw()


def fail_over(group):
    old = group.primary()
    group.fail_over()
    until(lambda: group.primary() is not old, 20, "another primary")


# An old primary that keeps running accepts writes, and a replica may still follow it. So a write is safe only if all
# replicas have it (WAIT), and changes are confirmed again only when the old primary has become a replica.
@pytest.mark.parametrize("fault, replicas, seconds", [
    (kill, 1, RESUMED_WITHIN_S), (freeze, 2, REJOINED_WITHIN_S), (fail_over, 2, REJOINED_WITHIN_S)])
def test_confirmed_jobs_survive_the_loss_of_the_primary(start, sentinels, receiver, topic, fault, replicas, seconds):
    server = start("--durability", f"replicated:{replicas}", redis=sentinels.address)
    assert server.get("/readyz").expect(200)["durability"]["inForce"] == "fsync+replicated:2"
    confirmed, unknown = set(), set()

    def post(number):
        status = server.post({"topic": topic, "jobId": str(number), "url": receiver.url(), "delay": 1}).status
        (confirmed if status in (200, 201) else unknown).add(str(number))
        return status

    for number in range(200):
        post(number)
    assert len(confirmed) == 200
    fault(sentinels)
    since, number = time.monotonic(), 200
    while post(number) != 201:
        assert time.monotonic() - since < seconds * SLOW, "no 201 since the fault"
        number += 1
    for number in range(number + 1, number + 101):
        post(number)
    until(lambda: confirmed <= {a.job_id for a in receiver.of(topic)}, 30, "delivery of all that was confirmed")
    assert {a.job_id for a in receiver.of(topic)} <= confirmed | unknown


def test_without_replicas_nothing_is_promised(start, sentinels, receiver, topic):
    server = start("--durability", "replicated:2", redis=sentinels.address)
    job = {"topic": topic, "url": receiver.url(), "delay": 100}
    server.post(job).expect(201)
    replica = next(node for node in sentinels.nodes if node is not sentinels.primary())
    replica.freeze()
    try:
        assert "not durable yet" in server.post(job).expect(503)["detail"]
    finally:
        replica.thaw()
    until(lambda: server.post(job).status == 201, 10, "a promise again")


def test_no_node_is_a_target(start, sentinels, topic):
    """Jobs can reach neither the addresses in the option nor those that the Sentinels name, primary or replica."""
    server = start(redis=sentinels.address, allow="127.0.0.0/8")  # allows only this address of localhost
    ports = [each.port for each in (*sentinels.sentinels, *sentinels.nodes)]
    for port in ports:
        assert server.post({"topic": topic, "url": f"http://127.0.0.1:{port}/", "delay": 60}).fields() == ["url"]
        assert server.post({"topic": topic, "url": f"http://localhost:{port}/", "delay": 60}).fields() == ["url"]
        server.schedule(topic=topic, jobId=str(port), url=f"http://{private_name()}:{port}/")
        assert server.wait_for_state(topic, str(port), "dead")["reason"] == "target_refused"


def test_no_sentinel_is_503_until_there_is_one(start, receiver, topic):
    server = start(redis="sentinel://127.0.0.1:1/main", ready=False)
    assert "Sentinel" in server.post({"topic": topic, "url": receiver.url()}).expect(503)["detail"]
