"""The unmodified client in JavaScript: each method of its parts."""

from arrivals import arrivals
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


# ---- batch ----

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
