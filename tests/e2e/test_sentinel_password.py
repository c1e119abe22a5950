"""Sentinels that ask for a password, and for a user, which are not those of Redis."""

import pytest

from duepost import run
from patience import until, watch
import scratch
from sentinels import Sentinels

REDIS_USER = ["--user", "duepost", "on", ">of-redis", "~*", "&*", "+@all"]


def write(file, password):
    file.write_text(f"{password}\n")
    file.chmod(0o600)
    return file


@pytest.fixture(name="file")
def file_fixture():
    return write(scratch.file("sentinel-password"), "of-sentinels")


@pytest.fixture(name="redis_options")
def redis_options_fixture():
    """Redis has a user and a password that are not valid at the Sentinels."""
    return ["--redis-password-file", str(write(scratch.file("redis-password"), "of-redis"))]


@pytest.fixture
def sentinels():
    group = Sentinels(options=REDIS_USER, lines=["requirepass of-sentinels"], login=["of-sentinels"])
    yield group
    group.stop()


@pytest.fixture
def sentinels_with_users():
    """duepost has its own user at the Sentinels. The other Sentinels and this test use the default user."""
    group = Sentinels(options=REDIS_USER, login=["of-sentinels"], lines=[
        "requirepass of-sentinels",
        "user duepost on >of-duepost resetchannels -@all +auth +ping +sentinel|master +sentinel|get-master-addr-by-name +sentinel|replicas"])
    yield group
    group.stop()


def address(group):
    return group.address.replace("sentinel://", "sentinel://duepost@")


def readyz(server):
    return server.get("/readyz").body.decode()


def await_ready(server):
    until(lambda: server.get("/readyz").status == 200, 20, lambda: readyz(server))


def restart(group):
    for sentinel in group.sentinels:
        sentinel.stop()
        sentinel.start()
    until(lambda: all(sentinel.knows(2, 3) for sentinel in group.sentinels), 30, "Sentinels know each other")


def delivers(server, receiver, topic, job_id):
    server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    server.wait_for_state(topic, job_id, None)


def test_a_failover_is_followed_with_the_password_of_the_sentinels(start, sentinels, redis_options, file, receiver, topic):
    server = start("--sentinel-password-file", str(file), *redis_options, "--durability", "replicated:1", redis=address(sentinels))
    delivers(server, receiver, topic, "a")
    old = sentinels.primary()
    sentinels.fail_over()
    until(lambda: sentinels.primary() is not old, 20, "another primary")
    sentinels.await_whole()
    await_ready(server)
    delivers(server, receiver, topic, "b")
    assert "of-sentinels" not in server.log() and "of-redis" not in server.log()


def test_a_user_of_the_sentinels_needs_few_rights(start, sentinels_with_users, redis_options, file, receiver, topic):
    write(file, "of-duepost")
    server = start("--sentinel-user", "duepost", "--sentinel-password-file", str(file), *redis_options, redis=address(sentinels_with_users))
    delivers(server, receiver, topic, "a")
    for sentinel in sentinels_with_users.sentinels:
        assert b"user=duepost" in sentinel.ask("CLIENT", "LIST")
    assert "sentinel_refuses" not in server.log()


@pytest.mark.parametrize("password", [None, "of-redis"])
def test_a_refusal_of_the_sentinels_says_which_option_to_set(start, sentinels, redis_options, file, password):
    options = ["--sentinel-password-file", str(write(file, password))] if password else []
    server = start(*options, *redis_options, "--reactors", "1", redis=address(sentinels), ready=False)
    word = "WRONGPASS" if password else "NOAUTH"
    until(lambda: word in readyz(server) and "sentinel-password-file" in readyz(server), 10, lambda: readyz(server))
    logged = 2 * len(sentinels.sentinels)  # twice for each Sentinel: at the start, and later from the reactor
    until(lambda: server.log().count("event=sentinel_refuses") == logged, 10, server.log)
    watch(2, lambda: server.log().count("event=sentinel_refuses") == logged, "each refusal is logged once")
    result = run("check", *options, *redis_options, "--redis", address(sentinels), "--listen", "127.0.0.1:0", seconds=30)
    assert result.returncode == 1 and word in result.stdout, result.stdout


def test_sentinels_without_a_password_refuse_one(start, redis_options, file):
    group = Sentinels(options=REDIS_USER)
    try:
        server = start("--sentinel-password-file", str(file), *redis_options, redis=address(group), ready=False)
        until(lambda: "without any password configured" in readyz(server), 10, lambda: readyz(server))
    finally:
        group.stop()


def test_a_service_that_no_sentinel_knows_is_named(start, sentinels, redis_options, file):
    elsewhere = address(sentinels).replace("/main", "/elsewhere")
    server = start("--sentinel-password-file", str(file), *redis_options, redis=elsewhere, ready=False)
    until(lambda: "No such master" in readyz(server), 10, lambda: readyz(server))


def test_sighup_reads_the_password_again(start, sentinels, redis_options, file, receiver, topic):
    write(file, "old")
    server = start("--sentinel-password-file", str(file), *redis_options, redis=address(sentinels), ready=False)
    until(lambda: "WRONGPASS" in readyz(server), 10, lambda: readyz(server))
    write(file, "of-sentinels")
    server.reload()
    await_ready(server)
    file.write_text("two\nlines\n")
    server.reload("options_not_reloaded")
    restart(sentinels)
    old = sentinels.primary()
    until(lambda: sentinels.sentinels[0].ask("SENTINEL", "FAILOVER", "main").startswith(b"+OK"), 20, "replicas that are good enough")
    until(lambda: sentinels.primary() is not old, 20, "another primary")
    until(lambda: server.log().count("event=redis_primary") >= 2, 20, server.log)
    await_ready(server)
    delivers(server, receiver, topic, "a")


def test_the_password_of_another_user_is_not_shown_to_the_sentinels(start, sentinels_with_users, redis_options, file):
    """The configuration gets another user, which needs a restart. The file may have the new user's password
    already."""
    configuration = scratch.file("conf")
    configuration.write_text(f"redis = {address(sentinels_with_users)}\nsentinel-user = duepost\n")
    write(file, "of-duepost")
    server = start("--config", str(configuration), "--sentinel-password-file", str(file), *redis_options, redis=None, extra={})
    configuration.write_text(configuration.read_text().replace("sentinel-user = duepost", "sentinel-user = other"))
    write(file, "of-other")
    server.reload("options_need_a_restart")
    lost = server.log().count("event=sentinel_lost")
    restart(sentinels_with_users)
    until(lambda: server.log().count("event=sentinel_lost") >= lost + 3, 20, server.log)
    until(lambda: all(b"user=duepost" in sentinel.ask("CLIENT", "LIST") for sentinel in sentinels_with_users.sentinels), 20,
          "connections with the old password")
    assert "WRONGPASS" not in server.log()


def test_options_that_cannot_be_used_end_the_start(file):
    sentinels = ["--redis", "sentinel://127.0.0.1:1/main"]
    for options, words in (
            (["--sentinel-password-file", str(file)], "--sentinel-password-file: needs Sentinels"),
            (["--sentinel-user", "u", "--redis", "redis://127.0.0.1:1"], "--sentinel-user: needs Sentinels"),
            (["--sentinel-password-file", str(file), "--redis", "cluster://127.0.0.1:1"], "--sentinel-password-file: needs Sentinels"),
            ([*sentinels, "--sentinel-user", "u"], "--sentinel-user: needs sentinel-password-file, too"),
            ([*sentinels, "--sentinel-password-file", "/nonexistent"], "No such file"),
            ([*sentinels, "--sentinel-password-file", "/dev/null"], "exactly one line: the password"),
    ):
        ended = run(*options)
        assert ended.returncode == 2 and words in ended.stderr, ended
