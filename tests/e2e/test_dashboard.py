"""config/grafana.json: its panels use only metrics that /metrics has."""

import json
import re

import pytest

from duepost import ROOT
from patience import until

BOARD = json.loads((ROOT / "config" / "grafana.json").read_text())
PANELS = BOARD["panels"] + [inner for panel in BOARD["panels"] for inner in panel.get("panels", [])]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel.get("targets", [])]
QUERIES = [variable["definition"] for variable in BOARD["templating"]["list"] if variable["type"] == "query"]
LABELS_OF_PROMETHEUS = {"job", "instance"}
NAME = r"\b(?:duepost|process)_\w+"
OPEN, SHUT = "([{", ")]}"


@pytest.fixture(scope="module")
def series(server, outbox_metrics):
    """Returns {metric: label names} of a server whose metrics have all counted something."""
    server.schedule(topic="dashboard", jobId="a", url="http://127.0.0.1:9/", retry=0)
    server.wait_for_state("dashboard", "a", "dead")
    server.request("PUT", "/limits/dashboard", "{}", {"Content-Type": "application/json"}).expect(201)
    server.request("PATCH", "/topics/dashboard", '{"maxPending": 9}', {"Content-Type": "application/json"}).expect(200)
    server.schedule(topic="dashboard", jobId="b", url="http://127.0.0.1:9/", delay=3600)
    for gauge in b"duepost_limit_in_flight{", b"duepost_topic_quota_jobs{":
        until(lambda gauge=gauge: gauge in server.get("/metrics").body, 10, "the gauges of the limit and the quota")
    found = {}
    for line in (server.get("/metrics").body.decode() + outbox_metrics).splitlines():
        if not line.startswith("#"):
            name, labels = re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+", line).groups()
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


def is_balanced(text):
    expected = []
    for character in re.sub(r'"[^"]*"', "", text):
        if character in OPEN:
            expected.append(SHUT[OPEN.index(character)])
        elif character in SHUT and (not expected or expected.pop() != character):
            return False
    return not expected


def test_panels_have_ids_of_their_own_and_places_that_do_not_overlap():
    ids = [panel["id"] for panel in PANELS]
    assert len(ids) == len(set(ids))
    cells = [(x, y) for place in (panel["gridPos"] for panel in PANELS)
             for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24


def test_every_panel_asks_the_chosen_data_source():
    assert BOARD["templating"]["list"][0]["type"] == "datasource"
    for panel in PANELS:
        if panel["type"] != "row":
            assert {target["datasource"]["uid"] for target in panel["targets"]} | {panel["datasource"]["uid"]} == {"${datasource}"}


@pytest.mark.parametrize("expression", EXPRESSIONS + QUERIES)
def test_its_metrics_and_labels_exist(series, expression):
    assert is_balanced(expression)
    names = re.findall(NAME, expression)
    assert names
    known = LABELS_OF_PROMETHEUS.union(*(series[name] for name in names))
    asked = set(re.findall(r'(\w+)=~?"', expression))
    for group in re.findall(r"\bby \(([^)]*)\)", expression):
        asked.update(word.strip() for word in group.split(","))
    assert asked <= known


def test_every_metric_is_on_the_board(series):
    asked = {name.removesuffix("_bucket") for name in re.findall(NAME, " ".join(EXPRESSIONS))}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in series} <= asked
