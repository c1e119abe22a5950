"""The times of a cron expression, computed as the page cron(8) of Debian and the main loop of its cron say: minute by
minute around each change of clocks. This is written without a look at duepost's own rules (src/job/schedule)."""

import datetime as dt

WORDS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@weekly": "0 0 * * 0"}
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
EPOCH, UTC, DAY = dt.datetime(1970, 1, 1), dt.timezone.utc, 1440
SETTLED = 300  # minutes after a change of clocks, when each rule for it is over


def _values(field, low, high, names=()):
    """Returns the values of one field."""
    def value(text):
        return names.index(text.lower()) + low if text.lower() in names else int(text)
    found = set()
    for part in field.split(","):
        place, _, step = part.partition("/")
        first, _, last = place.partition("-")
        ends = (low, high) if place == "*" else (value(first), value(last) if last else high if step else value(first))
        found.update(range(ends[0], ends[1] + 1, int(step or 1)))
    return found


class Expression:
    """An expression of five fields, or a word."""

    def __init__(self, text):
        minute, hour, self._day, month, self._weekday = WORDS.get(text, text).split()
        self.is_wild = minute.startswith("*") or hour.startswith("*")
        self.minutes_of_day = sorted(60 * h + m for h in _values(hour, 0, 23) for m in _values(minute, 0, 59))
        self._of_day = set(self.minutes_of_day)
        self._days, self._months = _values(self._day, 1, 31), _values(month, 1, 12, MONTHS)
        self._weekdays = {day % 7 for day in _values(self._weekday, 0, 7, DAYS)}
        self._known = {}

    def has_day(self, number):
        """number: days since 1970."""
        if number not in self._known:
            date = EPOCH + dt.timedelta(days=number)
            either = date.day in self._days, date.isoweekday() % 7 in self._weekdays
            is_star = self._day.startswith("*") or self._weekday.startswith("*")
            self._known[number] = date.month in self._months and (all(either) if is_star else any(either))
        return self._known[number]

    def has(self, minute):
        """minute: local minutes since 1970."""
        return minute % DAY in self._of_day and self.has_day(minute // DAY)


class Zone:
    """The offsets of a zone from one time to another, both in minutes since 1970."""

    def __init__(self, zone, start, end):
        self.zone, self.start, self.end = zone, start, end
        self.changes = [self._exactly(hour) for hour in range(start - 2 * SETTLED, end, 60) if self.offset(hour) != self.offset(hour + 60)]

    def offset(self, minute):
        return int(dt.datetime.fromtimestamp(minute * 60, self.zone).utcoffset().total_seconds()) // 60

    def _exactly(self, hour):
        """Returns the first minute with the new offset."""
        return next(minute for minute in range(hour + 1, hour + 61) if self.offset(minute) != self.offset(hour))


def _at_change(expression, zone, change, end):
    """Yields the times from a change of clocks until all is settled, as cron's main loop finds them."""
    virtual = change - 1 + zone.offset(change - 1)
    for now in range(change, min(change + SETTLED, end + 1)):
        running = now + zone.offset(now)
        ahead, runs = running - virtual, False
        if 0 < ahead <= 5:
            runs, virtual = any(map(expression.has, range(virtual + 1, running + 1))), running
        elif 5 < ahead <= 180:
            runs = expression.has(running) if expression.is_wild else any(map(expression.has, range(virtual + 1, running + 1)))
            virtual = running
        elif -180 < ahead <= 0:
            runs = expression.is_wild and expression.has(running)
        else:
            runs, virtual = expression.has(running), running
        if runs:
            yield now


def _between(expression, zone, start, end):
    """Yields the times from start to before end, between which the clocks do not change."""
    offset = zone.offset(start)
    for day in range((start + offset) // DAY, (end + offset) // DAY + 1):
        if expression.has_day(day):
            yield from (now for now in (day * DAY + minute - offset for minute in expression.minutes_of_day) if start <= now < end)


def times(text, zone, start, end):
    """Returns the times after start, up to and including end, all in seconds since 1970, in their order. zone: a Zone
    that covers both."""
    expression, found = Expression(text), []
    first, last = start // 60 + 1, end // 60
    at = first
    for change in [each for each in zone.changes if each + SETTLED > first and each <= last]:
        if at < change:
            found += _between(expression, zone, at, change)
        found += _at_change(expression, zone, change, last)
        at = change + SETTLED
    if at <= last:
        found += _between(expression, zone, at, last + 1)
    return [60 * now for now in found if first <= now <= last]
