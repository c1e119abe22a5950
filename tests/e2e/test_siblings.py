"""Sibling topics, such as orders~callbacks: only the server writes there, and the rights are those of the owner, orders."""

import json

import pytest

JSON = {"Content-Type": "application/json"}
JOB = {"url": "http://127.0.0.1:9/"}


def test_a_client_schedules_nothing_in_a_sibling_topic(server, topic):
    refused = server.post({"topic": f"{topic}~callbacks", **JOB})
    assert refused.status == 400 and refused.fields() == ["topic"]
    assert "~" in json.loads(refused.body)["errors"][0]["detail"]


@pytest.mark.parametrize("method,path,body", [("PUT", "/jobs/{}/a", JOB), ("PATCH", "/jobs/{}/a", {"timeout": 1}), ("PUT", "/topics/{}", {"paused": True}),
                                              ("PATCH", "/topics/{}", {"paused": True}), ("DELETE", "/topics/{}", None)])
def test_a_client_writes_no_job_and_no_settings_of_a_sibling_topic(server, topic, method, path, body):
    target = path.format(f"{topic}~callbacks")
    refused = server.request(method, target, body and json.dumps(body), JSON if body else {}).expect(403)
    assert topic in refused["detail"]


def test_a_sibling_topic_is_read_like_any_other(server, topic):
    name = f"{topic}~callbacks"
    assert server.get(f"/topics/{name}").expect(200)["settings"] == {}
    assert server.get(f"/jobs?state=delayed&topic={name}").expect(200)["jobs"] == []
    server.get(f"/jobs/{name}/a").expect(404)
    server.request("DELETE", f"/jobs/{name}/a").expect(404)
    server.run(name, "a").expect(404)
    server.get(f"/topics/{topic}~").expect(404)
