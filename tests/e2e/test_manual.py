"""The manual page and the completion of shells, which are made from the tables of commands and options."""

import re
import subprocess

import pytest

import duepost
import scratch


def duepost_run(*words):
    done = subprocess.run([duepost.BINARY, *words], capture_output=True, text=True, env=duepost.environment(), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def flags_of(text):
    return set(re.findall(r"^  (?:-f, )?(--[a-z0-9-]+)", text, re.M))


SERVER = flags_of(duepost_run("--help"))
COMMANDS = {name: flags_of(duepost_run(name, "-h")) for name in re.findall(r"^  ([a-z]\S*) ", duepost_run("help"), re.M)}
COMMANDS["check"] |= SERVER
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def scripts():
    place = scratch.directory("completion")
    for shell in SHELLS:
        (place / shell).write_text(duepost_run("completion", shell))
    return place


def bash(scripts, *words):
    """Completes the last word as bash does: with its own function and variables."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _duepost duepost "${@: -1}" "${@: -2:1}"; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-uc", script, "bash", scripts / "bash", "duepost", *words], capture_output=True, text=True, cwd=scripts, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def fish(scripts, line):
    done = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', str(scripts / "fish"), line], capture_output=True, text=True,
                          check=True, cwd=scripts, env=duepost.environment({"HOME": str(scripts), "TERM": "dumb"}))
    return [each.split("\t")[0] for each in done.stdout.splitlines()]


def zsh(scripts, *words):
    """Returns the arguments with which the function for zsh calls zsh's own functions for descriptions and options."""
    script = 'compdef() { }; _describe() { print -rl -- ${(P)4} }; _arguments() { print -rl -- "$@" }; source $1; shift; words=(duepost "$@"); CURRENT=$#words; _duepost; true'
    done = subprocess.run(["zsh", "-fc", script, "zsh", scripts / "zsh", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.splitlines()


def zsh_flags(scripts, *words):
    return {flag for line in zsh(scripts, *words) for flag in re.findall(r"^\*(--[a-z0-9-]+)\[", line)}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_reads_its_file(scripts, shell):
    done = subprocess.run([shell, "-n", scripts / shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_zsh_finds_the_function(scripts):
    (scripts / "_duepost").write_text((scripts / "zsh").read_text())
    done = subprocess.run(["zsh", "-fc", f"fpath=({scripts} $fpath); autoload -Uz compinit; compinit -D -u; print -r -- $_comps[duepost]; source {scripts}/zsh; whence -w _duepost"],
                          capture_output=True, text=True, check=False, env=duepost.environment({"HOME": str(scripts), "TERM": "dumb"}))
    assert done.stdout.split("\n")[:2] == ["_duepost", "_duepost: function"], done.stderr


def test_commands(scripts):
    assert set(bash(scripts, "")) == set(COMMANDS) == set(fish(scripts, "duepost "))
    assert bash(scripts, "sche") == ["schedule", "schedules"] and fish(scripts, "duepost sche") == ["schedule", "schedules"]
    assert set(bash(scripts, "help", "")) == set(COMMANDS) == {line.partition(":")[0] for line in zsh(scripts, "")}


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_a_command(scripts, command):
    assert set(bash(scripts, command, "--")) == COMMANDS[command] == zsh_flags(scripts, command, "--")
    assert {each for each in fish(scripts, f"duepost {command} --") if each.startswith("--")} == COMMANDS[command]


def test_options_of_the_server(scripts):
    assert set(bash(scripts, "--")) == SERVER == zsh_flags(scripts, "--") and bash(scripts, "--listen", "x", "--durab") == ["--durability"]
    assert {each for each in fish(scripts, "duepost --")} >= SERVER


def test_values(scripts):
    (scripts / "a file.yaml").write_text("")
    for words, expected in [(["--clock", ""], ["redis", "manual"]), (["--share-port", "o"], ["on", "off"]), (["apply", "-f", "a"], ["a file.yaml"]),
                            (["schedule", "orders", "--body-file", "a f"], ["a file.yaml"]), (["schedule", "orders", "--delay", ""], []), (["why", ""], []),
                            (["history", ""], ["export", "stats", "delete"]), (["schedules", "s"], ["set", "show"]), (["clock", ""], ["advance", "to", "until-idle"]),
                            (["token", ""], ["new"]), (["completion", ""], list(SHELLS)), (["nowhere", "--"], [])]:
        assert sorted(bash(scripts, *words)) == sorted(expected), words
    assert sorted(fish(scripts, "duepost --clock ")) == ["manual", "redis"]
    assert {"*--redis-ca[PEM file with the CAs that may issue Redis's certificate; default\\: the system's]:FILE:_files", "1:word:(export stats delete )"} <= {
        *zsh(scripts, "--"), *zsh(scripts, "history", "")}
    assert "a file.yaml" in " ".join(fish(scripts, "duepost apply -f a")).replace("\\", "")


def test_another_shell_is_refused():
    done = subprocess.run([duepost.BINARY, "completion", "csh"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected bash, zsh or fish" in done.stderr


# ---- the manual page ----

def test_the_manual_page_has_each_command_and_option():
    source = duepost_run("--print-man")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=100n", "-P-cbou"], input=source, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    text = done.stdout
    sections = re.findall(r"^[A-Z ]+$", text, re.M)
    assert sections == ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "ENVIRONMENT", "FILES", "EXIT STATUS", "SEE ALSO"]
    for command, flags in COMMANDS.items():
        part = re.search(rf"^   duepost {command}\b.*?(?=^   duepost |^[A-Z])", text, re.M | re.S)[0]
        own = flags - {"--json", "--server", "--token-file", "--ca-file"} - (SERVER if command == "check" else set())
        assert {flag for flag in own if not re.search(rf"^ +(-f, )?{flag}\b", part, re.M)} == set()
    options = text[text.index("\nOPTIONS\n"):]
    assert {flag for flag in SERVER if not re.search(rf"^ +{flag}\b", options, re.M)} == set()
    assert "'30 4 * * *'" in text and "duepost-" not in source.split(".TH")[0]


def test_the_manual_page_does_not_depend_on_the_configuration():
    done = subprocess.run([duepost.BINARY, "--print-man"], capture_output=True, text=True, env=duepost.environment({"DUEPOST_MAX_BODY": "nonsense"}), check=False)
    assert done.returncode == 0 and done.stdout == duepost_run("--print-man")
