"""The calls that find and change memories: one implementation for MCP, CLI and console.

Each takes Params and gives plain values. `project` names a project by id or name; "all" means
every project; absent means the project of `cwd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryd.api.limits import MODEL_CONFIDENCE, model_changes, model_tags
from memoryd.api.params import Params
from memoryd.clock import from_iso, to_iso
from memoryd.codec import hit_to_dict, is_id, item_to_dict
from memoryd.config import Settings
from memoryd.daydream.keeping import Keeper
from memoryd.daydream.reconcile import Action
from memoryd.daydream.redact import left_out, redact, says_something
from memoryd.errors import ConflictError, InputError, NotFoundError
from memoryd.project import ProjectRegistry
from memoryd.protocols import Clock
from memoryd.recall.fence import harmless, who_said
from memoryd.recall.inject import Injector
from memoryd.recall.selection import divide, handoffs_for
from memoryd.service import Orchestrator
from memoryd.state import Handoff
from memoryd.stores.browse import key_of, parse_key
from memoryd.text import one_line, visible
from memoryd.types import (
    HIDDEN_TAG,
    Backend,
    Candidate,
    Hit,
    Kind,
    LinkType,
    MemoryItem,
    Passage,
    Polarity,
    Query,
    Related,
    Scope,
    Source,
    Status,
)

ALL = "all"
FOUND, UNSURE, NOTHING = "found", "nothing sure; these may bear on it", "nothing relevant"
ASKED_STATUSES = (Status.ACTIVE, Status.CANDIDATE)
RELATED_ENTITY_SEEDS = 5
MOST_KEYS = 6
MAX_KEY = 200
MOST_HANDOFFS = 3
_STATUS_OF_ACTION = {
    Action.NEW: "new",
    Action.CONTRADICTS: "new",
    Action.KNOWN: "known",
    Action.REFUSED: "refused",
    Action.SUPERSEDES: "superseded",
    Action.CONFIRMS: "new",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a person at a terminal, or a model over MCP, which may do less."""

    is_model: bool
    cwd: str = ""


class MemoryCalls:
    """recall, remember, get, update, forget, related, timeline, list, governance."""

    def __init__(
        self, service: Orchestrator, injector: Injector, registry: ProjectRegistry, settings: Settings, clock: Clock
    ) -> None:
        self._service = service
        self._injector = injector
        self._registry = registry
        self._settings = settings
        self._clock = clock
        self._keeper = Keeper(service, clock)

    # Scope of a call

    def project_of(self, params: Params, caller: Caller) -> str | None:
        """The project id that a call is about; None for all of them."""
        named = params.text("project")
        if named == ALL:
            return None
        if named:
            found = self._registry.find(named) or self._known_from_files(named)
            if found is None:
                known = ", ".join(sorted(self._registry.known())) or "none yet"
                raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix=f"Known ids: {known}.")
            return found
        return self._registry.resolve(caller.cwd).id if caller.cwd else None

    def _known_from_files(self, project: str) -> str | None:
        """A project that no session has been seen of, but whose memories lie in the folder (a restored backup)."""
        theirs = Query(project=project, scopes=(Scope.PROJECT, Scope.TEAM), statuses=tuple(Status))
        return project if self._service.search(theirs, 1) else None

    def _query(self, params: Params, caller: Caller, text: str = "") -> Query:
        valid_at, valid_until = params.day_or_moment("valid_at")
        return Query(
            text=text,
            project=self.project_of(params, caller),
            scopes=params.choices("scope", Scope),
            kinds=params.choices("kinds", Kind),
            sources=params.choices("sources", Source),
            tags=params.texts("tags"),
            session=params.text("session") or None,
            as_of=params.moment("as_of"),
            valid_at=valid_at,
            valid_until=valid_until,
            created_after=params.moment("after"),
            created_before=params.moment("before"),
            now=self._clock.now(),
        )

    # Finding

    def recall(self, params: Params, caller: Caller) -> dict[str, Any]:
        """The memories that answer a question, and behind them, marked as unsure, the best that may bear on it.

        Who asks also gets candidates, which nobody has confirmed. With `weak` all below the floor comes in a list of its own.
        """
        text = params.required("query")
        k = params.count("k", 8, low=1, high=50)
        query = self._query(params, caller, text)
        query = replace(query, backend=params.choice("backend", Backend), statuses=ASKED_STATUSES)
        if params.flag("include_old"):
            query = replace(query, statuses=(*ASKED_STATUSES, Status.SUPERSEDED))
        if params.has("status"):
            query = replace(query, statuses=_statuses(params.text("status")))
        weak = params.flag("weak")
        plain = not any(map(params.has, ("backend", "kinds", "sources", "tags", "status", "as_of", "valid_at", "include_old")))
        params.done()
        handoffs = self._handoffs_for(query) if plain else []
        route, hits = self._service.explain(query, k)
        # Who asks the graph by name wants what is linked with the query's words; the floor can't judge what shares none of them.
        linked = route.backend is Backend.GRAPH and route.rule in ("given", "relationship_flag")
        sure, unsure = (hits, []) if linked else divide(text, hits, self._settings.floor)
        below = [hit for hit in hits if hit not in sure]
        shown = [self._hit(hit) for hit in sure]
        if not weak:
            shown += [self._hit(hit) | {"unsure": True} for hit in unsure]
        return {
            "answer": FOUND if sure or handoffs else UNSURE if shown else NOTHING,
            **({"handoffs": handoffs} if handoffs else {}),
            "hits": shown,
            **({"weak": [self._hit(hit) for hit in below]} if weak else {}),
            "route": {"backend": route.backend.value, "rule": route.rule, "reason": route.reason},
            "left_out": 0,
            "below_floor": len(below),
        }

    def _handoffs_for(self, query: Query) -> list[dict[str, str]]:
        """Where sessions left off, if the question asks for that and not for something else or in every project."""
        if query.project is None:
            return []
        known = [
            handoff
            for handoff in self._injector.handoffs(query.project)
            if query.session in (None, handoff.session)
            and (query.created_after is None or from_iso(handoff.at) >= query.created_after)
            and (query.created_before is None or from_iso(handoff.at) < query.created_before)
        ]
        return [_handoff(one) for one in handoffs_for(query.text, known, self._clock.now(), MOST_HANDOFFS)]

    def _hit(self, hit: Hit) -> dict[str, Any]:
        values = hit_to_dict(hit)
        return {**brief(hit.item), **{name: values[name] for name in ("score", "relevancy", "backend", "parts")}}

    def get_memory(self, params: Params, caller: Caller) -> dict[str, Any]:
        """One memory with everything known about it."""
        item = self._service.require(params.id())
        params.done()
        digest = self._service.markdown.fingerprint(item.id)
        return {"memory": {**item_to_dict(item), "who": who_said(item)}, "path": self._path(item.id), "digest": digest}

    def _path(self, id: str) -> str:
        path = self._service.markdown.path_of(id)
        return str(path) if path else ""

    def list_memories(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Memories by filter, newest first, a page at a time.

        `next` is the `cursor` of the next page, empty on the last; unlike an `offset` it costs the same on every page.
        """
        limit = params.count("limit", 20, low=1)
        offset = params.count("offset", 0, high=1_000_000)
        cursor = params.text("cursor", limit=100)
        status = params.text("status")
        query = replace(self._query(params, caller), statuses=_statuses(status))
        params.done()
        found = self._service.markdown.page(query, offset + limit + 1, parse_key(cursor) if cursor else None)[offset:]
        shown = found[:limit]
        total = self._service.count(query)
        return {
            "memories": [brief(item) for item in shown],
            "total": total,
            "left_out": max(0, total - offset - len(shown)),
            "next": key_of(shown[-1]).to_text() if len(found) > limit else "",
        }

    def related(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What is linked with a memory, or with an entity such as a file or command."""
        id, entity = params.text("id"), params.text("entity")
        depth = params.count("depth", 2, low=1, high=4)
        types = params.choices("types", LinkType)
        k = params.count("k", 10, low=1, high=50)
        project = self.project_of(params, caller)
        params.done()
        if bool(id) == bool(entity):
            raise InputError("related: give either id or entity.", fix="Pass one of them.")
        found = (
            self._service.related(id, depth=depth, types=types, k=k)
            if is_id(id)
            else self._about(entity or id, project, depth, types, k)
        )
        return {"related": [_related(entry) for entry in found]}

    def _about(self, entity: str, project: str | None, depth: int, types: Sequence[LinkType], k: int) -> list[Related]:
        query = Query(text=entity, project=project, backend=Backend.GRAPH, now=self._clock.now())
        seeds = [hit for hit in self._service.search(query, k) if hit.backend is Backend.GRAPH]
        found = [Related(hit.item, hit.score, (entity, hit.item.id), LinkType.MENTIONS) for hit in seeds]
        for hit in seeds[:RELATED_ENTITY_SEEDS] if depth > 1 else []:
            found += self._service.related(hit.item.id, depth=depth - 1, types=types, k=k)
        best: dict[str, Related] = {}
        for entry in found:
            best.setdefault(entry.item.id, entry)
        return list(best.values())[:k]

    def timeline(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What memory learnt, replaced and forgot, newest first."""
        k = params.count("k", 20, low=1, high=200)
        topic = params.text("topic")
        after, before = params.moment("after"), params.moment("before")
        query = Query(text=topic, project=self.project_of(params, caller), statuses=tuple(Status), now=self._clock.now())
        params.done()
        items = [hit.item for hit in self._service.search(query, 10 * k)]
        events = [event for item in items for event in _events(item) if _within(event[0], after, before)]
        events.sort(key=lambda event: (event[0], event[2].id), reverse=True)
        shown = [{"at": to_iso(at), "change": change, **brief(item)} for at, change, item in events[:k]]
        return {"events": shown, "left_out": max(0, len(events) - len(shown))}

    def governance(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What the next session of the project is given at its start."""
        budget = params.count("budget", self._settings.session_budget, high=20_000)
        project = self.project_of(params, caller)
        params.done()
        if project is None:
            raise InputError("governance: which project?", fix="Pass project, or call from a project's folder.")
        chosen = self._injector.governance(project, budget)
        ids = {name: [item.id for item in getattr(chosen, name)] for name in ("know", "do", "dont")}
        answer = {"project": project, "text": chosen.text, "ids": ids, "tokens": chosen.tokens, "left_out": chosen.left_out}
        if caller.is_model:  # the text says it all
            return answer
        return answer | {"memories": {name: [brief(item) for item in getattr(chosen, name)] for name in ids}}

    def handoff(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Where the project's latest sessions left off: what was asked, done and left open. Texts are data."""
        project = self.project_of(params, caller)
        params.done()
        if project is None:
            raise InputError("handoff: which project?", fix="Pass project, or call from a project's folder.")
        found = self._injector.handoffs(project)
        return {"project": project, "handoffs": [_handoff(one) for one in found]}

    # Changing

    def remember(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Keep a statement, unless it is known, or was forgotten on purpose."""
        everywhere = Scope.USER if params.peek("project") == ALL else Scope.PROJECT
        kind = params.choice("kind", Kind, Kind.NOTE) or Kind.NOTE
        said = redact(params.required("content"))
        if said.found and not says_something(said.text):
            raise InputError("That is a secret and nothing else; nothing was kept.", fix="Keep secrets in a password store.")
        candidate = Candidate(
            content=said.text,
            kind=kind,
            polarity=params.choice("polarity", Polarity, Polarity.KNOW) or Polarity.KNOW,
            source=Source.AGENT_STEP if caller.is_model else Source.USER,
            confidence=MODEL_CONFIDENCE if caller.is_model else 0.95,
            tags=self._tags(params, caller),
            scope=params.choice("scope", Scope, everywhere) or everywhere,
            at=self._until_now(params.moment("valid_from")),
            reason="remembered on request",
            asked_as=keys_of(params),
        )
        pinned = params.flag("pinned")
        project = self.project_of(params, caller) or ""
        session = redact(params.text("session")).text or "manual"
        params.done()
        passage = Passage(turns=(), session=session, project=project, cwd=caller.cwd)
        outcome = self._keeper.keep(candidate, passage, pinned=pinned and not caller.is_model)
        return {
            "id": outcome.id,
            "status": _STATUS_OF_ACTION[outcome.action],
            "superseded": outcome.superseded or None,
            "reason": outcome.reason,
            "path": self._path(outcome.id),
            **left_out(said.found),
        }

    def _tags(self, params: Params, caller: Caller) -> tuple[str, ...]:
        tags = _redacted(params.texts("tags"))
        return model_tags(tags) if caller.is_model else tags

    def _until_now(self, moment: datetime | None) -> datetime | None:
        """What is said now is true from now on at the latest: a time ahead would make all that the user says older."""
        return None if moment is None else min(moment, self._clock.now())

    def update_memory(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Change a memory; a model may not reword what the user said, nor unpin.

        With `expect`, the `digest` that get_memory gave, nothing is written when the file has changed since.
        """
        expected = params.text("expect", limit=100)
        with self._service.writing():
            item = self._service.require(params.id())
            self._check_unchanged(item.id, expected)
            return self._update(item, params, caller)

    def _check_unchanged(self, id: str, expected: str) -> None:
        if not expected or self._service.markdown.fingerprint(id) == expected:
            return
        if path := self._service.markdown.path_of(id):
            self._service.sync([path])
        raise ConflictError(f"The file of {id} has changed since you saw it.", fix="Look at it again and repeat the change.")

    def _update(self, item: MemoryItem, params: Params, caller: Caller) -> dict[str, Any]:
        said = redact(params.text("content"))
        changes: dict[str, Any] = {
            "content": said.text or None,
            "kind": params.choice("kind", Kind),
            "polarity": params.choice("polarity", Polarity),
            "scope": params.choice("scope", Scope),
            "confidence": params.share("confidence"),
            "valid_to": params.moment("valid_to"),
            "tags": _redacted(params.texts("tags")) if params.has("tags") else None,
            "pinned": params.flag("pinned") if params.has("pinned") else None,
            "asked_as": keys_of(params) if params.has("asked_as") else None,
        }
        params.done()
        changes = {name: value for name, value in changes.items() if value is not None and value != getattr(item, name)}
        if caller.is_model:
            changes = model_changes(item, changes, self._clock.now())
        return {"memory": item_to_dict(self._change(item, changes)), "path": self._path(item.id), **left_out(said.found)}

    def _change(self, item: MemoryItem, changes: dict[str, Any]) -> MemoryItem:
        if "content" not in changes:
            return self._service.update(item.id, **changes) if changes else item
        if item.status is not Status.ACTIVE:  # a newer statement of what was forgotten would bring it back
            fix = f"Change what replaced it (memoryd why {item.id}), or bring it back first: memoryd restore {item.id}"
            raise InputError(f"{item.id} is not active.", fix=fix)
        now = self._clock.now()
        newer = replace(item, id="", created_at=now, valid_from=now, **changes)
        return self._service.require(self._service.supersede(item.id, newer))

    def forget(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Hide a memory for good and refuse copies of it; `restore` brings it back."""
        id, purge = params.id(), params.flag("purge")
        params.done()
        if purge and not caller.is_model:
            gone = self._service.purge(id)  # also what is kept about a memory whose file is gone already
            return {"id": id, "status": "purged", **({"earlier_wordings": gone[1:]} if gone[1:] else {})}
        item = self._service.require(id)
        if caller.is_model and (item.pinned or purge):
            raise InputError(f"{item.id} is kept by the user.", fix=f"The user can run: memoryd forget {item.id}")
        return {"id": item.id, "status": self._hide(item, caller).status.value}

    def _hide(self, item: MemoryItem, caller: Caller) -> MemoryItem:
        """A model hides from models: what the user says later, or had forgotten before, goes by the user's word."""
        by_user = item.status is Status.BLACKLISTED and HIDDEN_TAG not in item.tags
        if caller.is_model and by_user:
            return item
        with self._service.writing():
            hidden = self._service.forget(item.id)
            tags = tuple(tag for tag in hidden.tags if tag != HIDDEN_TAG)
            tags = (*tags, HIDDEN_TAG) if caller.is_model else tags
            return hidden if tags == hidden.tags else self._service.update(hidden.id, tags=tags)

    def restore(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Bring back a forgotten, superseded or deleted memory."""
        item = self._service.restore(params.id())
        params.done()
        return {"memory": item_to_dict(item), "path": self._path(item.id)}


def keys_of(params: Params, name: str = "asked_as") -> tuple[str, ...]:
    """Keys of a memory: a few short questions or tasks, on one line each, without secrets."""
    texts = params.texts(name)
    if len(texts) > MOST_KEYS:
        raise InputError(f"{name}: {len(texts)} entries are too many.", fix=f"Give about four, at most {MOST_KEYS}.")
    keys = [harmless(redact(one_line(text)[: 4 * MAX_KEY]).text[:MAX_KEY]) for text in texts]
    return tuple(dict.fromkeys(key for key in keys if key))


def _redacted(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(redact(text).text for text in texts)


def _statuses(text: str) -> tuple[Status, ...]:
    if text == ALL:
        return tuple(Status)
    if not text:
        return (Status.ACTIVE,)
    try:
        return (Status(text),)
    except ValueError as error:
        choices = ", ".join([*Status, ALL])
        raise InputError(f"status: '{text}' is not one of {choices}.", fix=f"Use one of: {choices}.") from error


def brief(item: MemoryItem) -> dict[str, Any]:
    """What a reader needs to judge a memory, without the bookkeeping."""
    values = item_to_dict(item)
    names = ("id", "content", "kind", "polarity", "scope", "project", "session", "source", "trust", "status")
    times = {name: values[name] for name in ("created_at", "valid_from", "valid_to", "expired_at") if values[name]}
    extras = {name: values[name] for name in ("tags", "pinned", "supersedes") if values[name]}
    return {name: values[name] for name in names} | {"who": who_said(item)} | times | extras


def _handoff(handoff: Handoff) -> dict[str, str]:
    return {"session": handoff.session, "at": handoff.at, "text": visible(handoff.text)}


def _related(entry: Related) -> dict[str, Any]:
    return {"via": entry.via.value, "path": list(entry.path), "score": round(entry.score, 4), "memory": brief(entry.item)}


def _events(item: MemoryItem) -> list[tuple[datetime, str, MemoryItem]]:
    out = [(item.created_at, "replaced an older one" if item.supersedes else "learnt", item)]
    if item.expired_at is not None:
        out.append((item.expired_at, "forgotten" if item.status is Status.BLACKLISTED else "no longer current", item))
    return out


def _within(moment: datetime, after: datetime | None, before: datetime | None) -> bool:
    return (after is None or moment >= after) and (before is None or moment < before)
