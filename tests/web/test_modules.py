"""Pure functions of the page's modules, called in the page."""

import re

import pytest

from duepost import ROOT

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000

DURATIONS = [
    (0, "0 ms"), (999, "999 ms"), (1500, "1.5 s"), (9999, "10 s"), (59_999, "59 s"), (MINUTE, "1 min"), (MINUTE + 5 * SECOND, "1 min 5 s"),
    (11 * MINUTE + 5 * SECOND, "11 min"), (2 * HOUR + 5 * MINUTE, "2 h 5 min"), (DAY + HOUR, "1 d 1 h"), (20 * DAY + HOUR, "20 d"),
]
SIZES = [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (200 * 1024, "200 KiB"), (5 * 2**30, "5 GiB")]

NAMES = ["orders", "a/b", "ü ö", "100%", "%2F", "a?b=c#d", "<b>", "a&b+c", "\\", "..."]


@pytest.fixture
def page(browser, world):
    browser.open(world.server)
    browser.await_one("h1")
    return browser


def call(page, module, expression, *values):
    """Returns the value of expression, which uses the module's exports as `of` and values as `values`."""
    return page.driver.execute_async_script("""
        const [module, values, done] = arguments;
        const base = document.querySelector("script[type=module]").src;
        import(new URL(module, base).href).then(of => { done({value: %s}); }).catch(error => done({error: error.stack}));
        """ % expression, module, list(values))


def value(page, module, expression, *values):
    found = call(page, module, expression, *values)
    assert "error" not in found, found
    return found["value"]


def test_each_module_loads(page):
    """Loads each module, so that a mistake in one of them is found without opening its page."""
    root = ROOT / "src" / "web"
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*.js") if "lib" not in path.relative_to(root).parts)
    assert "main.js" in names
    faults = {name: found["error"] for name in names if "error" in (found := call(page, name, "typeof of"))}
    assert not faults, faults


def test_durations_and_sizes_are_short(page):
    assert value(page, "format.js", "values[0].map(of.duration)", [ms for ms, _ in DURATIONS]) == [text for _, text in DURATIONS]
    assert value(page, "format.js", "values[0].map(of.bytes)", [size for size, _ in SIZES]) == [text for _, text in SIZES]


def test_a_route_keeps_each_name(page):
    """A name with special characters is unchanged on its way through href(), the address and the router."""
    for name in NAMES:
        found = value(page, "router.js", "(location.hash = of.href(['none', values[0]], {q: values[0]}), of.startRouter, "
                      "dispatchEvent(new HashChangeEvent('hashchange')), [of.route.segments[1], of.route.query.q])", name)
        assert found == [name, name]


def reasons():
    """Yields the texts of GET /jobs/.../why that advise to send a request, from the source of duepost. Literals that follow
    each other in C are one text."""
    source = (ROOT / "src" / "api" / "why.c").read_text()
    for text in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)).replace('\\"', '"')
        if re.search(r"\b(GET|PUT|POST|PATCH|DELETE)\b", text):
            yield re.sub(r"%(\.\*s|s|lld|d)", "orders", text)


def test_reasons_name_what_the_page_has_instead_of_requests(page):
    texts = list(reasons())
    assert len(texts) >= 12, texts
    told = [value(page, "jobs/watch.js", "of.inPageWords(values[0])", text) for text in texts]
    left = [text for text in told if re.search(r"\b(GET|PUT|POST|PATCH|DELETE)\b", text)]
    assert not left, left
    print(*told, sep="\n")


def series(first, *accepted):
    return {"from": first * SECOND, "until": (first + len(accepted)) * SECOND, "step": 1, "accepted": list(accepted), "lateP50Ms": list(accepted)}


@pytest.mark.parametrize("old,added,merged", [
    (None, series(10, 1, 2), series(10, 1, 2)),
    (series(10, 1, 2), None, series(10, 1, 2)),
    (series(10, 1, 2, 3), series(12, 7, 8), series(10, 1, 2, 7, 8)),                       # both have second 12: the newer figure wins
    (series(0, *range(900)), series(900, 5), series(1, *range(1, 900), 5)),                # only the last 15 minutes are kept
])
def test_series_are_merged_by_second(page, old, added, merged):
    assert value(page, "live.js", "of.mergeSeries(values[0], values[1])", old, added) == merged
