"""The hub's API as far as an upload of a Space asks for it, on this machine; huggingface_hub itself talks to it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_of_the_tests_alone"


class Hub(ThreadingHTTPServer):
    """spaces: name -> {"private": …, "tags": […], "files": {path: bytes}}."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spaces: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.authorization: set[str | None] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def answer(self, body: bytes) -> None:
        hub, path = self.server, self.path.split("?")[0]
        hub.asked.append(f"{self.command} {path}")
        hub.authorization.add(self.headers.get("Authorization"))
        name = "/".join(path.split("/")[3:5])
        if path == "/api/whoami-v2":
            self.give({"name": "me", "type": "user", "orgs": []})
        elif path == "/api/repos/create":
            wish = json.loads(body)
            name = f"{wish.get('organization') or 'me'}/{wish['name']}"
            assert (wish["type"], wish["sdk"]) == ("space", "static")
            private = wish.get("private", wish.get("visibility") == "private")
            hub.spaces.setdefault(name, {"private": private, "tags": [], "files": {}})
            self.give({"url": f"{hub.address}/spaces/{name}", "name": name})
        elif path == "/api/validate-yaml":
            self.give({"errors": [], "warnings": []})
        elif name not in hub.spaces:
            self.give({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        elif "/preupload/" in path:
            files = json.loads(body)["files"]
            modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            self.give({"files": modes})
        elif "/commit/" in path:
            space = hub.spaces[name]
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    space["files"][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    space["files"].pop(line["value"]["path"])
            self.give({"commitUrl": f"{hub.address}/spaces/{name}/commit/{'0' * 40}", "commitOid": "0" * 40})
        elif "/tree/" in path:
            self.give(
                [{"type": "file", "path": p, "size": len(b), "oid": "0"} for p, b in hub.spaces[name]["files"].items()]
            )
        else:
            space = hub.spaces[name]
            siblings = [{"rfilename": file} for file in space["files"]]
            fields = {"private": space["private"], "tags": space["tags"], "sha": "0" * 40, "siblings": siblings}
            self.give({"id": name, "_id": "0", "sdk": "static", "likes": 0, **fields})

    def give(self, fields: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(fields).encode()
        self.send_response(status)
        for header, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
