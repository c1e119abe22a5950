"""Data of version 0.1 (format 1) are converted once, and nothing is lost."""

import pytest

from patience import until

KEYS = "duepost:{0}:"
DEAD, JOBS = 70, 70


@pytest.fixture
def old(redis, receiver, topic):
    """Writes data as version 0.1 did: dead jobs are in the key "jobs", and the keys "numbers" and "names" do not
    exist."""
    behind = redis()

    def write(command, key, *words):
        assert behind.command(command, KEYS + key, *words)[:1] == b":"
    write("HSET", "meta", "format", "1", "shards", "1")
    for i in range(JOBS):
        write("HSET", "jobs", f"{topic}/{i}", f'{{"createdAt":1700000000000,"url":"{receiver.url()}","body":{i}}}')
        write("ZADD", f"bucket:{topic}", "1700000000000", f"{topic}/{i}")
    write("ZADD", "due", "1700000000000", topic)
    for i in range(DEAD):
        job_id = f"{topic}.dead/{i}"
        write("HSET", "jobs", job_id, f'{{"createdAt":1700000000000,"url":"{receiver.url()}","attempts":1,'
                                      '"lastAttempt":{"at":1700000000000,"durationMs":3,"status":410},"reason":"gone"}')
        write("HSET", "attempts", job_id, "1 1700000000000 3 410\n")
        write("ZADD", "dead", "1800000000000", job_id)
    write("HSET", "topics", f"{topic}.paused", '{"paused":true}')
    return behind


def test_all_data_of_0_1_is_taken_over(old, start, receiver, topic):
    server = start(redis=old)
    until(lambda: receiver.count(topic) == JOBS, 20, lambda: f"{receiver.count(topic)} of {JOBS} delivered")
    until(lambda: server.get(f"/jobs/count?state=dead&topic={topic}.dead").expect(200)["count"] == DEAD, 20, "all dead jobs are listed")
    job = server.job(f"{topic}.dead", "7")
    assert (job["state"], job["reason"], job["attempts"], job["lastAttempt"]["status"]) == ("dead", "gone", 1, 410)
    assert server.get(f"/jobs/{topic}.dead/7/attempts").expect(200)["attempts"][0]["status"] == 410
    assert server.get(f"/topics/{topic}.paused").expect(200)["settings"] == {"paused": True}
    assert old.command("HGET", KEYS + "meta", "format") == b"$1\r\n2\r\n"
    server.run(f"{topic}.dead", "7").expect(202)
    until(lambda: receiver.count(f"{topic}.dead") == 1, 10, "a dead job of 0.1 is run again")
    assert len({a.job_id for a in receiver.of(topic)}) == receiver.count(topic) == JOBS
