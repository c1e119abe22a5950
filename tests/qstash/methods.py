"""The public methods of the clients, by introspection, and those that the tests call, by reading the tests."""

import ast
import json
import pathlib
import re
import subprocess

import qstash

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE.parents[1] / "build/qstash-clients/node_modules"

JAVASCRIPT_CALL = re.compile(r"\b(client|queue|receiver|context)((?:\.\w+(?:\(\))?)+)(?=\()")


def methods_of_javascript():
    """Returns {"client": methods of @upstash/qstash, "runs": methods of the client of @upstash/workflow, "steps":
    methods of its contexts}."""
    out = subprocess.run(["node", HERE / "methods.mjs", MODULES], capture_output=True, check=True).stdout
    return {name: set(methods) for name, methods in json.loads(out).items()}


def methods_of_python(kind):
    """Returns the methods of a client as "part.method", without the part http, which is the transport of the other
    parts."""
    client, found = kind("any"), {"Receiver.verify"}
    for part, value in vars(client).items():
        if part != "http" and not part.startswith("_"):
            found |= {f"{part}.{name}" for name in dir(value) if not name.startswith("_") and callable(getattr(value, name))}
    return found | {name for name in dir(client) if not name.startswith("_") and callable(getattr(client, name))}


# ---- the calls of the tests ----

def trees():
    return [ast.parse(file.read_text()) for file in sorted(HERE.glob("test_*.py")) if file.name != "test_methods.py"]


def chain(node):
    """Returns the name of a call, without arguments and parentheses: client.chat().create(…) has the name
    client.chat.create."""
    names = []
    while True:
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Name):
            return ".".join(reversed([*names, node.id]))
        else:
            return ""


def calls_in_python():
    """Returns the calls of the fixture client, and those of the form qstash.Receiver(…).verify(…)."""
    found = set()
    for tree in trees():
        for node in ast.walk(tree):
            name = chain(node.func) if isinstance(node, ast.Call) else ""
            for root, prefix in ("client.", ""), ("qstash.Receiver.", "Receiver."):
                if name.startswith(root):
                    found.add(prefix + name[len(root):])
    return found


def texts_for(caller):
    """Returns the texts that tests pass to a function such as javascript(text) or application.client(text). Each text
    is a literal or a constant of the test file."""
    for tree in trees():
        constants = {target.id: node.value.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
                     for target in node.targets if isinstance(target, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and chain(node.func) == caller:
                for part in [node.args[0], *ast.walk(node.args[0])] if node.args else []:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value
                    elif isinstance(part, ast.Name):
                        yield str(constants.get(part.id, ""))


def calls_in_javascript(texts):
    found = set()
    for text in texts:
        for root, path in JAVASCRIPT_CALL.findall(text):
            prefix = {"queue": "queue().", "receiver": "Receiver."}.get(root, "")
            name = path[1:]
            found.add(prefix + name)
            found |= {name.split("(")[0]} if "(" in name else set()
    return found
