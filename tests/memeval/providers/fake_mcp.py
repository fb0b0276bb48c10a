"""A small MCP server over standard input and output: notes in a JSON file, found by common words.

Its first argument is the file. A second argument specifies a fault: `die` (ends at the second search), `hang` (never
answers a search), `text` (answers a search in plain words), `wrapped` (JSON within a text result), `broken` (every
search is a tool error), `silent` (ends without any output), `words` (a fault as plain words, not marked as one).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FILE = Path(sys.argv[1])
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
TEXT = {"type": "string"}
TOOLS = {
    "note": {"text": TEXT, "user": TEXT},
    "find": {"words": TEXT, "most": {"type": "integer"}, "user": TEXT},
    "drop": {"note": TEXT},
}


def words(text: str) -> set[str]:
    return {word.strip(".,?!:[]").lower() for word in text.split()}


def notes() -> list[dict[str, str]]:
    return json.loads(FILE.read_text()) if FILE.exists() else []


def call(tool: str, given: dict[str, Any]) -> tuple[Any, bool]:
    known = notes()
    if tool == "note":
        known.append({"id": f"n{len(known)}", "text": given["text"], "user": given.get("user", "")})
        FILE.write_text(json.dumps(known))
        return {"id": known[-1]["id"]}, False
    if tool == "drop":
        FILE.write_text(json.dumps([one for one in known if one["id"] != given["note"]]))
        return {"left": len(notes())}, False
    if FAULT == "broken":
        return "the index is gone", True
    if FAULT == "words":
        return "Error searching notes: no embedding model", False
    if FAULT == "die":
        counter = FILE.with_suffix(".asked")
        counter.write_text("x" * (len(counter.read_text()) + 1 if counter.exists() else 1))
        if len(counter.read_text()) == 2:
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(1)
    mine = [one for one in known if one["user"] == given.get("user", "")]
    found = sorted(
        ({**one, "score": len(words(one["text"]) & words(given["words"]))} for one in mine),
        key=lambda one: -one["score"],  # type: ignore[operator]
    )
    found = [] if "nothing at all" in given["words"] else found[: given["most"]]
    if FAULT == "text" and not found:
        return "No notes found.", False
    if FAULT == "text":
        return "\n".join(f"- {one['id']} ({one['score']:.2f}): {' '.join(one['text'].split())}" for one in found), False  # type: ignore[attr-defined]
    return {"notes": found}, False


def result(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object", "properties": args}} for name, args in TOOLS.items()]}
    if method == "tools/call":
        value, failed = call(params["name"], params["arguments"])
        text = value if isinstance(value, str) else json.dumps(value)
        structured = {"structuredContent": {"result": text}} if FAULT == "wrapped" else {}
        return {"content": [{"type": "text", "text": text}], "isError": failed, **structured}
    return None


def main() -> None:
    if FAULT == "silent":
        print("no licence", file=sys.stderr, flush=True)
        sys.exit(3)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        if FAULT == "hang" and asked.get("params", {}).get("name") == "find":
            continue
        answer = result(asked["method"], asked.get("params", {}))
        body = {"result": answer} if answer is not None else {"error": {"code": -32601, "message": "unknown method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **body}), flush=True)


main()
