"""A wire between the portal and PostgreSQL, which is cut when a COMMIT is on it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

# By this name clients find a server in the folder that is its host.
NAME = ".s.PGSQL.5432"
BUFFER_BYTES = 65_536
# The end of the text counts: a transaction also begins as READ COMMITTED.
COMMIT = b"COMMIT\0"

Cut = Literal["before", "after"]


class Proxy:
    """Passes everything on, until it is told to lose a COMMIT.

    :param folder: where clients find it.
    :param server: the folder where it finds the server.
    """

    def __init__(self, folder: Path, server: Path) -> None:
        self.next_cut: Cut | None = None
        """Whether the next COMMIT is lost before the server gets it, or only the answer to it."""
        self._server = str(server / NAME)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / NAME))
        self._listener.listen(50)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        end(self._listener)

    def take_cut(self) -> Cut | None:
        cut, self.next_cut = self.next_cut, None
        return cut

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            wire = Wire(self, client, server)
            for direction in (wire.pass_on, wire.pass_back):
                threading.Thread(target=direction, daemon=True).start()


@dataclass
class Wire:
    """One connection through the proxy."""

    proxy: Proxy
    client: socket.socket
    server: socket.socket
    loses_answer: bool = False

    def pass_on(self) -> None:
        with suppress(OSError):
            while data := self.client.recv(BUFFER_BYTES):
                cut = self.proxy.take_cut() if COMMIT in data else None
                if cut == "before":
                    break
                self.loses_answer |= cut == "after"
                self.server.sendall(data)
        self.cut()

    def pass_back(self) -> None:
        with suppress(OSError):
            while (data := self.server.recv(BUFFER_BYTES)) and not self.loses_answer:
                self.client.sendall(data)
        self.cut()

    def cut(self) -> None:
        end(self.client)
        end(self.server)


def end(end_of_wire: socket.socket) -> None:
    # The other direction may have been faster.
    with suppress(OSError):
        end_of_wire.shutdown(socket.SHUT_RDWR)
    end_of_wire.close()
