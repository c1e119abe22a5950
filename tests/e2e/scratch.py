"""The directory of a test run. At the end of the run, processes that still use the directory are ended, and it is
removed."""

import pathlib
import shutil
import tempfile

import processes

_root = None


def root():
    global _root
    if _root is None:
        _root = pathlib.Path(tempfile.mkdtemp(prefix="duepost-e2e-"))
    return _root


def directory(name):
    return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=root()))


def file(name):
    return directory(name) / name


def remove():
    if _root is not None:
        for pid in processes.redis_servers_of(_root):
            processes.end(pid)
        shutil.rmtree(_root, ignore_errors=True)
