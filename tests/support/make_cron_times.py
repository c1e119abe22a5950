#!/usr/bin/env python3
"""Writes cron_times.txt, the table of expressions, zones and next times that unit/test_recurrence.c checks.

    pip install cronsim && tests/support/make_cron_times.py >tests/support/cron_times.txt

The times come from cronsim (PyPI), which follows Debian cron's rules for clock changes. Around the changes of a zone
they are compared with cron_by_manual.py, which does minute by minute what cron(8) and cron's main loop do. Where the two
differ, the table has the times by the manual, and the next line says what cronsim has. The zones are those of
tests/zones, so that the table does not depend on the system's tzdata."""

import datetime as dt
import itertools
import pathlib
import sys
import zoneinfo

from cronsim import CronSim

import cron_by_manual

ZONES = pathlib.Path(__file__).resolve().parent.parent / "zones"
UTC = dt.timezone.utc
COUNT = 5
HORIZON = dt.timedelta(days=9)

# Start times for each zone, in UTC: each is about a day before the zone's clocks change.
CHANGES = {
    "Europe/Berlin": ["2026-03-28T01:10", "2026-10-24T00:10"],
    "America/New_York": ["2026-03-07T07:10", "2026-10-31T06:10"],
    "Australia/Lord_Howe": ["2026-10-03T15:10", "2026-04-04T14:40"],
    "Pacific/Apia": ["2011-12-29T09:10", "2012-03-31T14:10", "2012-09-29T14:10"],
    "Africa/Casablanca": ["2026-02-14T02:10", "2026-03-21T02:10"],
    "Europe/Dublin": ["2026-03-28T01:10"],
    "America/St_Johns": ["2026-10-31T04:10"],
}
# Expressions that a change of clocks affects in different ways.
AT_CHANGES = [
    "30 2 * * *", "0 2 * * *", "15,45 1-3 * * *", "0 3 * * *", "59 1 * * *", "10 2 * * sun", "0 0 * * *", "30 0-23 * * *",
    "* * * * *", "*/15 * * * *", "*/15 2 * * *", "20 * * * *", "45 */2 * * *", "0 */3 * * *", "*/30 1-3 * * *", "@hourly", "@daily",
    "0-59/20 2,3 * * *", "5 1,2 * * 6-7", "30 1 * * *",
]
# Expressions that test the fields of cron, and not changes of clocks.
ELSEWHERE = [
    "0 0 1 * *", "0 12 31 * *", "0 0 29 2 *", "15 10 15 * 1", "0 9 */10 * 1", "0 9 1-7 * */1", "30 6 * jan,JUL mon-fri",
    "0 0 1,15 * wed", "0 22 * * 1-5", "23 0-20/2 * * *", "5 4 * * sun", "0 0,12 1 */2 *", "0 4 8-14 * *", "59 23 31 12 *",
    "@monthly", "@yearly", "@weekly", "0 0 30 1-6 *", "1-59/7 8-10 * * *", "0 5 * * 0,3,7", "0 0 1 1 0", "17 3 28-31 2,4 2-4/2",
]
FROMS = ["2024-02-27T13:05", "2025-12-31T23:59", "2026-06-10T04:00"]
WITH_SECONDS = [
    "*/20 * * * * *", "5,35 0 * * * *", "0 30 12 * * 1-5", "59 59 23 * * *", "0-10/5 */20 8 1 * *", "30 15 10 29 feb *",
]


def zone_of(name):
    with open(ZONES / name, "rb") as file:
        return zoneinfo.ZoneInfo.from_file(file, key=name)


def by_cronsim(expression, zone, start):
    """Returns the next times in UTC. When clocks jump forward, several skipped times may move to the same time. That
    time counts once, because a job is in cron's queue only once."""
    times = []
    for time in CronSim(cron_by_manual.WORDS.get(expression, expression), start.astimezone(zone)):
        time = time.astimezone(UTC)
        if time > start and time not in times:
            times.append(time)
        if len(times) == COUNT:
            return times


def by_manual(expression, zone, start):
    """Returns the next times, computed as cron's main loop does. Returns None if fewer than COUNT times are within
    HORIZON."""
    first, last = int(start.timestamp()), int((start + HORIZON).timestamp()) - 60
    times = cron_by_manual.times(expression, cron_by_manual.Zone(zone, first // 60, last // 60), first, last)
    return [dt.datetime.fromtimestamp(time, UTC) for time in times[:COUNT]] if len(times) >= COUNT else None


def text(times):
    return " ".join(time.strftime("%Y-%m-%dT%H:%M:%SZ") for time in times)


def cases():
    for zone, froms in CHANGES.items():
        for start, expression in itertools.product(froms, AT_CHANGES):
            yield expression, zone, start, True
    zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]
    for expression, (start, zone) in itertools.product(ELSEWHERE, zip(FROMS, zones)):
        yield expression, zone, start, False
    for expression in WITH_SECONDS:
        yield expression, "Asia/Kolkata", FROMS[2], False


def main():
    print("# Made by make_cron_times.py: expression, zone, from, next times; separated by tabs.")
    for expression, zone_name, start_text, is_change in cases():
        zone, start = zone_of(zone_name), dt.datetime.fromisoformat(start_text).replace(tzinfo=UTC)
        times = theirs = by_cronsim(expression, zone, start)
        manual = by_manual(expression, zone, start) if is_change else None
        if manual and manual != theirs:
            times = manual
        print(expression, zone_name, text([start]), text(times), sep="\t")
        if times != theirs:
            print("# cronsim:", text(theirs))
            print(expression, zone_name, start_text, file=sys.stderr)


if __name__ == "__main__":
    main()
