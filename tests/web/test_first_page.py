"""The first page is small and shows quickly."""

import re
import statistics

from duepost import ROOT
from patience import until

MOST_BYTES = 150_000  # of the first page's files, as transferred: compressed, with the head of each answer
VISITS = 5

# ms from the start of the navigation to the first picture.
SHOWN = "return performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)[0]"


def test_the_first_page_is_small(browser, world):
    browser.open(world.server)
    browser.await_text("Delayed")
    until(lambda: len(browser.transferred()) >= len(browser.requested("/web/")) + 1, 10, "all files of the page are there", 0.05)
    everything = {url.removeprefix(world.server.url): size for url, size in browser.transferred().items() if url.startswith(world.server.url)}
    files = {path: size for path, size in everything.items() if path == "/" or path.startswith("/web/")}
    for path, size in sorted(everything.items(), key=lambda pair: -pair[1]):
        print(f"{size:7} {path}")
    print(f"{sum(files.values()):7} of {len(files)} files, {sum(everything.values())} with the first figures")
    assert sum(files.values()) <= MOST_BYTES, files


def test_the_time_to_the_first_picture_is_printed(browser, world):
    times = []
    for _ in range(VISITS):
        browser.command("Network.clearBrowserCache")
        browser.open(world.server)
        browser.await_one("h1")
        times.append(until(lambda: browser.script(SHOWN), 10, "a picture", 0.05))
    print(f"first picture after {statistics.median(times):.0f} ms, median of {VISITS} visits")


def test_a_second_visit_asks_for_one_file_only(browser, world):
    """The other files are kept for good; index.html is asked for and has not changed."""
    browser.open(world.server)
    browser.await_one("h1")
    until(lambda: len(browser.transferred()) >= len(browser.requested("/web/")) + 1, 10, "all files of the page are there", 0.05)
    before = len(browser.fetched("/web/"))
    assert before > 0
    browser.open(world.server)
    browser.await_one("h1")
    assert len(browser.fetched("/web/")) == before


def test_no_module_makes_html_of_text():
    """One of these would make HTML or a program of what others write."""
    for path in (ROOT / "src" / "web").rglob("*.js"):
        found = re.search(r"\bm\.trust\(|\.(inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|\bnew Function\b|\bsrcdoc\b", path.read_text())
        assert not found, f"{path.name}: {found[0]}"
