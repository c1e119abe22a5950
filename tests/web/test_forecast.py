"""The page of the forecast: a sentence, a plot, a calendar whose hours open, and the narrow limits."""

import json

import pytest

from world import recurring, settings


@pytest.fixture
def server(browser, start):
    """A server for one test. The page is closed before the server ends."""
    yield start()
    browser.driver.get("about:blank")


def test_an_hour_of_the_calendar_shows_its_topics_and_schedules(browser, server):
    settings(server, "slow", rate={"jobs": 10, "per": 3600, "burst": 1})
    lines = "".join(json.dumps({"topic": "slow", "jobId": f"{i}", "url": "http://127.0.0.1:9/", "delay": 7200}) + "\n" for i in range(35))
    server.request("POST", "/jobs", lines, {"Content-Type": "application/x-ndjson"}).expect(207)
    recurring(server, "reports", "hourly", cron="30 * * * *", job={"url": "http://127.0.0.1:9/"})
    browser.open(server, "#/forecast")
    browser.await_text("35 waiting jobs", "1 schedule", "Most of them: slow", "Narrow limits", "the rate")
    answer = server.get("/forecast?step=1h").expect(200)
    index = next(i for i, due in enumerate(answer["series"]["due"]) if due > 30)
    assert len(browser.script("return document.querySelectorAll('.calendar button.cell')")) >= 168
    browser.script("document.querySelectorAll('.calendar button.cell')[arguments[0]].click()", index)
    browser.await_text("Hour of", "reports/hourly")
    rows = browser.script("return [...document.querySelectorAll('table[aria-label=\"Topics of the hour\"] tbody tr, [aria-label=\"Topics of the hour\"] tbody tr')].map((row) => row.textContent)")
    assert any("slow" in row and "35" in row for row in rows), rows
    browser.open(server, "#/forecast?days=1&topic=reports")
    browser.await_text("Each job begins when it is due.", "0 waiting jobs")
    assert len(browser.requested(r"/forecast\?.*topic=reports")) >= 1
