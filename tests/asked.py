"""What the children of test_child are asked to do; `main` is theirs."""

import os
import signal
import sys
import time

told = []


def main():
    """Do what the request says and write what comes of it."""
    request = sys.stdin.buffer.read()
    what, _, rest = request.partition(b" ")
    told.append(what)
    if what == b"crash":
        os.abort()
    if what == b"interrupted":
        os.kill(os.getpid(), signal.SIGINT)
    if what == b"hang":
        time.sleep(60)
    if what == b"endless":
        while True:
            sys.stdout.buffer.write(b"x" * 65536)
    reply = {b"echo": lambda: rest, b"interrupted": lambda: rest, b"told": lambda: b",".join(told),
             b"listen": lambda: os.read(0, 100),
             b"open": lambda: str(len(os.listdir("/dev/fd"))).encode()}[what]()
    sys.stdout.buffer.write(reply)
    sys.stdout.buffer.flush()
    os._exit(3 if rest == b"three" else 0)
