"""Keys of a topic: the settings perKey, priorityAge and retryPriority, and /topics/<topic>/keys."""

import json

import pytest

JSON = {"Content-Type": "application/json"}


def set_topic(server, topic, **settings):
    return server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON)


# ---- settings of topics and patterns ----

def test_settings_for_keys_come_from_the_topic_or_a_pattern(server, topic):
    server.request("PUT", f"/topics/{topic}-*", json.dumps({"perKey": {"maxInFlight": 2, "order": "fifo"}, "priorityAge": "off"}), JSON).expect(200)
    name = f"{topic}-a"
    read = server.get(f"/topics/{name}").expect(200)
    assert read["settings"] == {"perKey": {"maxInFlight": 2, "order": "fifo"}, "priorityAge": "off"}
    assert read["from"]["perKey"] == read["from"]["priorityAge"] == f"{topic}-*" and read["from"]["retryPriority"] == "default"
    changed = set_topic(server, name, perKey={"rate": {"jobs": 3, "per": "1m"}, "weight": 7, "maxPending": 100}, priorityAge="30m", retryPriority=0)
    bounds = {"rate": {"jobs": 3, "per": 60, "burst": 1}, "maxPending": 100, "weight": 7}
    assert changed.expect(200)["settings"] == {"perKey": bounds, "priorityAge": 1800, "retryPriority": 0}  # perKey comes from one layer as a whole
    assert set_topic(server, name, perKey={"rate": {"jobs": 4}, "weight": None}).expect(200)["settings"]["perKey"] == {
        "rate": {**bounds["rate"], "jobs": 4}, "maxPending": 100}
    set_topic(server, name, perKey=None, priorityAge=None, retryPriority=None).expect(200)
    assert server.get(f"/topics/{name}").expect(200)["settings"] == read["settings"]
    server.request("DELETE", f"/topics/{topic}-*").expect(200)


@pytest.mark.parametrize("name, value", [("perKey", {"maxInFlight": 1}), ("priorityAge", "off"), ("retryPriority", 9)])
def test_a_fifo_topic_has_no_settings_for_keys(server, topic, name, value):
    refused = set_topic(server, topic, order="fifo", **{name: value}).expect(400)["errors"]
    assert refused == [{"field": name, "detail":
                        'cannot be combined with order "fifo", which delivers all jobs of the topic in one line, one at a time'}]
    set_topic(server, topic, **{name: value}).expect(200)
    assert set_topic(server, topic, order="fifo").fields() == [name]


def test_a_fifo_topic_of_a_pattern_with_settings_for_keys_is_served(server, topic):
    server.request("PUT", f"/topics/{topic}-*", json.dumps({"perKey": {"maxInFlight": 2}, "retryPriority": 9}), JSON).expect(200)
    set_topic(server, f"{topic}-a", order="fifo").expect(200)
    read = server.get(f"/topics/{topic}-a").expect(200)
    assert read["settings"] == {"perKey": {"maxInFlight": 2}, "retryPriority": 9, "order": "fifo"} and "heldBy" not in read
    server.request("DELETE", f"/topics/{topic}-*").expect(200)


@pytest.mark.parametrize("settings, fields", [
    ({"perKey": 1}, ["perKey"]), ({"perKey": {"order": "due", "maxInFlight": 0}}, ["perKey.maxInFlight", "perKey.order"]),
    ({"perKey": {"rate": {"per": 1}}}, ["perKey.rate.jobs"]), ({"perKey": {"paused": True}}, ["perKey.paused"]),
    ({"priorityAge": "on"}, ["priorityAge"]), ({"priorityAge": 0}, ["priorityAge"]), ({"retryPriority": 10}, ["retryPriority"])])
def test_faults_of_settings_for_keys(server, topic, settings, fields):
    assert sorted(set_topic(server, topic, **settings).fields()) == fields
