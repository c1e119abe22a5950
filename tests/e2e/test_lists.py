"""Lists of jobs: each job that stays is seen exactly once, whatever moves meanwhile, and the list ends."""

import time

from patience import until
from receiver import HANG
from test_filters import count


def pages(server, query, between=lambda number: None):
    """Ids of each page."""
    cursor, number = "", 0
    while cursor is not None:
        page = server.get(f"/jobs?{query}{cursor}").expect(200)
        yield [job["jobId"] for job in page["jobs"]]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
        number += 1
        assert number < 1000, "the list does not end"
        between(number)


def test_leased_jobs_are_listed_exactly_once_while_their_leases_are_renewed(start, receiver, topic):
    """Leases move all the time: 160 of them, renewed every 2 s, listed over 5 s and more."""
    server = start("--max-in-flight", "400", "--max-in-flight-topic", "400")
    for name in (topic, topic + ".other"):
        receiver.script(name, HANG)
    ids = [f"j{i:03}" for i in range(160)]
    server.schedule_many([{"topic": topic, "jobId": job_id, "url": receiver.url(), "timeout": 120} for job_id in ids])
    server.schedule_many([{"topic": topic + ".other", "jobId": f"o{i}", "url": receiver.url(), "timeout": 120} for i in range(20)])
    until(lambda: count(server, "state=leased") == 180, 10, "all leased")

    def wait(number):
        if number % 4 == 0:
            renewed = time.monotonic() + 0.6
            until(lambda: time.monotonic() > renewed, 5, "some leases are renewed")
    seen = [job_id for page in pages(server, f"state=leased&topic={topic}&limit=5", wait) for job_id in page]
    assert sorted(seen) == ids
    seen = [job_id for page in pages(server, "state=leased&limit=50") for job_id in page]
    assert sorted(seen) == sorted(ids + [f"o{i}" for i in range(20)])
    assert count(server, f"state=leased&topic={topic}") == 160
    host = receiver.url().split("/")[2]
    assert count(server, f"state=leased&topic={topic}.other&urlHost={host}") == 20
    assert server.request("DELETE", f"/jobs?state=leased&topic={topic}&limit=1000").expect(200) == {
        "matched": 160, "done": 160, "skipped": 0}
