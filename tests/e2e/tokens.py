"""A file of tokens, and the tokens by name."""

import hashlib
import itertools

import scratch

SCOPES = ["schedule", "read", "cancel", "admin", "lease"]
_numbers = itertools.count(1)


def line_for(name, text, fields):
    return f"{name} sha256:{hashlib.sha256(text.encode()).hexdigest()} {fields}\n"


class TokenFile:
    """add() returns the token's text. duepost knows a new token only after a start or a reload."""

    def __init__(self):
        self.path = scratch.file("tokens")
        self.texts = {}
        self.path.write_text("# tokens of a test\n")

    def add(self, name, scopes=SCOPES, **fields):
        return self.add_text(name, f"dp_canary{next(_numbers):055x}", scopes, **fields)

    def add_text(self, name, text, scopes, **fields):
        self.texts[name] = text
        words = [f"scopes={','.join(scopes)}", *(f"{field}={value}" for field, value in fields.items())]
        with self.path.open("a") as file:
            file.write(line_for(name, self.texts[name], " ".join(words)))
        return self.texts[name]

    def remove(self, name):
        lines = [line for line in self.path.read_text().splitlines(True) if line.split()[0] != name]
        self.path.write_text("".join(lines))
