"""The file of Redis's password changes while duepost runs."""

from patience import until, watch
import scratch


def write(file, password):
    file.write_text(f"{password}\n")
    file.chmod(0o600)


def with_file(redis, password):
    behind = redis(tcp=True, options=["--user", "duepost", "on", f">{password}", "~*", "&*", "+@all"])
    file = scratch.file("password")
    write(file, password)
    return behind, file, {"redis": f"redis://duepost@{behind.place}"}


def drop_connections(behind):
    behind.command("CLIENT", "KILL", "USER", "duepost")


def connections(behind):
    return behind.command("CLIENT", "LIST").count(b"user=duepost")


def test_new_connections_use_the_new_password(start, redis, receiver, topic):
    behind, file, address = with_file(redis, "first")
    server = start("--redis-password-file", str(file), **address)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    behind.command("ACL", "SETUSER", "duepost", "resetpass", ">second")
    watch(1, lambda: server.get("/readyz").status == 200, "connections that Redis accepted go on")
    drop_connections(behind)
    until(lambda: "WRONGPASS" in server.get("/readyz").body.decode(), 20, lambda: server.get("/readyz").body)
    write(file, "second")
    server.reload()
    until(lambda: server.get("/readyz").status == 200, 20, lambda: server.get("/readyz").body)
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", None)
    assert "first" not in server.log() and "second" not in server.log()


def test_a_rotation_without_a_gap(start, redis, receiver, topic):
    behind, file, address = with_file(redis, "first")
    server = start("--redis-password-file", str(file), **address)
    behind.command("ACL", "SETUSER", "duepost", ">second")
    write(file, "second")
    server.reload()
    behind.command("ACL", "SETUSER", "duepost", "<first")
    drop_connections(behind)
    until(lambda: connections(behind) >= 5 and server.get("/readyz").status == 200, 20, lambda: server.get("/readyz").body)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    assert "WRONGPASS" not in server.log()


def test_a_file_that_cannot_be_used_leaves_the_old_password(start, redis):
    behind, file, address = with_file(redis, "first")
    server = start("--redis-password-file", str(file), **address)
    for content in ("", "two\nlines\n"):
        file.write_text(content)
        server.reload("options_not_reloaded")
        assert "exactly one line: the password" in server.log()
    file.unlink()
    server.reload("options_not_reloaded")
    drop_connections(behind)
    until(lambda: connections(behind) >= 5 and server.get("/readyz").status == 200, 20, lambda: server.get("/readyz").body)


def test_a_file_that_others_may_read_is_a_warning_each_time(start, redis):
    _, file, address = with_file(redis, "first")
    server = start("--redis-password-file", str(file), **address)
    assert "may read the file of redis-password-file" not in server.log()
    file.chmod(0o644)
    server.reload()
    until(lambda: "every user of this host may read the file of redis-password-file; chmod o-r it" in server.log(), 5, server.log)


def test_the_password_of_another_redis_is_not_shown_to_this_one(start, redis):
    """The configuration gets the address of another Redis, which needs a restart. The file may have the other Redis's
    password already. duepost must not send this password to the old Redis."""
    behind, file, address = with_file(redis, "first")
    configuration = scratch.file("conf")
    configuration.write_text(f"redis = {address['redis']}\n")
    server = start("--config", str(configuration), "--redis-password-file", str(file), redis=None, extra={})
    configuration.write_text("redis = redis://duepost@elsewhere.example\n")
    write(file, "of elsewhere")
    server.reload("options_need_a_restart")
    server.reload()
    drop_connections(behind)
    until(lambda: connections(behind) >= 5 and server.get("/readyz").status == 200, 20, lambda: server.get("/readyz").body)
