"""The hosted APIs in memory, as described in their documentation: ids, states, filters and formats of answers."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

from tests.memeval.providers.fake_api import Asked, Behaviour, Reply

KEY = "secret-key"


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2}


def ranked(query: str, items: list[dict[str, Any]], text: Callable[[dict[str, Any]], str]) -> list[tuple[dict[str, Any], float]]:
    scored = [(item, len(words(query) & words(text(item))) / max(1, len(words(query)))) for item in items]
    return sorted((pair for pair in scored if pair[1] > 0), key=lambda pair: -pair[1])


def guarded(header: str, value: str, behaviour: Behaviour) -> Behaviour:
    """Return 401 for all other clients."""

    def answer(asked: Asked) -> Reply:
        if asked.headers.get(header) != value:
            return Reply({"error": "Unauthorized"}, 401)
        return behaviour(asked)

    return answer


class Supermemory:
    """Documents are `queued`, then `done` after `polls` requests of their state. Only then can they be found."""

    def __init__(self, polls: int = 2, fails: bool = False) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.polls = polls
        self.fails = fails

    def __call__(self, asked: Asked) -> Reply:
        if (asked.method, asked.path) == ("POST", "/v3/documents"):
            return self.add(asked.body)
        if asked.method == "GET" and asked.path.startswith("/v3/documents/"):
            return self.status(asked.path.rpartition("/")[2])
        if (asked.method, asked.path) == ("POST", "/v4/search"):
            return self.search(asked.body)
        if (asked.method, asked.path) == ("DELETE", "/v3/documents/bulk"):
            tags = asked.body["containerTags"]
            gone = [id for id, document in self.documents.items() if document["containerTag"] in tags]
            for id in gone:
                del self.documents[id]
            return Reply({"success": True, "deletedCount": len(gone)})
        return Reply({"error": "not found"}, 404)

    def add(self, body: dict[str, Any]) -> Reply:
        same = [id for id, document in self.documents.items() if document["customId"] == body["customId"]]
        id = same[0] if same else uuid.uuid4().hex
        self.documents[id] = {**body, "id": id, "left": self.polls}
        return Reply({"id": id, "status": "queued"})

    def status(self, id: str) -> Reply:
        document = self.documents[id]
        document["left"] -= 1
        state = "done" if document["left"] <= 0 else "indexing"
        return Reply({"id": id, "status": "failed" if self.fails else state})

    def search(self, body: dict[str, Any]) -> Reply:
        if body["limit"] > 100:
            return Reply({"error": "limit is at most 100"}, 400)
        ready = [d for d in self.documents.values() if d["left"] <= 0 and d["containerTag"] == body["containerTag"]]
        results = [
            {
                "id": d["id"],
                "chunk": d["content"],
                "similarity": score,
                "metadata": d["metadata"],
                "updatedAt": "2024-01-01T00:00:00Z",
            }
            for d, score in ranked(body["q"], ready, lambda d: d["content"])
        ]
        return Reply({"results": results[: body["limit"]], "total": len(results), "timing": 3})


class Mem0:
    """Adding returns an event. The memories are available once it has succeeded."""

    def __init__(self) -> None:
        self.memories: list[dict[str, Any]] = []
        self.events: dict[str, dict[str, Any]] = {}

    def __call__(self, asked: Asked) -> Reply:
        route = (asked.method, asked.path)
        if route == ("POST", "/v3/memories/add/"):
            id = str(uuid.uuid4())
            self.events[id] = {"id": id, "status": "PENDING", "body": asked.body}
            return Reply({"message": "queued", "status": "PENDING", "event_id": id})
        if asked.method == "GET" and asked.path.startswith("/v1/event/"):
            return self.event(self.events[asked.path.split("/")[3]])
        if route == ("POST", "/v3/memories/search/"):
            mine = [m for m in self.memories if m["user_id"] == asked.body["filters"]["user_id"]]
            found = ranked(asked.body["query"], mine, lambda m: m["memory"])[: asked.body["top_k"]]
            return Reply({"results": [{**memory, "score": score} for memory, score in found]})
        if route == ("DELETE", "/v1/memories/"):
            self.memories = [m for m in self.memories if m["user_id"] != asked.query["user_id"][0]]
            return Reply({"message": "Memories deleted successfully!"})
        return Reply({"detail": "Not found."}, 404)

    def event(self, event: dict[str, Any]) -> Reply:
        if event["status"] == "PENDING":
            event["status"] = "RUNNING"
        elif event["status"] == "RUNNING":
            event["status"] = "SUCCEEDED"
            body = event["body"]
            for message in body["messages"]:
                self.memories.append(
                    {
                        "id": str(uuid.uuid4()),
                        "memory": message["content"],
                        "user_id": body["user_id"],
                        "metadata": body["metadata"],
                        "created_at": "2024-01-01T00:00:00Z",
                    }
                )
        return Reply({"id": event["id"], "event_type": "ADD", "status": event["status"]})


class Letta:
    """Archives with passages."""

    def __init__(self) -> None:
        self.archives: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, asked: Asked) -> Reply:
        if (asked.method, asked.path) == ("POST", "/v1/archives/"):
            id = f"archive-{uuid.uuid4()}"
            self.archives[id] = []
            return Reply({"id": id, "name": asked.body["name"]})
        if asked.method == "POST" and asked.path.endswith("/passages/batch"):
            archive = self.archives[asked.path.split("/")[3]]
            added = [{**passage, "id": f"passage-{uuid.uuid4()}"} for passage in asked.body["passages"]]
            archive += added
            return Reply(added)
        if (asked.method, asked.path) == ("POST", "/v1/passages/search"):
            if asked.body["limit"] > 100:
                return Reply({"detail": [{"type": "less_than_equal", "loc": ["body", "limit"]}]}, 422)
            found = ranked(asked.body["query"], self.archives[asked.body["archive_id"]], lambda p: p["text"])
            return Reply([{"passage": p, "score": score, "metadata": {}} for p, score in found][: asked.body["limit"]])
        if asked.method == "DELETE" and self.archives.pop(asked.path.split("/")[3], None) is not None:
            return Reply(None, 204)
        return Reply({"detail": "not found"}, 404)


class Zep:
    """Graphs of episodes. Each episode becomes one fact once it is processed."""

    def __init__(self) -> None:
        self.graphs: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, asked: Asked) -> Reply:
        route = (asked.method, asked.path)
        if route == ("POST", "/api/v2/graph/create"):
            self.graphs[asked.body["graph_id"]] = []
            return Reply({"graph_id": asked.body["graph_id"], "uuid": str(uuid.uuid4())}, 201)
        if route == ("POST", "/api/v2/graph"):
            episode = {"uuid": str(uuid.uuid4()), "content": asked.body["data"], "processed": False, "asked": 0}
            self.graphs[asked.body["graph_id"]].append(episode)
            return Reply(episode, 202)
        if asked.method == "GET" and asked.path.startswith("/api/v2/graph/episodes/"):
            episode = next(e for es in self.graphs.values() for e in es if e["uuid"] == asked.path.rpartition("/")[2])
            episode["asked"] += 1
            episode["processed"] = episode["asked"] >= 2
            return Reply(episode)
        if route == ("POST", "/api/v2/graph/search"):
            if asked.body["limit"] > 50:
                return Reply({"message": "limit: at most 50"}, 400)
            ready = [e for e in self.graphs[asked.body["graph_id"]] if e["processed"]]
            found = ranked(asked.body["query"], ready, lambda e: e["content"])[: asked.body["limit"]]
            facts = [{"uuid": "edge", "fact": e["content"], "score": score, "episodes": [e["uuid"]]} for e, score in found]
            return Reply({"edges": facts})
        if asked.method == "DELETE" and self.graphs.pop(asked.path.rpartition("/")[2], None) is not None:
            return Reply({"message": "deleted"})
        return Reply({"message": "not found"}, 404)


class Chroma:
    """Collections of vectors. Answers are parallel lists, with one list for each query."""

    prefix = "/api/v2/tenants/default_tenant/databases/default_database/collections"

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, dict[str, Any]]] = {}
        self.ids: dict[str, str] = {}

    def __call__(self, asked: Asked) -> Reply:
        if asked.path == "/api/v2/heartbeat":
            return Reply({"nanosecond heartbeat": 1})
        if (asked.method, asked.path) == ("POST", self.prefix):
            id = self.ids.setdefault(asked.body["name"], str(uuid.uuid4()))
            self.collections.setdefault(id, {})
            return Reply({"id": id, "name": asked.body["name"]})
        last = asked.path.rpartition("/")[2]
        if last == "upsert":
            rows = self.collections[asked.path.split("/")[-2]]
            for id, *row in zip(*(asked.body[key] for key in ("ids", "embeddings", "documents", "metadatas")), strict=True):
                rows[id] = {"id": id, "embedding": row[0], "document": row[1], "metadata": row[2]}
            return Reply({}, 201)
        if last == "query":
            return self.query(self.collections[asked.path.split("/")[-2]], asked.body)
        if asked.method == "DELETE" and last in self.ids:
            del self.collections[self.ids.pop(last)]
            return Reply({})
        return Reply({"error": "NotFoundError"}, 404)

    def query(self, rows: dict[str, dict[str, Any]], body: dict[str, Any]) -> Reply:
        vector = body["query_embeddings"][0]
        near = [(1 - sum(a * b for a, b in zip(vector, row["embedding"], strict=True)), row) for row in rows.values()]
        near = sorted(near, key=lambda pair: pair[0])[: body["n_results"]]
        return Reply(
            {
                "ids": [[row["id"] for _, row in near]],
                "documents": [[row["document"] for _, row in near]],
                "metadatas": [[row["metadata"] for _, row in near]],
                "distances": [[distance for distance, _ in near]],
            }
        )


VENDORS: dict[str, tuple[Callable[[], Behaviour], str, str]] = {
    "supermemory": (lambda: guarded("Authorization", f"Bearer {KEY}", Supermemory()), "SUPERMEMORY", "SUPERMEMORY_API_KEY"),
    "mem0": (lambda: guarded("Authorization", f"Token {KEY}", Mem0()), "MEM0", "MEM0_API_KEY"),
    "letta": (lambda: guarded("Authorization", f"Bearer {KEY}", Letta()), "LETTA", "LETTA_API_KEY"),
    "zep": (lambda: guarded("Authorization", f"Api-Key {KEY}", Zep()), "ZEP", "ZEP_API_KEY"),
    "chroma": (lambda: Chroma(), "CHROMA", ""),
}
