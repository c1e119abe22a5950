"""The first page is small and shows quickly."""

import re
import statistics

from browser import Browser
from duepost import ROOT
from patience import until

MOST_BYTES = 150_000  # limit for the files of the first page: bytes on the network, compressed and with header sections
VISITS = 3

# Runs before the page. Notes the time at which the page shows the figures of the first answer, in ms after the start
# of the navigation.
NOTE_FIGURES = """
new MutationObserver((_, observer) => {
    if (!document.querySelector(".states .figure")) return;
    observer.disconnect();
    performance.mark("figures");
}).observe(document, {childList: true, subtree: true});
"""

# Waits for the first picture, the figures and the plots' library. Returns the ms from the start of the navigation to
# each of them.
SHOWN = """
const of = name => performance.getEntriesByName(name)[0]?.startTime;
const library = performance.getEntriesByType("resource").find(entry => entry.name.endsWith("chart.min.js"))?.startTime;
const times = [of("first-contentful-paint"), of("figures"), library];
return times.every(time => time !== undefined) ? times : null;
"""


def test_the_first_page_is_small(browser, world):
    browser.forget_files()
    browser.open(world.server)
    browser.await_text("Delayed")
    until(lambda: len(browser.transferred()) >= len(browser.requested("/web/")) + 1, 10, "all files of the page are there", 0.05)
    everything = {url.removeprefix(world.server.url): size for url, size in browser.transferred().items() if url.startswith(world.server.url)}
    files = {path: size for path, size in everything.items() if path == "/" or path.startswith("/web/")}
    for path, size in sorted(everything.items(), key=lambda pair: -pair[1]):
        print(f"{size:7} {path}")
    print(f"{sum(files.values()):7} of {len(files)} files, {sum(everything.values())} with the first figures")
    assert [path for path, size in files.items() if size == 0 and not path.endswith("/icon.svg")] == [], "files from the cache"
    assert sum(files.values()) <= MOST_BYTES, files


def test_the_plots_library_is_loaded_after_the_first_picture(world):
    """Prints the times of first visits, each with a new browser and a new profile."""
    times = []
    for _ in range(VISITS):
        browser = Browser()
        try:
            browser.command("Page.addScriptToEvaluateOnNewDocument", source=NOTE_FIGURES)
            browser.open(world.server)
            times.append(until(lambda: browser.script(SHOWN), 10, "a picture, figures and plots", 0.05))
            browser.check()
        finally:
            browser.stop()
    picture, figures, library = (statistics.median(column) for column in zip(*times))
    print(f"first picture after {picture:.0f} ms, figures after {figures:.0f} ms, plots' library asked for after {library:.0f} ms; medians of {VISITS} first visits")
    for first, _, asked in times:
        assert asked >= first - 1, "the library must not delay the first picture"  # the clock of the page is coarse


def test_all_modules_of_the_first_page_are_preloaded(browser, world):
    """The build writes a link for each module that is imported (src/web/embed.cmake). A module without a link is found late, which costs a round trip."""
    browser.forget_files()
    browser.open(world.server)
    browser.await_text("Delayed")
    links = browser.script("return [...document.querySelectorAll('link[rel=modulepreload]')].map(link => link.href)")
    modules = [url for url in browser.requested(r"/web/.*\.js$") if "/lib/" not in url and not url.endswith("/main.js")]
    assert sorted(links) == sorted(set(modules)) and len(links) > 10


def test_a_second_visit_asks_for_one_file_only(browser, world):
    """The browser keeps all files but index.html in its cache. The second visit requests only index.html, which has not
    changed."""
    browser.forget_files()
    browser.open(world.server)
    browser.await_one("h1")
    # The plots' library is requested last, after the first picture.
    until(lambda: [url for url in browser.transferred() if "/lib/chart" in url], 10, "the plots' library is there", 0.05)
    until(lambda: set(browser.requested("/web/")) <= set(browser.transferred()), 10, "all files of the page are there", 0.05)
    before = sorted(browser.fetched("/web/"))
    assert before
    browser.open(world.server)
    browser.await_one("h1")
    until(lambda: browser.requested("/web/").count(before[0]) == 2, 10, "the second visit asks for its files", 0.05)
    assert sorted(browser.fetched("/web/")) == before


def test_no_module_makes_html_of_text():
    """Each of these would execute untrusted text as HTML or as a script."""
    for path in (ROOT / "src" / "web").rglob("*.js"):
        found = re.search(r"\bm\.trust\(|\.(inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|\bnew Function\b|\bsrcdoc\b", path.read_text())
        assert not found, f"{path.name}: {found[0]}"
