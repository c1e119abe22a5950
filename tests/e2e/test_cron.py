"""GET /cron: an expression in words, and its next times."""

import datetime
import json
import urllib.parse

import pytest

from tokens import TokenFile

FROM = "2030-01-01T00:00:00Z"


def ask(server, **query):
    return server.get("/cron?" + urllib.parse.urlencode(query))


def times(server, **query):
    answer = ask(server, **query).expect(200)
    return answer["text"], [text.removesuffix(":00.000Z").removeprefix("2030-") for text in answer["next"]]


def test_an_expression_is_described_in_words_with_its_next_times(server):
    assert times(server, expression="0 9 * * mon-fri", **{"from": FROM}) == (
        "at 09:00, on Monday to Friday", ["01-01T09:00", "01-02T09:00", "01-03T09:00", "01-04T09:00", "01-07T09:00"])
    assert ask(server, expression="@daily").expect(200)["timezone"] == "UTC"


def test_times_follow_the_time_zone(server):
    """All times are 09:30 in Berlin. In UTC they differ by an hour, because summer time begins on 31 March."""
    query = {"expression": "30 9 30 3,4,7 *", "timezone": "Europe/Berlin", "from": FROM}
    assert times(server, **query)[1][:3] == ["03-30T08:30", "04-30T07:30", "07-30T07:30"]
    assert ask(server, **query).expect(200)["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize("every, text, second", [
    ("15m", "every 15 minutes", "00:30:00.000Z"), ("90", "every 90 seconds", "00:03:00.000Z"), ("1h", "every hour", "02:00:00.000Z"),
    ("1.5s", "every 1500 ms", "00:00:03.000Z"), ("1s", "every second", "00:00:02.000Z")])
def test_fixed_intervals_count_from_the_beginning(server, every, text, second):
    answer = ask(server, every=every, **{"from": FROM}).expect(200)
    assert answer["text"] == text and answer["next"][1] == f"2030-01-01T{second}" and len(answer["next"]) == 5


def test_times_outside_of_windows_are_left_out(server):
    windows = json.dumps([{"days": ["mon", "tue"], "from": "09:00", "to": "10:00"}])
    query = {"timezone": "Europe/Berlin", "windows": windows, "from": FROM}
    assert times(server, expression="*/30 * * * *", **query)[1] == ["01-01T08:00", "01-01T08:30", "01-07T08:00", "01-07T08:30", "01-08T08:00"]
    assert times(server, every="20m", **query)[1] == ["01-01T08:00", "01-01T08:20", "01-01T08:40", "01-07T08:00", "01-07T08:20"]
    assert ask(server, expression="0 12 * * *", **query).expect(200)["next"] == []


@pytest.mark.parametrize("windows, words", [
    ("", "must be a JSON array"), ("[", "ends too early"), ("[x]", "not valid JSON"), ("[]", "1 to 16 windows"), ('[{"from":"09:00"}]', "needs from and to"),
    ('[{"from":"09:00","to":"10:00","timezone":"UTC"}]', "timezone of the schedule")])
def test_windows_that_are_refused(server, windows, words):
    reply = ask(server, expression="@daily", windows=windows)
    assert reply.fields() == ["windows"] and words in reply.json["errors"][0]["detail"]


def test_without_a_beginning_the_times_are_in_the_future(server):
    now = datetime.datetime.now(datetime.timezone.utc)
    first, *_, last = ask(server, expression="* * * * *").expect(200)["next"]
    assert now < datetime.datetime.fromisoformat(first.replace("Z", "+00:00")) < datetime.datetime.fromisoformat(last.replace("Z", "+00:00"))


def test_the_calendar_ends_with_the_year_9999(server):
    assert ask(server, expression="@yearly", **{"from": "9998-06-01T00:00:00Z"}).expect(200)["next"] == ["9999-01-01T00:00:00.000Z"]


@pytest.mark.parametrize("query, fields", [
    ({}, ["expression"]), ({"expression": "", "every": "x"}, ["expression", "every", "every"]), ({"every": "0.5"}, ["every"]),
    ({"expression": "@daily", "every": "1h"}, ["every"]), ({"expression": "61 * * * *"}, ["expression"]),
    ({"expression": "* * * *", "timezone": "Europe/Nowhere"}, ["expression", "timezone"]), ({"every": "1h", "timezone": "../x"}, ["timezone"]),
    ({"expression": "1," * 127 + "1 * * * *"}, ["expression"]), ({"expression": "@daily", "from": "now"}, ["from"]), ({"expression": "@daily", "until": FROM}, ["until"])])
def test_wrong_parameters_are_named(server, query, fields):
    reply = ask(server, **query)
    assert reply.status == 400 and reply.fields() == fields


def test_an_error_names_the_field_of_the_expression(server):
    error, = ask(server, expression="0 25 * * *").json["errors"]
    assert error == {"field": "expression", "detail": "hour: found '25'; allowed are 0 to 23"}


def test_a_space_may_be_a_plus(server):
    """The query has + for each space, as browsers and form encoders send it."""
    assert server.get("/cron?expression=0+9+*+*+1").expect(200) == server.get("/cron?expression=0%209%20*%20*%201").expect(200)


def test_every_token_may_ask(start):
    tokens = TokenFile()
    server = start("--tokens", tokens.path, token=tokens.add("worker", ["lease"], topics="a"))
    ask(server, expression="@daily").expect(200)
    ask(server.with_token(None), expression="@daily").expect(401)


def test_only_reading_is_answered(server):
    server.request("POST", "/cron?expression=@daily").expect(405)


def test_pages_of_other_sites_see_nothing(server):
    for path in "/cron?expression=@daily", "/access":
        server.request("GET", path, headers={"Host": "other.example"}).expect(403)


@pytest.mark.parametrize("path", ["/access", "/tokens"])
def test_rights_take_no_parameters(server, path):
    assert server.get(f"{path}?x=1").fields() == ["x"]
