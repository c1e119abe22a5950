"""A Redis Cluster: all keys of a topic are in one shard, and confirmed jobs are delivered, whatever happens to a node.

DUEPOST_TEST_FAULTS is how often each fault happens."""

import json
import os
import time

import pytest

from cluster import NODE_TIMEOUT_MS, Cluster, shard_of, slot_of, topic_in
from duepost import Duepost, run
from load import Load
from names import private_name
from patience import until, watch
from receiver import Answer, Receiver
from timestamp import to_ms

SHARDS = 16
FAULTS = int(os.environ.get("DUEPOST_TEST_FAULTS", "3"))
RESUMED_WITHIN_S = NODE_TIMEOUT_MS / 1000 + 5


@pytest.fixture(scope="module")
def cluster():
    group = Cluster()
    yield group
    group.stop()


@pytest.fixture(scope="module")
def server(cluster):
    started = Duepost("--durability", "replicated:1", redis=cluster.address)
    assert "level=warning" not in started.log(), "a healthy start"
    yield started
    started.stop()
    assert "books_are_off" not in started.log() and "ERROR: AddressSanitizer" not in started.log()


def topics(prefix):
    return [topic_in(shard, prefix) for shard in range(SHARDS)]


def primary_of(cluster, number):
    """Returns the primary of one third of the slots: of the first, second or third one, by number modulo 3."""
    return cluster.owner((slot_of(7), slot_of(1), slot_of(0))[number % 3])


def kill(cluster, number):
    """Kills a primary. Returns when this fault began, like the functions for the other faults."""
    victim = primary_of(cluster, number)
    heir = cluster.follower(victim)
    since = time.monotonic()
    victim.kill()
    until(heir.is_primary, RESUMED_WITHIN_S, "a new primary")
    victim.start()
    return since


def freeze(cluster, number):
    """Freezes a primary until another node has become primary. When the frozen node wakes up, it still acts as a
    primary."""
    victim = primary_of(cluster, number)
    heir = cluster.follower(victim)
    since = time.monotonic()
    victim.freeze()
    until(heir.is_primary, RESUMED_WITHIN_S, "a new primary")
    victim.thaw()
    return since


def fail_over(cluster, number):
    heir = cluster.follower(primary_of(cluster, number))
    if number >= 3:
        time.sleep(2 * NODE_TIMEOUT_MS / 1000)  # within this time, no node votes for a second failover of the same slots
    since = time.monotonic()
    heir.ok("CLUSTER", "FAILOVER")
    until(heir.is_primary, 10, "a new primary")
    return since


def reshard(cluster, number):
    """Moves slots to another shard, and moves them back the next time."""
    slot = slot_of(3)
    target = next(node for node in cluster.primaries() if cluster.slots_of(node) and node is not cluster.owner(slot))
    since = time.monotonic()
    source = cluster.begin_move(slot, target)
    time.sleep(0.2)  # meanwhile, duepost's commands meet a slot whose move has begun and which still has all its keys
    cluster.move_keys(slot, source, target, at_most=2)
    time.sleep(0.2)
    cluster.move_keys(slot, source, target)
    cluster.end_move(slot, source, target)
    return since


@pytest.mark.parametrize("fault", [kill, freeze, fail_over, reshard])
def test_confirmed_jobs_are_delivered_after_any_fault_of_a_primary(cluster, server, receiver, topic, fault):
    load = Load(server, receiver, topics(topic))
    seconds = []
    try:
        for number in range(FAULTS):
            seconds.append(load.await_resumed(fault(cluster, number), RESUMED_WITHIN_S))
            cluster.await_whole()
    finally:
        load.stopped.set()
    load.end()
    print("resumed after", " ".join(f"{each:.1f}" for each in sorted(seconds)), "s")


def test_all_keys_of_a_topic_are_in_its_shard(cluster, server, receiver, topic):
    names = topics(topic)
    for name in names:
        receiver.script(name, 410)
        server.schedule(topic=name, jobId="waits", url=receiver.url(), delay=3600)
        server.schedule(topic=name, jobId="dies", url=receiver.url())
    for name in names:
        server.wait_for_state(name, "dies", "dead")
    keys = [key for key in cluster.keys() if key.startswith("duepost:")]
    for name in names:
        mine = {key for key in keys if key.endswith(":" + name)}
        assert mine == {f"duepost:{{{shard_of(name)}}}:{kind}:{name}" for kind in ("bucket", "dead")}
    assert {key.split("{")[1].split("}")[0] for key in keys} == {str(shard) for shard in range(SHARDS)}
    for name in names[:3]:  # a sibling topic is in its owner's shard, because one script writes to both topics
        server.request("PUT", f"/topics/{name}", f'{{"onDead": "{receiver.url("/dead")}"}}', {"Content-Type": "application/json"}).expect(200)
        receiver.script(f"{name}~callbacks", 500)
        server.run(name, "dies").expect(202)
        until(lambda: server.get(f"/jobs/count?state=delayed&topic={name}~callbacks").expect(200)["count"] == 1, 10, "the callback waits for its retry")
        assert {key for key in cluster.keys() if key.endswith(f":{name}~callbacks")} == {
            f"duepost:{{{shard_of(name)}}}:{kind}:{name}~callbacks" for kind in ("bucket",)}
        server.request("DELETE", f"/jobs?state=delayed&topic={name}~callbacks&all=true").expect(200)
        server.request("DELETE", f"/topics/{name}").expect(200)
    for name in names:
        server.cancel(name, "waits").expect(200)
        server.cancel(name, "dies").expect(200)


def test_a_list_over_all_topics_covers_all_shards(server, receiver, topic):
    names = topics(topic)[::2]
    for name in names:
        receiver.script(name, 410)
        for number in range(3):
            server.schedule(topic=name, jobId=str(number), url=receiver.url())
    wanted = sorted((name, str(number)) for name in names for number in range(3))
    for name, number in wanted:
        server.wait_for_state(name, number, "dead")
    found, cursor = [], ""
    while True:
        page = server.get("/jobs?state=dead&limit=2" + cursor).expect(200)
        assert page["jobs"] or "cursor" not in page, "an empty page that is not the last"
        found += [(job["topic"], job["jobId"]) for job in page["jobs"]]
        if "cursor" not in page:
            break
        cursor = "&cursor=" + page["cursor"]
    assert sorted(found) == wanted
    assert sorted(job["jobId"] for job in server.get(f"/jobs?state=dead&topic={names[3]}").expect(200)["jobs"]) == ["0", "1", "2"]
    assert server.get("/jobs?state=dead&cursor=16@").fields() == ["cursor"]
    metrics = server.request("GET", "/metrics").body.decode()
    assert 'duepost_jobs{state="dead"} %d\n' % len(wanted) in metrics
    for name, number in wanted:
        server.cancel(name, number).expect(200)


def test_settings_of_all_topics_are_in_each_shard(server, receiver, topic):
    names = topics(topic)
    server.request("PUT", "/topics/*", '{"retention": 60}', {"Content-Type": "application/json"}).expect(200)
    try:
        for name in names:
            server.schedule(topic=name, jobId="a", url=receiver.url())
        for name in names:
            job = server.wait_for_state(name, "a", "delivered")
            assert to_ms(job["keptUntil"]) == to_ms(job["deliveredAt"]) + 60_000
    finally:
        server.request("DELETE", "/topics/*").expect(200)


def test_shards_without_data_are_there_at_once(start, cluster):
    """A process is ready once shard 0 in Redis has the number of shards. The process does not wait for the other
    shards."""
    server = start("--prefix", "fresh:", redis=cluster.address, ready=False)
    until(lambda: server.get("/readyz").status == 200, 3, lambda: server.get("/readyz").body)


def test_alerts_about_topics_of_all_shards_are_reported_once(start, cluster, own, topic):
    servers = [start("--prefix", "alerts:", redis=cluster.address) for _ in range(2)]
    names = topics(topic)
    body = json.dumps({"alerts": [{"on": "quotaReached", "url": own.url()}], "maxPending": 1})
    servers[0].request("PUT", "/topics/*", body, {"Content-Type": "application/json"}).expect(200)
    for name in names:
        servers[0].schedule(topic=name, jobId="a", url=own.url(), delay=3600)
    reports = lambda state: sorted(one["topic"] for one in (json.loads(one.body) for one in own.of("duepost~alerts")) if one["state"] == state)  # noqa: E731
    until(lambda: reports("fired") == sorted(names), 40, lambda: reports("fired"))
    assert sorted(one["topic"] for one in servers[1].get("/alerts").expect(200)["alerts"]) == sorted(names)
    servers[0].kill()
    for name in names:
        servers[1].cancel(name, "a")
    until(lambda: reports("resolved") == sorted(names), 60, lambda: reports("resolved"))
    assert reports("fired") == sorted(names) and servers[1].get("/alerts").expect(200)["alerts"] == []


def test_a_breaker_holds_the_jobs_of_all_shards(start, cluster, receiver, topic):
    # Each process has one reactor, because the metrics show an open breaker as soon as any reactor of the process
    # knows it.
    servers = [start("--prefix", "breaker:", "--breaker-wait", "60s", "--reactors", "1", redis=cluster.address) for _ in range(2)]
    names = topics(topic)
    sick = Receiver()
    try:
        for number in range(20):
            sick.script(names[number % SHARDS], 503)
            servers[0].schedule(topic=names[number % SHARDS], jobId=f"f{number}", url=sick.url(), retry=0)
        until(lambda: all("\nduepost_receivers_open 1\n" in server.get("/metrics").body.decode() for server in servers), 10, "known to both")
        known, = servers[1].get("/receivers").expect(200)["receivers"]
        assert known["state"] == "open" and known["receiver"] == f"127.0.0.1:{sick.port}"
        for name in names:
            sick.script(name, 200)
            servers[1].schedule(topic=name, jobId="held", url=sick.url())
        for name in names:
            servers[0].wait_for_state(name, "held", "delayed")
            assert servers[0].get(f"/jobs/{name}/held/why").expect(200)["why"] == "breaker"
        assert len(sick.arrivals) == 20
        servers[1].request("POST", f"/receivers/127.0.0.1:{sick.port}/close").expect(200)
        until(lambda: all("\nduepost_receivers_open 0\n" in server.get("/metrics").body.decode() for server in servers), 10, "known to both")
        for name in names:  # the job may have been sent since its breaker was closed
            assert servers[0].run(name, "held").status in (202, 404, 409)
        until(lambda: len(sick.arrivals) == 20 + SHARDS, 10, lambda: len(sick.arrivals))
        for number in range(20):
            servers[0].cancel(names[number % SHARDS], f"f{number}").expect(200)
    finally:
        sick.stop()


def test_another_number_of_shards_is_refused(cluster, server):
    before = sorted(cluster.keys())
    for shards in (8, 32):
        result = run("--redis", cluster.address, "--shards", str(shards), "--listen", "127.0.0.1:0")
        assert result.returncode == 1 and f"has 16 shards, this duepost is set up for {shards}" in result.stderr
    assert {key for key in cluster.keys() if "meta" in key} == {key for key in before if "meta" in key}


def test_shards_without_a_cluster_are_refused(redis):
    result = run("--redis", redis(tcp=True).address, "--shards", "2", "--listen", "127.0.0.1:0")
    assert result.returncode == 2 and "without a Redis Cluster" in result.stderr


def test_no_node_is_a_target(start, cluster, topic):
    """Jobs cannot reach the nodes of the Cluster. This includes the replicas, which no option names."""
    # allow: jobs may be sent to any IPv4 address of localhost. No other process uses this prefix, so only this
    # process delivers the jobs.
    server = start("--prefix", "alone:", redis=cluster.address, allow="127.0.0.0/8")
    for node in cluster.nodes:
        for host in "127.0.0.1", "localhost":  # a reactor that has not asked Redis for the nodes yet accepts the job
            job = {"topic": topic, "url": f"http://{host}:{node.port}/", "delay": 60}
            until(lambda: server.post(job).status == 400, 5, f"{job['url']} is refused")
        server.schedule(topic=topic, jobId=str(node.port), url=f"http://{private_name()}:{node.port}/")
        assert server.wait_for_state(topic, str(node.port), "dead")["reason"] == "target_refused"
        server.cancel(topic, str(node.port)).expect(200)


@pytest.fixture
def partial(cluster):
    """Sets up a Cluster that continues without some slots. Yields a primary, its replica, and the shards on these two
    nodes."""
    def cover(word):
        for node in cluster.nodes:
            node.ok("CONFIG", "SET", "cluster-require-full-coverage", word)
    cover("no")
    primary = cluster.owner(slot_of(0))
    yield primary, cluster.follower(primary), {shard for shard in range(SHARDS) if cluster.owner(slot_of(shard)) is primary}
    cluster.await_whole()
    cover("yes")


def await_delivery(server, receiver, names, seconds):
    before = {name: receiver.count(name) for name in names}
    for name in names:
        server.schedule(topic=name, url=receiver.url())
    until(lambda: all(receiver.count(name) > before[name] for name in names), seconds,
          lambda: [name for name in names if receiver.count(name) == before[name]])


def test_a_shard_that_is_away_leaves_the_others_working(start, cluster, server, partial, receiver, topic):
    *lost, away = partial
    names = topics(topic)
    kept = [name for name in names if shard_of(name) not in away]
    for node in lost:
        node.kill()
    try:
        until(lambda: "shard %d: " % min(away) in server.get("/readyz").expect(503)["detail"], 10, "a shard is away")
        watch(NODE_TIMEOUT_MS / 1000 + 1, lambda: all(post(server, receiver, name).status == 201 for name in kept), "all others are there")
        for name in set(names) - set(kept):
            assert f"shard {shard_of(name)}: " in post(server, receiver, name).expect(503)["detail"]
        await_delivery(server, receiver, kept, 2)
        beside = start(redis=cluster.address, ready=False)
        until(lambda: all(post(beside, receiver, name).status == 201 for name in kept), 5, "another process serves them, too")
        first = start("--prefix", "new:", redis=cluster.address, ready=False)
        until(lambda: "shard 0 has not reported the number of shards" in post(first, receiver, kept[0]).expect(503)["detail"], 5, "not without the first")
    finally:
        for node in lost:
            node.start()
    cluster.await_whole()
    until(lambda: server.get("/readyz").status == 200 and first.get("/readyz").status == 200, 10, "ready again")
    await_delivery(server, receiver, names, 10)


def test_a_shard_that_hangs_leaves_slots_to_the_others(start, cluster, partial, receiver, topic):
    """While the shard hangs, duepost cannot record the outcomes of its attempts. So these attempts count as in
    flight, up to the maximum that one shard may have."""
    *lost, away = partial
    server = start("--prefix", "hangs:", "--max-in-flight", "32", "--reactors", "1", redis=cluster.address)
    names = topics(topic)
    hanging = [name for name in names if shard_of(name) in away]
    for name in hanging:
        receiver.script(name, Answer(200, delay=0.5))
        server.schedule_many([{"topic": name, "url": receiver.url()} for _ in range(40)])
    until(lambda: sum(receiver.count(name) for name in hanging) >= 16, 10, "attempts of shards that will hang")
    for node in lost:
        node.freeze()
    try:
        for _ in range(5):
            await_delivery(server, receiver, [name for name in names if name not in hanging], 2)
    finally:
        for node in lost:
            node.thaw()
    until(lambda: all(receiver.count(name) >= 40 for name in hanging), 30, "what hung goes on")


def test_a_breaker_whose_shard_is_unavailable_does_not_hold_jobs_for_ever(start, cluster, partial, topic):
    """If the breaker's shard is unavailable, each reactor sends its own probes."""
    *lost, away = partial
    server = start("--prefix", "alone:", "--breaker-wait", "1s", "--reactors", "1", redis=cluster.address)
    there = next(shard for shard in range(SHARDS) if shard not in away)
    name, sick, others = topic_in(there, topic), Receiver(), []
    while shard_of(f"127.0.0.1:{sick.port}") not in away:
        others.append(sick)
        sick = Receiver()
    try:
        sick.script(name, 503)
        for number in range(20):
            server.schedule(topic=name, jobId=f"f{number}", url=sick.url(), retry=0)
        until(lambda: [one["state"] for one in server.get("/receivers").expect(200)["receivers"]] == ["open"], 10, "an open breaker")
        for node in lost:
            node.kill()
        until(lambda: "shard %d: " % min(away) in server.get("/readyz").expect(503)["detail"], 10, "a shard is away")
        for number in range(5):
            server.schedule(topic=name, jobId=f"j{number}", url=sick.url(), retrySchedule=[0.1] * 5)
        until(lambda: len(sick.arrivals) > 20, 10, lambda: f"{len(sick.arrivals)} attempts")  # one job is the probe, and it fails
        sick.script(name, 200)
        for number in range(5):
            server.wait_for_state(name, f"j{number}", None, seconds=20)
        assert server.get("/receivers").status == 503
    finally:
        for node in lost:
            node.start()
        for one in (sick, *others):
            one.stop()


@pytest.mark.parametrize("kind", ["hostname", "unknown-endpoint"])
def test_nodes_are_found_by_name_or_address(start, cluster, receiver, topic, kind):
    for node in cluster.nodes:
        node.ok("CONFIG", "SET", "cluster-announce-hostname", "localhost")
        node.ok("CONFIG", "SET", "cluster-preferred-endpoint-type", kind)
    try:
        until(lambda: all(b"localhost" in node.command("CLUSTER", "NODES") for node in cluster.nodes), 10, "names have spread")
        server = start("--prefix", kind + ":", redis=cluster.address, allow="127.0.0.0/8")
        await_delivery(server, receiver, topics(topic), 5)
        reshard(cluster, 0)
        moved = topic_in(3, topic)
        until(lambda: post(server, receiver, moved).status == 201, 5, "a shard that has moved")
        await_delivery(server, receiver, [moved], 5)
        for node in cluster.nodes:
            assert post_to(server, topic, f"http://{node.place}/").fields() == ["url"]
    finally:
        for node in cluster.nodes:
            node.ok("CONFIG", "SET", "cluster-preferred-endpoint-type", "ip")


def post_to(server, name, url):
    return server.post({"topic": name, "url": url})


def post(server, receiver, name):
    return post_to(server, name, receiver.url())


def test_a_redis_without_cluster_mode_is_503(start, redis, receiver, topic):
    alone = redis(tcp=True)
    server = start(redis=f"cluster://127.0.0.1:{alone.port}", ready=False)
    assert "Cluster" in post(server, receiver, topic).expect(503)["detail"]
    until(lambda: "cluster support disabled" in server.log(), 5, "the error of Redis in the log")


def test_a_group_is_sent_to_from_each_shard(server, receiver, topic):
    """A group is in the shard of its name. The jobs that are sent to the group are in the shard of their topic."""
    json_type = {"Content-Type": "application/json"}
    groups = [topic_in(shard, f"{topic}.g") for shard in (0, 5, SHARDS - 1)]
    text = json.dumps({"endpoints": {name: {"url": receiver.url(f"/{name}")} for name in ("a", "b")}})
    for group in groups:
        server.request("PUT", f"/groups/{group}", text, json_type).expect(201)
    found, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/groups?limit=2{cursor and '&cursor=' + cursor}").expect(200)
        found += [one["group"] for one in page["groups"]]
        cursor = page.get("cursor")
    assert sorted(set(found) & set(groups)) == sorted(groups) and len(found) == len(set(found))
    names = topics(topic)
    for number, name in enumerate(names):
        group = groups[number % len(groups)]
        server.schedule(topic=name, jobId="now", group=group)
        server.schedule(topic=name, jobId="later", group=group, delay=3600)
        assert server.post({"topic": name, "jobId": "later", "group": group, "delay": 3600}).expect(200)["group"] == group
        shown = server.get(f"/jobs/{name}/later?group={group}").expect(200)
        assert [job["state"] for job in shown["jobs"]] == ["delayed", "delayed"]
        assert server.request("DELETE", f"/jobs/{name}/later?group={group}").expect(200)["cancelled"] == 2
    for name in names:
        until(lambda name=name: sorted(a.job_id for a in receiver.of(name)) == ["now~a", "now~b"], 20, f"both jobs of {name}")
    for group in groups:
        server.request("DELETE", f"/groups/{group}").expect(200)
        server.post({"topic": names[0], "group": group}).expect(400)


def test_schedules_fire_in_each_shard(server, receiver, topic):
    names = topics(topic)
    for name in names:
        reply = server.request("PUT", f"/schedules/{name}/often", json.dumps({"every": 1, "job": {"url": receiver.url()}}),
                               {"Content-Type": "application/json"})
        assert reply.status == 201, reply.body
    until(lambda: all(receiver.count(name) >= 2 for name in names), 60, "two occurrences of each")
    listed, cursor = [], ""
    while True:
        page = server.get(f"/schedules?limit=5{cursor}").expect(200)
        listed += [entry["topic"] for entry in page["schedules"] if entry["topic"] in names]
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
    assert sorted(listed) == sorted(names)
    for name in names:
        server.request("DELETE", f"/schedules/{name}/often").expect(200)
    assert all(arrival.job_id.startswith("often~2") for name in names for arrival in receiver.of(name))
    assert server.get(f"/schedules/{names[0]}").expect(200)["schedules"] == []


def test_schedules_send_to_a_group_of_another_shard(server, receiver, topic):
    json_type = {"Content-Type": "application/json"}
    group, label = topic_in(0, f"{topic}.g"), topic[-40:]
    endpoints = {name: {"url": receiver.url(f"/{name}")} for name in ("a", "b")}
    server.request("PUT", f"/groups/{group}", json.dumps({"endpoints": endpoints}), json_type).expect(201)
    names = topics(topic)
    for name in names:
        text = json.dumps({"every": 1, "job": {"group": group, "labels": [label]}})
        server.request("PUT", f"/schedules/{name}/both", text, json_type).expect(201)
    until(lambda: all(receiver.count(name) >= 4 for name in names), 60, "two occurrences of each at both endpoints")
    listed, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/schedules?label={label}&paused=false&limit=5{cursor and '&cursor=' + cursor}").expect(200)
        listed += [entry["topic"] for entry in page["schedules"]]
        cursor = page.get("cursor")
    assert sorted(listed) == sorted(names)
    for name in names:
        server.request("DELETE", f"/schedules/{name}/both").expect(200)
    for name in names:
        ids = [arrival.job_id for arrival in receiver.of(name)]
        assert len(ids) == len(set(ids)) and {job_id.rpartition("~")[2] for job_id in ids} == {"a", "b"}, ids
    server.request("DELETE", f"/groups/{group}").expect(200)
