"""Each page, in both themes and at the widths of a desk, a laptop and a telephone."""

import os
import time

import pytest

import axe
from pages import PAGES, show
from patience import until

WIDTHS = (390, 1024, 1440)
EVERY_LOAD = "DUEPOST_TEST_EVERY_LOAD" in os.environ  # if set, each page is loaded at each width, with times of three kinds

MISSING_JOB = "404"  # the browser logs each answer that is an error

# Elements that are wider than the page, which would scroll to the side.
TOO_WIDE = """
const width = document.documentElement.clientWidth;
if (document.scrollingElement.scrollWidth <= width) return [];
return [...document.querySelectorAll("body :not(.rail *)")].filter(one => one.getBoundingClientRect().right > width + 1).slice(0, 5)
    .map(one => one.outerHTML.slice(0, 150));
"""


@pytest.fixture
def page(request, browser):
    if request.param in ("missing-job", "elsewhere"):
        browser.expect(MISSING_JOB)
    return request.param


every_page = pytest.mark.parametrize("page", PAGES, indirect=True)


def zone_at_the_end_of_its_day():
    """A time zone in which it is 23 o'clock. Times of another day are shown with their date, and need more room."""
    hour = time.gmtime().tm_hour
    east = 23 - hour if hour >= 9 else -1 - hour
    return f"Etc/GMT{-east:+d}"  # the signs of these names are those of POSIX: GMT-2 is east of Greenwich


@every_page
def test_a_page_is_accessible(browser, world, page):
    text = axe.source()
    found = {}
    browser.theme("light", motion="reduce")
    show(browser, world.server, page)
    for theme in ("light", "dark"):
        browser.theme(theme, motion="reduce")
        found[theme] = axe.faults(browser, text)
    assert found == {"light": [], "dark": []}, "\n".join(f"{theme}: {fault}" for theme in found for fault in found[theme])
    has_a_title_of_its_own(browser)


def has_a_title_of_its_own(browser):
    browser.await_true("document.title.length > 0 && document.documentElement.lang.length > 0")
    assert len(browser.all("main")) == 1
    assert len(browser.all("h1")) == 1, browser.text()


# By default a page is loaded once, at the first width and with its longest times, and the window is then resized to the other
# widths.
@every_page
@pytest.mark.parametrize("times", ("now", "of-the-next-day", "of-the-day-before") if EVERY_LOAD else ("of-the-next-day",))
def test_a_page_fits_each_width(browser, world, page, times):
    if times == "of-the-next-day":
        browser.zone(zone_at_the_end_of_its_day())
    if times == "of-the-day-before":
        browser.clock_ahead(24 * 3600)
    for width in WIDTHS:
        browser.size(width, 800)
        if EVERY_LOAD or width == WIDTHS[0]:
            show(browser, world.server, page)
        until(lambda: browser.script(TOO_WIDE) == [], 2, lambda: f"at {width} pixels too wide: {browser.script(TOO_WIDE)}", 0.05)
