"""Executes the steps of a Dockerfile in root directories instead of containers. Supports the part of the language
that docker/Dockerfile uses."""

import json
import pathlib
import re
import shlex
import shutil

BUILD_PLATFORM = "--platform=$BUILDPLATFORM "
# Debian's slim images lack these files, also those of packages that are installed later.
SLIM = ["/usr/share/doc/*", "/usr/share/info/*", "/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*"]


def instructions(path):
    """Returns the instructions as [(keyword, rest)]. A line that ends with a backslash continues in the next line."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def copy_context(source, context):
    """Copies the files that .dockerignore allows. This file must exclude everything, and then list exceptions."""
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


def make_slim(root):
    """Makes a root of Debian like Debian's slim images: without package files, package caches and documentation."""
    for package in (root.path / "var/cache/apt/archives").glob("*.deb"):
        package.unlink()
    (root.path / "etc/apt/apt.conf.d/docker-clean").write_text('Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";\n')
    (root.path / "etc/dpkg/dpkg.cfg.d/docker").write_text("".join(f"path-exclude {path}\n" for path in SLIM) + "path-include /usr/share/doc/*/copyright\n")
    for path in SLIM:
        shutil.rmtree(root.path / path.strip("/*"))


class Image:
    """The result of a stage: a root directory, and how to start it."""

    def __init__(self, root, architecture):
        self.root, self.architecture = root, architecture
        self.directory, self.user, self.environment = "/", None, {}
        self.volume, self.entrypoint, self.port = None, None, None
        self.healthcheck, self.health_options = None, {}
        self.arguments = {}  # the variables of ARG, which only RUN has

    def copy(self, source, words):
        *names, target = words
        for name in names:
            target_path = self.root.path / str(pathlib.PurePosixPath(self.directory, target)).lstrip("/")
            _copy(source / name.lstrip("/"), target_path)

    def do(self, keyword, rest, context, stages):
        if keyword == "RUN":
            self.root.run("sh", "-c", rest, cwd=self.directory, environment=self.arguments)
        elif keyword == "ARG":
            self.arguments[rest] = {"TARGETARCH": self.architecture}[rest]
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
            words, self.healthcheck = rest.split("CMD ", 1)
            self.health_options = dict(word.removeprefix("--").split("=") for word in words.split())
        elif keyword == "EXPOSE":
            self.port = rest
        else:
            raise AssertionError(f"{keyword}: not known here")

    def start(self, *arguments, **environment):
        """Starts the image's server. Its root directory is read-only except for the volume."""
        return self.root.start(*self.entrypoint, *arguments, environment={**self.environment, **environment},
                               user=self.user, writable=self.volume)

    def is_healthy(self, **environment):
        """Runs the command of HEALTHCHECK while the server runs. Returns whether it succeeds."""
        process = self.root.start("sh", "-c", self.healthcheck, environment={**self.environment, **environment}, user=self.user)
        return process.popen.wait(60) == 0


def build(path, context, roots, architecture, roots_here=None):
    """Returns the image of the last stage. roots: a Roots for the image's architecture. roots_here: a Roots for this
    host, for the stages that run on the host; default: roots."""
    stages, image, bases = {}, None, {}
    for keyword, rest in instructions(path):
        if keyword == "FROM":
            base, *name = rest.removeprefix(BUILD_PLATFORM).split(" AS ")
            base = bases.get(base, base)
            assert base == "debian:bookworm-slim", base
            of = roots_here if roots_here and rest.startswith(BUILD_PLATFORM) else roots
            image = Image(of.make(f"docker-{architecture}-{len(stages)}"), architecture)
            make_slim(image.root)
            stages[name[0] if name else ""] = image
        elif image is None:
            assert keyword == "ARG", f"{keyword}: before the first FROM"
            name, _, value = rest.partition("=")
            bases[f"${name}"] = value
        else:
            image.do(keyword, rest, context, stages)
    return image
