"""A year of cron, with every job really sent: the year in which Pacific/Apia skipped a day."""

import collections
import datetime
import json
import sys
import time
import zoneinfo

from clock import MANUAL, ManualClock, MovableClock, attempts
from duepost import ROOT
from timestamp import from_ms, to_ms

sys.path.insert(0, str(ROOT / "tests" / "support"))
import cron_by_manual  # noqa: E402

UTC = datetime.timezone.utc
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]  # Lord Howe's clocks change by half an hour
START, END = (int(datetime.datetime(year, 7, 1, tzinfo=UTC).timestamp()) for year in (2011, 2012))  # with a 29 February
HOUR = 3600

ALL_YEAR = ["30 2 * * *", "0 0 * * *", "0 9 * * mon-fri", "0 0 13 * fri", "59 23 28-31 * *", "0 6 1 * *", "0 0 29 2 *", "10 2 * * sun",
            "45 1 * * 6,7", "0 12 31 * *", "30 6 1-7 * */2", "@weekly", "@monthly", "@yearly"]
# These have many times, so they run only for half a day before and after each change of their zone's clocks.
AT_CHANGES = ["*/15 * * * *", "@hourly", "*/30 1-3 * * *", "15,45 1-3 * * *", "0 */2 * * *", "59 1 * * *"]


def read_table():
    for line in (ROOT / "tests" / "support" / "cron_times.txt").read_text().splitlines():
        expression, zone, start, times = line.split("\t") if not line.startswith("#") else ("",) * 4
        if len(expression.split()) in (1, 5):
            yield expression, zone, start, times.split()


def seconds(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def test_the_other_implementation_agrees_with_the_table():
    """The table of tests/support has the times that cronsim computes, except for a few that are wrong by the manual."""
    count = 0
    for expression, name, start, times in read_table():
        with (ROOT / "tests" / "zones" / name).open("rb") as file:
            zone = zoneinfo.ZoneInfo.from_file(file, key=name)
        first, last = seconds(start), seconds(times[-1])
        found = cron_by_manual.times(expression, cron_by_manual.Zone(zone, first // 60, last // 60), first, last)
        assert found == list(map(seconds, times)), (expression, name)
        count += 1
    assert count > 300


def plan():
    """Returns {(topic, scheduleId): (definition, its times in s)}."""
    planned = {}
    for name in ZONES:
        zone = cron_by_manual.Zone(zoneinfo.ZoneInfo(name), START // 60, END // 60)
        topic = name.replace("/", "-")
        changes = [60 * change for change in zone.changes if START < 60 * change < END]
        assert len(changes) == (3 if name == "Pacific/Apia" else 2)
        spans = [(expression, f"{number}", START, END) for number, expression in enumerate(ALL_YEAR)]
        spans += [(expression, f"{number}-{change}", change - 12 * HOUR, change + 12 * HOUR)
                  for number, expression in enumerate(AT_CHANGES, len(ALL_YEAR)) for change in changes]
        for expression, schedule, start, end in spans:
            definition = {"cron": expression, "timezone": name, "startAt": from_ms(start * 1000), "endAt": from_ms(end * 1000), "job": {}}
            planned[topic, schedule] = definition, cron_by_manual.times(expression, zone, start - 1, end)
    return planned


def test_a_year_of_twenty_expressions_in_four_zones(start, receiver):
    host = MovableClock()  # the manual clock begins at the time of the host
    host.move_to((START - 60) * 1000)
    server = start(*MANUAL, extra={**host.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    clock, planned = ManualClock(server), plan()
    receiver.forget()
    for (topic, schedule), (definition, _) in planned.items():
        definition["job"] = {"url": receiver.url()}
        server.request("PUT", f"/schedules/{topic}/{schedule}", json.dumps(definition), {"Content-Type": "application/json"}).expect(201)
    begin = time.monotonic()
    fired = clock.move_to((END + 60) * 1000)
    took = time.monotonic() - begin
    assert clock.now() == (END + 60) * 1000

    wanted = {(topic, f"{schedule}~{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(at))}"): at * 1000
              for (topic, schedule), (_, times) in planned.items() for at in times}
    print(f"{len(planned)} schedules, {len(wanted)} times, {took:.1f} s, {len(wanted) / took:.0f} a second")
    came = collections.Counter((arrival.topic, arrival.job_id) for arrival in receiver.arrivals)
    assert came == dict.fromkeys(wanted, 1), (set(wanted) ^ set(came), [one for one in came.items() if one[1] > 1][:10])
    scheduled = [one for one in fired if one["event"] == "scheduled"]
    assert {(one["topic"], one["jobId"]): to_ms(one["at"]) for one in scheduled} == wanted and len(scheduled) == len(wanted)
    sent = attempts(fired)
    assert {(one["topic"], one["jobId"]): to_ms(one["at"]) for one in sent} == wanted and len(sent) == len(wanted)
    assert {(one["attempt"], one["status"], one["outcome"]) for one in sent} == {(1, 200, "delivered")}
    assert [to_ms(one["at"]) for one in fired] == sorted(to_ms(one["at"]) for one in fired)
    assert [arrival.job_id for arrival in receiver.arrivals] == sorted(
        (arrival.job_id for arrival in receiver.arrivals), key=lambda job_id: job_id.partition("~")[2])  # the order of their times
