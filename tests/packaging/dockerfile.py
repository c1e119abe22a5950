"""Executes the steps of a Dockerfile in root directories instead of containers. Supports the part of the language
that docker/Dockerfile uses."""

import json
import pathlib
import re
import shlex
import shutil


def instructions(path):
    """[(keyword, rest)]; a line that ends with a backslash goes on in the next."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def copy_context(source, context):
    """Copies the files that .dockerignore allows: it excludes everything, then lists exceptions."""
    rules = [line for line in (source / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*" and all(rule.startswith("!") for rule in rules[1:]), "another form of .dockerignore"
    for rule in rules[1:]:
        _copy(source / rule[1:], context / rule[1:])


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


class Image:
    """The result of a stage: a root directory, and how to start it."""

    def __init__(self, root):
        self.root, self.directory, self.user, self.environment = root, "/", None, {}
        self.volume, self.entrypoint, self.healthcheck = None, None, None

    def copy(self, source, words):
        *names, target = words
        for name in names:
            target_path = self.root.path / str(pathlib.PurePosixPath(self.directory, target)).lstrip("/")
            _copy(source / name.lstrip("/"), target_path)

    def do(self, keyword, rest, context, stages):
        if keyword == "RUN":
            self.root.run("sh", "-c", rest, cwd=self.directory)
        elif keyword == "COPY":
            stage = re.match(r"--from=(\w+) ", rest)
            words = shlex.split(rest[stage.end():] if stage else rest)
            self.copy(stages[stage[1]].root.path if stage else context, words)
        elif keyword == "WORKDIR":
            self.directory = rest
            (self.root.path / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif keyword == "USER":
            self.user = rest
        elif keyword == "ENV":
            self.environment.update(word.split("=", 1) for word in shlex.split(rest))
        elif keyword == "VOLUME":
            self.volume = rest
        elif keyword == "ENTRYPOINT":
            self.entrypoint = json.loads(rest)
        elif keyword == "HEALTHCHECK":
            self.healthcheck = rest.split("CMD ", 1)[1]
        else:
            assert keyword == "EXPOSE", f"{keyword}: not known here"

    def start(self, *arguments, **environment):
        """Starts it with a root that is read-only except for the volume."""
        return self.root.start(*self.entrypoint, *arguments, environment={**self.environment, **environment},
                               user=self.user, writable=self.volume)

    def is_healthy(self, **environment):
        """Runs the HEALTHCHECK next to the server; returns its verdict."""
        process = self.root.start("sh", "-c", self.healthcheck, environment={**self.environment, **environment}, user=self.user)
        return process.popen.wait(10) == 0


def build(path, context, make_root):
    """The image of the last stage."""
    stages, image = {}, None
    for keyword, rest in instructions(path):
        if keyword == "FROM":
            base, *name = rest.split(" AS ")
            assert base == "debian:bookworm-slim", base
            image = Image(make_root(f"docker-{len(stages)}"))
            stages[name[0] if name else ""] = image
        else:
            image.do(keyword, rest, context, stages)
    return image
