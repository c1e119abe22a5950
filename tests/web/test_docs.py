"""/docs: the contract, rendered."""

from pathlib import Path

CONTRACT = (Path(__file__).parents[2] / "api/openapi.yaml").read_text()


def test_the_contract_is_shown(browser, world):
    """The fixture browser also checks that the page violates no content security policy and sends no request to another
    host."""
    browser.open(world.server, "docs")
    browser.await_text("Takes a job over HTTP now and POSTs it to a URL when it is due.", "Schedule a job", seconds=60)
    browser.await_true("document.querySelectorAll('.opblock').length > 30")
    assert any(url.endswith("/openapi.yaml") for url in browser.requested())


def test_a_request_of_the_page_goes_to_this_server(browser, world):
    browser.open(world.server, "docs#/server/readAccess")
    browser.click("button", "Try it out")
    browser.click("button", "Execute")
    browser.await_text('"scopes"', "Response headers", seconds=30)
    assert browser.requested("/access$") == [f"{world.server.url}/access"]


def test_the_page_has_the_look_of_the_dashboard_and_a_short_preface(browser, world):
    browser.theme("dark")
    browser.open(world.server, "docs")
    browser.await_text("Takes a job over HTTP now", seconds=60)
    assert "Conditional changes." not in browser.text()
    red, green, blue = browser.script("return getComputedStyle(document.querySelector('.opblock')).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)")
    assert max(red, green, blue) < 60, "a dark theme"
    browser.click("button", "Show access, errors and other rules")
    browser.await_text("Conditional changes.")
    browser.click("link", "Topics", exact=True)
    browser.await_true("location.hash === '#/topics'")
    browser.await_text("orders-eu")
