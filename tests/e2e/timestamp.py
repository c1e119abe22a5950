"""The API's times, as milliseconds since 1970."""

import datetime

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def to_ms(text):
    assert len(text) == 24 and text.endswith("Z"), text
    return (datetime.datetime.fromisoformat(text[:-1] + "+00:00") - EPOCH) // datetime.timedelta(milliseconds=1)


def from_ms(ms):
    return (EPOCH + datetime.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
