"""A list of 100,000 jobs."""

import json
import statistics

import pytest

from duepost import Duepost
from patience import until

JOBS, BATCH = 100_000, 10_000
MOST_ELEMENTS = 3_000  # maximum number of elements in the page, however far a user scrolls
FRAMES = 60

# Scrolls the longest list by one screen in each frame, and returns the ms of each frame.
SCROLL = """
const [frames, done] = arguments;
const scroller = [document.scrollingElement, ...document.querySelectorAll("main, main *")]
    .filter(one => one.scrollHeight > one.clientHeight + 100 && one.clientHeight > 100 &&
        (one === document.scrollingElement || /auto|scroll/.test(getComputedStyle(one).overflowY)))
    .sort((a, b) => b.scrollHeight - a.scrollHeight)[0];
if (!scroller) done({times: [], height: 0, top: 0});
let last = performance.now(), times = [], most = 0;
const step = now => {
    times.push(now - last);
    last = now;
    most = Math.max(most, document.querySelectorAll("*").length);
    if (times.length > frames) return done({times: times.slice(1), height: scroller.scrollHeight, top: scroller.scrollTop, most});
    scroller.scrollTop += scroller.clientHeight;
    requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


@pytest.fixture(scope="module")
def full():
    server = Duepost("--durability", "memory", "--history", "off")
    for first in range(0, JOBS, BATCH):
        text = "\n".join(json.dumps({"topic": "many", "jobId": f"job-{number:06}", "url": "http://127.0.0.1:9/", "delay": 36000 + number, "body": number})
                         for number in range(first, first + BATCH))
        server.request("POST", "/jobs", text, {"Content-Type": "application/x-ndjson"}, check=False).expect(207)
    yield server
    server.stop()


def test_the_page_stays_small_while_scrolling(browser, full):
    browser.expect("jobs/count.* 400")  # without a history, jobs that have ended cannot be counted
    browser.open(full, "#/jobs?topic=many")
    browser.await_text("job-000000")
    screens, furthest = [], 0
    for _ in range(8):
        found = browser.driver.execute_async_script(SCROLL, FRAMES)
        assert found["most"] <= MOST_ELEMENTS, found["most"]
        assert found["top"] >= furthest
        furthest = found["top"]
        screens += found["times"]
        until(lambda: "job-0" in browser.text(), 10, "rows are shown", 0.05)
    print(f"frames while scrolling: median {statistics.median(screens):.1f} ms, "
          f"p95 {statistics.quantiles(screens, n=20)[-1]:.1f} ms, longest {max(screens):.0f} ms; {found['most']} elements")
    assert "job-000000" not in browser.text()
    assert furthest > 0
