"""Labels: jobs are found by them in lists, counts and bulk actions."""

import json
from urllib.parse import quote

import pytest

from patience import until
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}


def found(server, query, path="/jobs"):
    page = server.get(f"{path}?{query}").expect(200)
    ids = [job["jobId"] for job in page["jobs"]]
    while "cursor" in page:
        page = server.get(f"{path}?{query}&cursor={page['cursor']}").expect(200)
        ids += [job["jobId"] for job in page["jobs"]]
    return sorted(ids)


def count(server, query):
    return server.get(f"/jobs/count?{query}").expect(200)["count"]


def schedule(server, receiver, topic, labels, **members):
    """Schedules jobs. labels: the labels of each job, by its id."""
    for job_id, its in labels.items():
        server.schedule(**{"topic": topic, "jobId": job_id, "url": receiver.url(), "labels": its, "delay": 3600, **members})


def test_labels_are_shown(server, receiver, topic):
    labels = ["eu", 'say "hi" \\ ', "größe ✓", "a,b", "x" * 64]
    schedule(server, receiver, topic, {"a": labels, "b": []})
    assert server.get(f"/jobs/{topic}/a").expect(200)["labels"] == labels
    one, other = server.get(f"/jobs?state=delayed&topic={topic}").expect(200)["jobs"]
    assert one["labels"] == labels and "labels" not in other


def test_waiting_jobs_are_found_by_a_label(server, receiver, topic):
    schedule(server, receiver, topic, {"a": ["eu", "vip"], "b": ["us"], "c": ["eu"], "d": [], "e": ["eu-west"]},
             body={"labels": ["eu"], "text": '"eu"'})
    delayed = f"state=delayed&topic={topic}"
    assert found(server, f"{delayed}&label=eu") == ["a", "c"] == found(server, f"{delayed}&label=eu&limit=1")
    assert found(server, f"topic={topic}&label=vip") == ["a"]
    assert found(server, f"{delayed}&label=eu&idPrefix=c") == ["c"]
    assert found(server, f"{delayed}&label=e") == [] == found(server, f"{delayed}&label=EU")
    assert count(server, f"{delayed}&label=eu") == 2 and count(server, f"{delayed}&label=none") == 0
    assert found(server, f"state=delayed&label=vip&urlHost=127.0.0.1&topic={topic}") == ["a"]


def test_all_of_several_labels_must_match(server, receiver, topic):
    schedule(server, receiver, topic, {"a": ["eu", "vip", "x"], "b": ["vip"], "c": ["eu"], "d": ["vip", "eu"], "e": ["eu vip"]})
    delayed = f"state=delayed&topic={topic}"
    assert found(server, f"{delayed}&label=eu&label=vip") == ["a", "d"] == found(server, f"{delayed}&label=vip&label=eu&label=vip&limit=1")
    assert found(server, f"{delayed}&label=eu&label=vip&label=x") == ["a"] and count(server, f"{delayed}&label=eu&label=vip") == 2
    many = "&".join(f"label={number}" for number in range(11))
    assert server.get(f"/jobs?{delayed}&{many}").fields() == ["label"]
    assert server.get(f"/jobs?{delayed}&label=a&label=").fields() == ["label"]
    assert server.get(f"/jobs?{delayed}&idPrefix=a&idPrefix=b").fields() == ["idPrefix"]
    reply = server.request("DELETE", f"/jobs?{delayed}&label=eu&label=vip&all=true").expect(200)
    assert reply["done"] == 2 and found(server, delayed) == ["b", "c", "e"]


@pytest.mark.parametrize("label", ['say "hi" \\ %', "größe ✓", "a,b&c=d"])
def test_any_label_can_be_searched_for(server, receiver, topic, label):
    schedule(server, receiver, topic, {"a": ["x", label], "b": ["x"]})
    assert found(server, f"state=delayed&topic={topic}&label={quote(label, safe='')}") == ["a"]


def test_labels_are_found_over_all_topics(server, receiver, topic):
    for part in "one", "two":
        schedule(server, receiver, f"{topic}.{part}", {f"a-{part}": [topic[-60:]], "b": ["other"]})
    assert found(server, f"state=delayed&label={topic[-60:]}") == ["a-one", "a-two"]


def test_the_dead_are_found_run_again_and_cancelled_by_a_label(server, receiver, topic):
    receiver.script(topic, *[410] * 4, 200)
    schedule(server, receiver, topic, {"a": ["eu"], "b": ["us"], "c": ["eu"], "d": ["us"]}, delay=0)
    dead = f"state=dead&topic={topic}"
    until(lambda: count(server, dead) == 4, 20, "all dead")
    assert found(server, f"{dead}&label=eu") == ["a", "c"] and count(server, f"{dead}&label=us&reason=gone") == 2
    page = server.request("POST", f"/jobs/redrive?topic={topic}&label=eu&all=true").expect(200)
    assert page == {"matched": 2, "done": 2, "skipped": 0}
    until(lambda: receiver.count(topic) == 6, 20, "two more deliveries")
    assert sorted(a.job_id for a in receiver.of(topic)[4:]) == ["a", "c"]
    assert server.request("DELETE", f"/jobs?{dead}&label=us&all=true&dryRun=true").expect(200)["matched"] == 2
    assert server.request("DELETE", f"/jobs?{dead}&label=us&all=true").expect(200)["done"] == 2
    until(lambda: count(server, f"topic={topic}") == 0, 20, "none is left")


def test_waiting_jobs_are_cancelled_by_a_label(server, receiver, topic):
    schedule(server, receiver, topic, {f"j{i:02}": ["eu" if i % 3 else "us"] for i in range(12)})
    page = server.request("DELETE", f"/jobs?state=delayed&topic={topic}&label=us&all=true").expect(200)
    assert page == {"matched": 4, "done": 4, "skipped": 0}
    assert count(server, f"topic={topic}") == 8 == count(server, f"topic={topic}&label=eu")


def test_delivered_jobs_are_found_by_a_label(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"retention": 3600}), JSON).expect(200)
    schedule(server, receiver, topic, {"a": ["eu"], "b": ["us"]}, delay=0)
    delivered = f"state=delivered&topic={topic}"
    until(lambda: count(server, delivered) == 2, 20, "both are delivered")
    assert found(server, f"{delivered}&label=eu") == ["a"]


def test_a_token_finds_labels_in_its_topics_only(start, receiver, topic):
    tokens = TokenFile()
    root, bound = tokens.add("root"), tokens.add("bound", topics=f"{topic}.mine")
    server = start("--tokens", str(tokens.path), token=root)
    for part in "mine", "other":
        schedule(server, receiver, f"{topic}.{part}", {"a": ["eu"]})
    client = server.with_token(bound)
    assert found(client, f"state=delayed&topic={topic}.mine&label=eu") == ["a"]
    for query in f"state=delayed&topic={topic}.other&label=eu", "state=delayed&label=eu":
        client.get(f"/jobs?{query}").expect(403)
        client.request("DELETE", f"/jobs?{query}&all=true").expect(403)
    client.post({"topic": f"{topic}.other", "url": receiver.url(), "labels": ["eu"]}).expect(403)


def test_labels_are_changed(server, receiver, topic):
    schedule(server, receiver, topic, {"a": ["eu"]})
    path = f"/jobs/{topic}/a"

    def patch(status, labels):
        return server.request("PATCH", path, json.dumps({"labels": labels}), JSON).expect(status)
    patch(200, ["us", "vip"])
    assert found(server, f"topic={topic}&label=eu") == [] and found(server, f"topic={topic}&label=vip") == ["a"]
    patch(400, ["us", "us"])
    patch(200, None)
    assert "labels" not in server.get(path).expect(200)
    server.request("PUT", path, json.dumps({"url": receiver.url(), "labels": ["new"], "delay": 60}), JSON).expect(200)
    assert found(server, f"topic={topic}&label=new") == ["a"]


def test_the_order_of_labels_does_not_make_another_job(server, receiver, topic):
    members = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 3600}
    server.post({**members, "labels": ["a", "b"]}).expect(201)
    server.post({**members, "labels": ["b", "a"]}).expect(200)
    server.post({**members, "labels": ["b"]}).expect(409)


@pytest.mark.parametrize("labels, field", [
    ("eu", "labels"), ([""], "labels[0]"), (["a", 1], "labels[1]"), (["a", "b", "a"], "labels[2]"), (["x" * 65], "labels[0]"),
    (["é" * 33], "labels[0]"), (["a\nb"], "labels[0]"), ([f"{i}" for i in range(11)], "labels")])
def test_an_invalid_label_is_refused(server, topic, labels, field):
    assert server.post({"topic": topic, "url": "http://127.0.0.1:9/", "labels": labels}).fields() == [field]


def test_a_filter_must_be_a_label(server, topic):
    for wrong in "label=", f"label={'x' * 65}", "label=%01":
        assert server.get(f"/jobs?topic={topic}&{wrong}").fields() == ["label"]
