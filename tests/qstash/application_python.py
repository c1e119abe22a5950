"""An application with durable workflows, served with the unmodified client for Python and FastAPI or Flask:

    python3 application_python.py MODULES fastapi|flask PORT DUEPOST_URL KEYS EFFECTS

The arguments are those of application.mjs. The result of each step is a random text, so that a test can see which effect of a step
was kept."""

import asyncio
import json
import secrets
import socket
import sys

modules, framework, port, duepost, keys, effects = sys.argv[1:]
sys.path.insert(0, modules)

import qstash  # noqa: E402

keys = json.loads(keys)
receiver = qstash.Receiver(keys["current"], keys["next"])


def note(run, step, **more):
    line = json.dumps({"run": run, "step": step, **more}) + "\n"
    with open(effects, "a") as file:
        file.write(line)


def effect(context, name):
    text = secrets.token_hex(8)
    note(context.workflow_run_id, name, result=text)
    return text


def serve_fastapi(listener):
    import uvicorn
    from fastapi import FastAPI
    from upstash_workflow.fastapi import Serve
    app = FastAPI()
    client = qstash.AsyncQStash("any", base_url=duepost, retry=False)

    @Serve(app).post("/texts", qstash_client=client, receiver=receiver)
    async def texts(context):
        async def step(name):
            async def run():
                return effect(context, name)
            return await context.run(name, run)
        found = [await step(f"step {number}") for number in range(5)]
        await context.sleep("a second", 1)
        answer = await context.call("third party", url=context.request_payload["url"], method="POST", body={"of": "us"})
        found.append(await step("last"))
        note(context.workflow_run_id, "result", result={"texts": found, "status": answer.status})

    asyncio.run(uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener]))


def serve_flask(listener):
    from flask import Flask
    from upstash_workflow.flask import Serve
    from werkzeug.serving import make_server
    app = Flask("application")
    client = qstash.QStash("any", base_url=duepost, retry=False)

    @Serve(app).route("/texts", qstash_client=client, receiver=receiver)
    def texts(context):
        def step(name):
            return context.run(name, lambda: effect(context, name))
        found = [step(f"step {number}") for number in range(5)]
        context.sleep("a second", 1)
        answer = context.call("third party", url=context.request_payload["url"], method="POST", body={"of": "us"})
        found.append(step("last"))
        note(context.workflow_run_id, "result", result={"texts": found, "status": answer.status})

    host, own = listener.getsockname()
    make_server(host, own, app, threaded=True, fd=listener.fileno()).serve_forever()


listener = socket.create_server(("127.0.0.1", int(port)), backlog=128)
print(f"listening on {listener.getsockname()[1]}", flush=True)
{"fastapi": serve_fastapi, "flask": serve_flask}[framework](listener)
