"""A fork server answers as fresh processes do, whatever its children do."""

import os
import signal

import pytest

from qafd.sandbox import ChildReply, ForkServer, ask


def test_no_child_knows_what_another_was_asked():
    with ForkServer("asked") as server:
        assert server.ask(b"echo secret", 100, 20.0) == ChildReply(b"secret", 0, False)
        assert server.ask(b"told", 100, 20.0).content == b"told"
        assert server.ask(b"listen", 100, 20.0) == ChildReply(b"", 0, False)
        assert int(server.ask(b"open", 100, 20.0).content) <= 4  # with the one that looks


def test_after_a_crash_a_hang_and_too_long_a_reply_the_next_is_answered():
    with ForkServer("asked") as server:
        assert server.ask(b"crash", 100, 20.0) == ChildReply(b"", -signal.SIGABRT, False)
        late = server.ask(b"hang", 100, 0.5)
        assert (late.content, late.late) == (b"", True)
        assert server.ask(b"endless", 1000, 20.0).content == b"x" * 1000
        big = os.urandom(3_000_000)
        assert server.ask(b"echo " + big, 4_000_000, 20.0) == ChildReply(big, 0, False)


def test_a_server_that_is_killed_is_started_again():
    with ForkServer("asked") as server:
        server.ask(b"echo a", 100, 20.0)
        running = server._server
        os.kill(running.pid, signal.SIGKILL)
        assert server.ask(b"echo b", 100, 20.0).content == b""
        assert server.ask(b"echo c", 100, 20.0) == ChildReply(b"c", 0, False)
    with pytest.raises(ChildProcessError):
        os.waitpid(running.pid, os.WNOHANG)


def test_what_a_terminal_sends_to_all_on_ctrl_c_reaches_no_child():
    assert ask("asked", b"interrupted a", 100, 20.0) == ChildReply(b"a", 0, False)
    with ForkServer("asked") as server:
        assert server.ask(b"interrupted b", 100, 20.0) == ChildReply(b"b", 0, False)
        running = server._server
        os.kill(running.pid, signal.SIGINT)
        assert server.ask(b"echo c", 100, 20.0).content == b"c"
        assert server._server is running
