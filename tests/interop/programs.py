"""Runs the programs of other languages and their package managers: for tests/interop and tests/clients."""

import os
import subprocess


class NotInstalled(Exception):
    """A package cannot be installed, for example because its registry is not reached."""


def run(*command, folder, **environment):
    """Runs a command to its end, and returns its output."""
    done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed with {done.returncode}:\n{done.stdout[-8000:]}")
    return done.stdout


def install(*command, folder, **environment):
    """Runs a command that needs a registry."""
    try:
        run(*command, folder=folder, **environment)
    except SystemExit as failure:
        raise NotInstalled(str(failure).strip().splitlines()[-1]) from failure


def install_node(folder, *packages):
    """Installs packages of npm, and returns the folder of their programs."""
    install("npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, "typescript@5.9.3",
            "@types/node@20", *packages, folder=folder)
    return folder / "node_modules/.bin"
