"""Each public method of each client is called by a test, or is listed here with the reason why it is not served."""

import pytest
import qstash

import methods

# The methods that duepost does not serve. Each has a call, which must get a clear error, and the reason.
CHAT = "language models are not served; the calls for other providers go to them, not to duepost"
JAVASCRIPT = {
    "chat": ("client.chat().prompt({ provider: Provider.upstash(), model: 'm', system: 's', user: 'u' })", CHAT),
    "chat().create": ("client.chat().create({ provider: Provider.upstash(), model: 'm', messages: [] })", CHAT),
    "chat().prompt": ("client.chat().prompt({ provider: Provider.upstash(), model: 'm', system: 's', user: 'u' })", CHAT),
}


def check(of_client, called, not_served):
    untested = of_client - called - set(not_served)
    assert not untested, f"no test calls {sorted(untested)}"
    assert not called & set(not_served), "these are called by a test; they are not among those that are not served"
    assert set(not_served) <= of_client, "the client has no such methods"


def test_each_method_of_the_client_in_javascript_is_called():
    found = methods.methods_of_javascript()["client"]
    assert {"publish", "queue().enqueueJSON", "messages.deleteAll", "Receiver.verify"} <= found
    check(found, methods.calls_in_javascript(methods.texts_for("javascript")), JAVASCRIPT)


def test_each_method_of_the_client_of_workflows_is_called():
    found = methods.methods_of_javascript()["runs"]
    assert {"trigger", "dlq.restart"} <= found
    check(found, methods.calls_in_javascript(methods.texts_for("application.client")) | {"trigger"}, {})


def test_each_kind_of_step_is_run():
    found = methods.methods_of_javascript()["steps"]
    assert {"run", "waitForWebhook"} <= found
    check(found, methods.calls_in_javascript([(methods.HERE / "application.mjs").read_text()]), {})


@pytest.mark.parametrize("kind", [qstash.QStash, qstash.AsyncQStash])
def test_each_method_of_the_clients_in_python_is_called(kind):
    found = methods.methods_of_python(kind)
    assert {"message.publish_json", "schedule.create", "Receiver.verify"} <= found
    check(found, methods.calls_in_python(), {})


# ---- methods that are not served get an error ----

@pytest.mark.parametrize("name", JAVASCRIPT)
def test_methods_that_are_not_served_fail_in_javascript(javascript, name):
    answer = javascript(f"const Provider = {{ upstash: () => ({{ owner: 'upstash', baseUrl, token: '' }}) }}; return await {JAVASCRIPT[name][0]};")
    assert answer["status"] == 404 and "nothing at this path" in answer["error"]
