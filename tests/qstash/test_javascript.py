"""The unmodified client in JavaScript: each method of its parts."""

from arrivals import arrivals
from conftest import run_in_node
from duepost import Duepost
from patience import until
from receiver import Answer

# Verifies a delivery as an application does.
VERIFY = """
const { keys, signature, body, url } = arrival;
const receiver = new Receiver({ currentSigningKey: keys.current, nextSigningKey: keys.next });
return await receiver.verify({ signature, body, url });
"""


def verified(javascript, server, arrival, url):
    keys = server.request("GET", "/v2/keys", check=False).json
    return javascript(VERIFY, arrival={"keys": keys, "signature": arrival.headers["upstash-signature"], "body": arrival.body.decode(), "url": url})


# ---- publish ----

def test_publish(javascript, server, receiver, topic):
    url = receiver.url(f"/{topic}?x=%20y")
    sent = javascript("return await client.publish({ url, body: 'some text', headers: { 'My-Header': 'abc' }, method: 'PATCH' });", url=url)
    arrival, = arrivals(receiver, f"/{topic}?x=%20y", 1)
    assert arrival.headers["upstash-message-id"] == sent["messageId"] and arrival.headers["my-header"] == "abc"
    assert arrival.body == b"some text" and arrival.method == "PATCH"
    assert verified(javascript, server, arrival, url) is True


def test_publish_json(javascript, server, receiver, topic):
    url = receiver.url(f"/{topic}")
    javascript("return await client.publishJSON({ url, body: { hello: 'wörld' }, retries: 0, timeout: 30 });", url=url)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert arrival.body == '{"hello":"wörld"}'.encode() and arrival.headers["content-type"] == "application/json"
    assert verified(javascript, server, arrival, url) is True
    arrival.body = b'{"hello":"you"}'
    assert "error" in verified(javascript, server, arrival, url)


def test_deduplication(javascript, topic):
    sent = javascript("""
        const message = { url: "https://example.com/" + topic, delay: "1h", body: "x" };
        const all = [await client.publish({ ...message, deduplicationId: topic }), await client.publish({ ...message, deduplicationId: topic })];
        return [...all, await client.publish({ ...message, contentBasedDeduplication: true }),
                await client.publish({ ...message, contentBasedDeduplication: true })];""", topic=topic)
    assert [each.get("deduplicated", False) for each in sent] == [False, True, False, True]
    assert sent[0]["messageId"] == sent[1]["messageId"] != sent[2]["messageId"] == sent[3]["messageId"]


def test_a_wrong_destination_is_an_error(javascript):
    answer = javascript("return await client.publish({ url: 'no-url' });")
    assert answer["status"] in (400, 404) and "no-url" in answer["error"]


def test_a_get_shows_its_body_and_sends_none(javascript, server, receiver, topic):
    url = receiver.url(f"/{topic}")
    shown = javascript("""
        const message = { url, body: "text", method: "GET", headers: { "My-Header": "v" } };
        const { messageId } = await client.publish({ ...message, delay: "1h" });
        await client.publish(message);
        await client.schedules.create({ ...message, destination: url, cron: "0 4 1 1 *", scheduleId: topic });
        return [(await client.messages.get(messageId)).body, (await client.schedules.get(topic)).body];""", url=url, topic=topic)
    assert shown == ["text", "text"]
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert (arrival.method, arrival.body, arrival.headers["my-header"]) == ("GET", b"", "v")
    assert verified(javascript, server, arrival, url) is True


# ---- messages ----

def test_get_and_cancel(javascript, topic):
    answers = javascript("""
        const { messageId } = await client.publishJSON({ url: "https://example.com/" + topic, body: { a: 1 }, delay: "1h", retries: 7,
            label: topic, flowControl: { key: topic, parallelism: 2, rate: 3, period: "1m" } });
        const message = await client.messages.get(messageId);
        await client.messages.cancel(messageId);
        let after;
        try { await client.messages.get(messageId); } catch (error) { after = error.status; }
        return { messageId, message, after };""", topic=topic)
    message = answers["message"]
    assert message["messageId"] == answers["messageId"] and message["url"] == f"https://example.com/{topic}" and message["body"] == '{"a":1}'
    assert message["maxRetries"] == 7 and message["label"] == topic
    assert (message["flowControlKey"], message["parallelism"], message["rate"], message["period"]) == (topic, 2, 3, 60)
    assert answers["after"] == 404


def test_cancel_of_several(javascript, topic):
    answers = javascript("""
        const send = async (label) => (await client.publish({ url: "https://example.com/" + topic, delay: "1h", label })).messageId;
        const ids = [await send(topic), await send(topic), await send(topic + ".other"), await send(topic + ".last")];
        return [await client.messages.cancel(ids.slice(0, 1)), await client.messages.cancel({ filter: { label: topic } }),
                await client.messages.cancel({ all: true }), await client.messages.cancel({ all: true })];""", topic=topic)
    assert [each["cancelled"] for each in answers[:2]] == [1, 1]
    assert answers[2]["cancelled"] >= 2 and answers[3]["cancelled"] == 0


def test_deprecated_calls_cancel(javascript, topic):
    answers = javascript("""
        const send = async () => (await client.publish({ url: "https://example.com/" + topic, delay: "1h" })).messageId;
        const ids = [await send(), await send(), await send(), await send()];
        await client.messages.delete(ids[0]);
        const many = await client.messages.deleteMany(ids.slice(0, 3)), all = await client.messages.deleteAll();
        return { many, all, rest: await client.messages.deleteAll() };""", topic=topic)
    assert answers["many"] == 2 and answers["all"] >= 1 and answers["rest"] == 0


def test_a_filter_with_a_space_and_a_plus(javascript, topic):
    answers = javascript("""
        const send = (label) => client.publish({ url: "https://example.com/" + topic, delay: "1h", label });
        for (const label of [topic + " a+b", topic + " a b", topic + "+a+b"]) await send(label);
        const logs = (await client.logs({ filter: { label: topic + " a+b" } })).logs.length;
        return [logs, await client.messages.cancel({ filter: { label: topic + " a+b" } }), await client.messages.cancel({ filter: { label: topic + " a b" } })];""",
                         topic=topic)
    assert answers == [1, {"cancelled": 1}, {"cancelled": 1}]


# ---- batch ----

def test_batch_of_texts(javascript, receiver, topic):
    sent = javascript("""return await client.batch([
        { url: url + "-1", body: "one", method: "PUT", headers: { "My-Header": "1" } },
        { url: url + "-2", body: "two", queueName: topic },
        { url: "no-url", body: "three" }]);""", url=receiver.url(f"/{topic}"), topic=topic)
    first, = arrivals(receiver, f"/{topic}-1", 1)
    second, = arrivals(receiver, f"/{topic}-2", 1)
    assert (first.method, first.body, first.headers["my-header"], second.body) == ("PUT", b"one", "1", b"two")
    assert [first.headers["upstash-message-id"], second.headers["upstash-message-id"]] == [each["messageId"] for each in sent[:2]]
    assert "no-url" in sent[2]["error"]


def test_batch(javascript, receiver, topic):
    sent = javascript("""return await client.batchJSON([0, 1, 2].map((number) => (
        { url: url + "-" + number, body: { number }, headers: { N: String(number) } })));""", url=receiver.url(f"/{topic}"))
    assert len({each["messageId"] for each in sent}) == 3
    for number in range(3):
        arrival, = arrivals(receiver, f"/{topic}-{number}", 1)
        assert arrival.body == b'{"number":%d}' % number and arrival.headers["n"] == str(number)


# ---- dead letters ----

def test_dead_letters(javascript, receiver, topic):
    for number in range(4):
        receiver.script(f"/{topic}-{number}", Answer(500, body=b"no"), Answer(200))
    javascript("for (const n of [0, 1, 2, 3]) await client.publish({ url: `${url}-${n}`, body: String(n), retries: 0, label: topic });",
               url=receiver.url(f"/{topic}"), topic=topic)
    found = []

    def are_dead():
        found[:] = javascript("return (await client.dlq.listMessages({ filter: { label: topic } })).messages;", topic=topic)
        return len(found) == 4
    until(are_dead, 20, "four dead letters")
    assert {letter["responseStatus"] for letter in found} == {500}
    letters = {letter["body"]: letter["dlqId"] for letter in found}
    answers = javascript("""
        return [await client.dlq.delete(ids[0]), await client.dlq.retry(ids[1]), await client.dlq.retry([ids[2]]),
                await client.dlq.retry({ filter: { label: topic } }), (await client.dlq.listMessages({ filter: { label: topic } })).messages,
                await client.dlq.delete({ filter: { label: topic } })];""", ids=[letters[str(number)] for number in range(4)], topic=topic)
    assert answers[0] == {"deleted": 1} and [len(answer["responses"]) for answer in answers[1:4]] == [1, 1, 1]
    assert answers[4] == [] and answers[5]["deleted"] == 0
    for number in (1, 2, 3):
        assert arrivals(receiver, f"/{topic}-{number}", 2)[1].body == str(number).encode()


def test_many_dead_letters_are_deleted(javascript, receiver, topic):
    for number in range(2):
        receiver.script(f"/{topic}-{number}", Answer(500))
    javascript("for (const n of [0, 1]) await client.publish({ url: `${url}-${n}`, retries: 0, label: topic });",
               url=receiver.url(f"/{topic}"), topic=topic)
    found = []

    def are_dead():
        found[:] = javascript("return (await client.dlq.listMessages({ filter: { label: topic } })).messages;", topic=topic)
        return len(found) == 2
    until(are_dead, 20, "two dead letters")
    answers = javascript("""const ids = found.map((each) => each.dlqId);
        return [(await client.dlq.listMessages({ dlqIds: ids })).messages.length, await client.dlq.deleteMany({ dlqIds: ids }),
                (await client.dlq.listMessages({ filter: { label: topic } })).messages];""", found=found, topic=topic)
    assert answers[0] == 2 and answers[1]["deleted"] == 2 and answers[2] == []


# ---- logs ----

def test_logs(javascript, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, body=b"no"))
    message_id = javascript("return (await client.publish({ url, body: 'x', retries: 0, label: topic })).messageId;", url=receiver.url(f"/{topic}"), topic=topic)
    waits = javascript("return (await client.publish({ url: 'https://example.com/', delay: '1h', label: topic })).messageId;", topic=topic)
    found = []

    def are_there():
        found[:] = javascript("return (await client.logs({ filter: { label: topic } })).logs;", topic=topic)
        return len(found) == 5
    until(are_there, 20, lambda: f"five events: {found}")
    states = [event["state"] for event in sorted(found, key=lambda event: event["time"]) if event["messageId"] == message_id]
    assert sorted(states) == ["ACTIVE", "CREATED", "ERROR", "FAILED"]
    assert {event["url"] for event in found if event["messageId"] == waits} == {"https://example.com/"}
    answers = javascript("""
        const pages = [];
        for (let cursor; ; ) {
            const page = await client.logs({ cursor, count: 2, filter: { label: topic } });
            pages.push(page.logs.map((event) => event.state));
            cursor = page.cursor;
            if (!cursor) break;
        }
        return { pages, byId: (await client.logs({ filter: { messageId } })).logs.map((event) => event.state),
            byIds: (await client.logs({ messageIds: [messageId, waits] })).logs.length,
            failed: (await client.logs({ filter: { state: "FAILED", label: topic } })).logs.map((event) => event.messageId),
            later: (await client.events({ filter: { label: topic, fromDate: Date.now() + 60_000 } })).events };""", topic=topic, messageId=message_id, waits=waits)
    assert [len(page) for page in answers["pages"]] == [2, 2, 1] and answers["byId"] == ["FAILED", "ERROR", "ACTIVE", "CREATED"]
    assert answers["byIds"] == 5 and answers["failed"] == [message_id] and answers["later"] == []


# ---- queues ----

def test_queues(javascript, receiver, topic):
    answers = javascript("""
        const queue = client.queue({ queueName: topic });
        await queue.upsert({ parallelism: 1, paused: true });
        for (const n of [0, 1, 2, 3]) await queue.enqueueJSON({ url, body: { n } });
        const paused = await queue.get();
        const names = (await queue.list()).map((each) => each.name);
        await queue.resume();
        return { paused, names, resumed: await queue.get() };""", url=receiver.url(f"/{topic}"), topic=topic)
    assert answers["paused"]["lag"] == 4 and answers["paused"]["paused"] is True and topic in answers["names"]
    assert answers["resumed"]["paused"] is False
    assert [arrival.body for arrival in arrivals(receiver, f"/{topic}", 4)] == [b'{"n":%d}' % n for n in range(4)]
    gone = javascript("const queue = client.queue({ queueName: topic }); await queue.pause(); await queue.delete(); return await queue.get();",
                      topic=topic)
    assert gone["status"] == 404


def test_a_text_is_enqueued(javascript, receiver, topic):
    sent = javascript("const queue = client.queue({ queueName: topic }); return await queue.enqueue({ url, body: 'a text', method: 'PUT', delay: 1 });",
                      url=receiver.url(f"/{topic}"), topic=topic)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert (arrival.method, arrival.body, arrival.headers["upstash-message-id"]) == ("PUT", b"a text", sent["messageId"])


# ---- schedules ----

def test_schedules(javascript, topic):
    answers = javascript("""
        const made = await client.schedules.create({ scheduleId: topic, destination: "https://example.com/", cron: "CRON_TZ=Europe/Berlin 0 4 1 1 *",
            body: '{"a":1}', headers: { "My-Header": "v" }, method: "PUT", retries: 2, delay: 90, timeout: 20, queueName: topic, label: ["a", "b"],
            callback: "https://example.com/cb", failureCallback: "https://example.com/fail", retryDelay: "1000", redact: { header: ["My-Header"] } });
        const first = await client.schedules.get(topic);
        await client.schedules.pause({ schedule: topic });
        const paused = await client.schedules.get(topic);
        await client.schedules.resume({ schedule: topic });
        const ids = (await client.schedules.list()).map((each) => each.scheduleId);
        await client.schedules.create({ scheduleId: topic, destination: "https://example.com/2", cron: "0 4 * * *" });
        return { made, first, paused, ids, replaced: await client.schedules.get(topic) };""", topic=topic)
    first = answers["first"]
    assert answers["made"] == {"scheduleId": topic} and topic in answers["ids"]
    assert (first["cron"], first["destination"], first["method"], first["body"]) == ("CRON_TZ=Europe/Berlin 0 4 1 1 *", "https://example.com/", "PUT", '{"a":1}')
    assert (first["retries"], first["delay"], first["timeout"], first["queueName"], first["labels"]) == (2, 90, 20, topic, ["a", "b"])
    assert (first["callback"], first["failureCallback"], first["retryDelayExpression"]) == ("https://example.com/cb", "https://example.com/fail", "1000")
    assert first["header"]["My-Header"][0].startswith("REDACTED:")
    assert (first["isPaused"], answers["paused"]["isPaused"], answers["replaced"]["isPaused"]) == (False, True, False)
    assert answers["replaced"]["destination"] == "https://example.com/2" and "body" not in answers["replaced"]
    gone = javascript("await client.schedules.delete(topic); return await client.schedules.get(topic);", topic=topic)
    assert gone["status"] == 404


def test_a_schedule_sends(javascript, server, receiver, topic):
    url = receiver.url(f"/{topic}")
    made = javascript("return await client.schedules.create({ destination: url, cron: '* * * * * *', body: 'text' });", url=url)
    until(lambda: receiver.count(f"/{topic}") > 0, 20, "a message of the schedule")
    javascript("return await client.schedules.delete(id);", id=made["scheduleId"])
    arrival = receiver.of(f"/{topic}")[0]
    assert arrival.headers["upstash-schedule-id"] == made["scheduleId"] and arrival.body == b"text"
    assert verified(javascript, server, arrival, url) is True


def test_a_schedule_sends_to_a_url_group(javascript, receiver, topic):
    made, listed = javascript("""
        await client.urlGroups.addEndpoints({ name: topic, endpoints: [{ name: "one", url: url + "-1" }, { url: url + "-2" }] });
        const made = await client.schedules.create({ destination: topic, cron: "* * * * * *", body: "text", headers: { "My-Header": "v" } });
        return [await client.schedules.get(made.scheduleId), (await client.schedules.list()).map((each) => each.destination)];""", url=receiver.url(f"/{topic}"), topic=topic)
    assert made["destination"] == topic and topic in listed
    for number in (1, 2):
        until(lambda number=number: receiver.count(f"/{topic}-{number}") > 0, 20, f"a message to endpoint {number}")
        arrival = receiver.of(f"/{topic}-{number}")[0]
        assert (arrival.body, arrival.headers["my-header"], arrival.headers["upstash-schedule-id"]) == (b"text", "v", made["scheduleId"])
    gone = javascript("await client.schedules.delete(id); return await client.schedules.get(id);", id=made["scheduleId"])
    assert gone["status"] == 404


# ---- flow control ----

def test_flow_control(javascript, topic):
    answers = javascript("""
        const all = [];
        await client.publish({ url: "https://example.com", delay: "1h", flowControl: { key: topic, parallelism: 2, rate: 3, period: "1m" } });
        all.push(await client.flowControl.get(topic));
        await client.flowControl.pause(topic);
        all.push(await client.flowControl.get(topic));
        await client.flowControl.resume(topic);
        await client.flowControl.pin(topic, { parallelism: 5, rate: 7, period: 120 });
        all.push(await client.flowControl.get(topic));
        await client.flowControl.unpin(topic, { parallelism: true, rate: true });
        await client.flowControl.resetRate(topic);
        all.push(await client.flowControl.get(topic), await client.flowControl.getGlobalParallelism());
        return all;""", topic=topic)
    assert (answers[0]["parallelismMax"], answers[0]["rateMax"], answers[0]["ratePeriod"]) == (2, 3, 60)
    assert answers[1]["isPaused"] is True
    assert (answers[2]["parallelismMax"], answers[2]["rateMax"], answers[2]["isPinnedRate"], answers[2]["isPaused"]) == (5, 7, True, False)
    assert answers[3]["isPinnedParallelism"] is False and answers[4]["parallelismMax"] > 0


# ---- URL groups ----

def test_url_groups(javascript, receiver, topic):
    answers = javascript("""
        await client.urlGroups.addEndpoints({ name: topic, endpoints: [{ name: "one", url: url + "-1" }, { url: url + "-2" }] });
        const group = await client.urlGroups.get(topic), names = (await client.urlGroups.list()).map((each) => each.name);
        const sent = await client.publishJSON({ urlGroup: topic, body: { a: 1 } });
        const [inBatch] = await client.batchJSON([{ urlGroup: topic, body: { a: 2 } }]);
        await client.urlGroups.removeEndpoints({ name: topic, endpoints: [{ url: url + "-2" }] });
        const rest = await client.urlGroups.get(topic);
        await client.urlGroups.delete(topic);
        return { group, names, sent, inBatch, rest };""", url=receiver.url(f"/{topic}"), topic=topic)
    assert len(answers["group"]["endpoints"]) == 2 and topic in answers["names"]
    assert {each["url"] for each in answers["sent"]} == {receiver.url(f"/{topic}-{number}") for number in (1, 2)}
    assert len(answers["inBatch"]) == 2 and [endpoint["name"] for endpoint in answers["rest"]["endpoints"]] == ["one"]
    for number in (1, 2):
        assert {arrival.body for arrival in arrivals(receiver, f"/{topic}-{number}", 2)} == {b'{"a":1}', b'{"a":2}'}
    assert javascript("return await client.urlGroups.get(topic);", topic=topic)["status"] == 404


# ---- callbacks ----

def test_callbacks(javascript, server, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, body=b"no"))
    javascript("""return await client.publishJSON({ url, body: {}, retries: 0, callback: url + "-each", failureCallback: url + "-dead" });""",
               url=receiver.url(f"/{topic}"))
    for path in f"/{topic}-each", f"/{topic}-dead":
        arrival, = arrivals(receiver, path, 1)
        assert verified(javascript, server, arrival, receiver.url(path)) is True


# ---- the development mode ----

DEVELOPMENT = """
const own = new Client({ devMode: true }), { signature, body, url } = arrival ?? {};
return arrival ? await new Receiver({ devMode: true }).verify({ signature, body, url }) : await own.publish({ url: to, body: "text" });
"""


def test_the_development_mode_is_found(receiver, topic, monkeypatch):
    """The client finds duepost by its port, and downloads no other server."""
    server = Duepost("--qstash", "on", "--qstash-dev", "on")
    monkeypatch.setenv("QSTASH_DEV_PORT", str(server.port))
    run, url = run_in_node("@upstash/qstash", server), receiver.url(f"/{topic}")
    sent = run(DEVELOPMENT, to=url, arrival=None)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert arrival.headers["upstash-message-id"] == sent["messageId"]
    signature = arrival.headers["upstash-signature"]
    assert run(DEVELOPMENT, arrival={"signature": signature, "body": "text", "url": url}) is True
    assert run(DEVELOPMENT, arrival={"signature": signature, "body": "other", "url": url})["error"]
    server.stop()
