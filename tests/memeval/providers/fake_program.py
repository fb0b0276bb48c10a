"""A memory system as a program: stores items in a file and finds them by shared words. Its first argument makes it misbehave."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

FOREVER = 600


def main(fault: str) -> None:
    """Answer requests until standard input ends."""
    folder = Path()
    print("ready", file=sys.stderr, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        do = request["do"]
        if do == "open":
            folder = Path(request["folder"])
        trouble(fault, do)
        reply = {"ok": ANSWERS.get(do, lambda *_: {})(folder, request)}  # type: ignore[no-untyped-call]
        if fault == "bare" and do != "search":
            reply = {"ok": True}
        if fault == f"refuse-{do}":
            reply = {"error": "no room", "transient": True}
        print(json.dumps({"id": request["id"] + (fault == f"other-{do}"), **reply}), flush=True)


def trouble(fault: str, do: str) -> None:
    if fault == f"crash-{do}":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if fault == f"hang-{do}":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(FOREVER)
    if fault == f"chatter-{do}":
        print("Loading weights: 100%", flush=True)


def add(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    path = folder / f"{request['scope']}.json"
    kept = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([*kept, *request["items"]]))
    return {"kept": len(request["items"])}


def search(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    path = folder / f"{request['scope']}.json"
    wanted = set(request["query"].lower().strip("?").split())
    items = json.loads(path.read_text()) if path.exists() else []
    found = [{"id": item["id"], "score": len(wanted & set(item["text"].lower().split()))} for item in items]
    return {"found": sorted(found, key=lambda one: -one["score"])[: request["k"]]}


def clear(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    (folder / f"{request['scope']}.json").unlink(missing_ok=True)
    return {}


def info(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    return {"versions": {"fake": "1.0"}, "files": len(list(folder.glob("*.json")))}


ANSWERS = {
    "add": add,
    "search": search,
    "clear": clear,
    "info": info,
}

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
