"""All of the dashboard can be used without a mouse."""

import pytest
from selenium.webdriver.common.keys import Keys

from pages import show

GOES = {"t": "#/topics", "j": "#/jobs", "d": "#/dead", "o": "#/", "s": "#/schedules", "w": "#/workflows"}

FOCUS = """
const one = document.activeElement;
if (!one || one === document.body) return null;
const style = getComputedStyle(one);
return {name: one.outerHTML.slice(0, 120), inside: !!one.closest("body"),
    marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none" ||
        (one.parentElement && getComputedStyle(one.parentElement).outlineStyle !== "none")};
"""


@pytest.mark.parametrize("key", GOES)
def test_g_and_a_letter_go_to_a_page(browser, world, key):
    browser.open(world.server, "#/receivers")
    browser.await_one("h1")
    browser.press("g", key)
    browser.await_true("location.hash === arguments[0]", GOES[key])
    browser.await_one("h1")


def test_a_slash_searches(browser, world):
    show(browser, world.server, "jobs")
    browser.press("/")
    browser.await_true("document.activeElement.matches('input')")
    browser.press("/g")  # in a field, the shortcut keys of the page are ordinary letters
    browser.await_true("document.activeElement.value.endsWith('/g')")
    assert browser.route().startswith("#/jobs")


def test_the_focus_is_always_visible(browser, world):
    show(browser, world.server, "jobs")
    seen = set()
    for _ in range(25):
        browser.press(Keys.TAB)
        focus = browser.script(FOCUS)
        if focus:
            assert focus["marked"], focus
            seen.add(focus["name"])
    assert len(seen) >= 10, seen


def test_rows_are_reached_with_arrows(browser, world):
    show(browser, world.server, "jobs")
    browser.press("/", Keys.ESCAPE)
    for _ in range(30):
        browser.press(Keys.ARROW_DOWN)
        if browser.script("return !!document.activeElement.closest('[role=row], tr, li')"):
            break
        browser.press(Keys.TAB)
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    browser.await_true("/^#.jobs.[^?]+.[^?]+/.test(location.hash)")


@pytest.mark.parametrize("down, up", (("j", "k"), (Keys.ARROW_DOWN, Keys.ARROW_UP)))
@pytest.mark.parametrize("page", ("jobs", "topics", "schedules", "workflows"))
def test_a_key_goes_to_the_first_row_and_on(browser, world, page, down, up):
    """The list does not have the focus yet: to its first row, it would take up to 51 tabs."""
    show(browser, world.server, page)
    row = "const row = document.activeElement.closest('[data-row], tr'); return row && [...row.parentElement.children].filter(one => one.matches('[data-row], tr')).indexOf(row)"
    browser.await_true("document.querySelectorAll('main [data-row], main tbody tr').length > 1")
    browser.press(down)
    browser.await_true(f"(() => {{ {row} }})() === 0")
    browser.press(down)
    browser.await_true(f"(() => {{ {row} }})() === 1")
    browser.press(up, Keys.ENTER)
    browser.await_true("/^#.[a-z]+.[^?]+/.test(location.hash)")


def test_g_j_goes_to_the_jobs_from_a_row_too(browser, world):
    show(browser, world.server, "topics")
    browser.press("j", "g", "j")
    browser.await_true("location.hash === '#/jobs'")


def test_a_question_mark_lists_the_keys(browser, world):
    show(browser, world.server, "overview")
    browser.press("?")
    dialog = browser.await_one("dialog")
    assert "g t" in browser.script("return arguments[0].innerText", dialog).replace("\n", " ")
    browser.press(Keys.ESCAPE)
    browser.await_none("dialog")
