"""Measure recall, write rate and disk use of the Postgres store at growing sizes, with synthetic memories.

Run: python -m benchmarks.postgres --url postgres://owner@host/scratch --sizes 10000,100000,1000000

The database must be empty. Word frequencies follow Zipf's law, vectors form clusters, and the memories belong to
fifty projects. Rows are loaded with COPY. The vector index is built afterwards, as in `pg_restore`.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memoryd.core.codec import digest_of, item_to_dict, item_to_json
from memoryd.core.postgres import PostgresSession, vector_text
from memoryd.core.protocols import FloatArray
from memoryd.core.types import MemoryItem, Query, Scope
from memoryd.stores import memory_file
from memoryd.stores.postgres import COLUMNS, PostgresStore, PostgresVectors
from memoryd.stores.rows import seconds

DIMENSIONS = 384
WORDS = 30_000
LENGTH = 14
PROJECTS = 50
CLUSTERS = 2_000
QUERIES = 60
BATCH = 20_000
START = datetime(2024, 1, 1, tzinfo=UTC)
INDEX = "CREATE INDEX vectors_embedding_idx ON memoryd.vectors USING hnsw (embedding {schema}halfvec_cosine_ops)"


class Synthetic:
    """Reproducible texts and vectors. Also serves as the embedder, where a text determines the seed of its vector."""

    name = "synthetic"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        shares = 1 / np.arange(1, WORDS + 1)
        self._shares = np.cumsum(shares / shares.sum())
        self._centres = random.standard_normal((CLUSTERS, DIMENSIONS)).astype(np.float32)
        # Letters only, and no ending that the stemmer would strip.
        self.vocabulary = [_word(number) for number in range(WORDS)]

    def words(self, seed: int, rows: int, length: int = LENGTH) -> list[list[str]]:
        draws = np.random.default_rng(seed).random((rows, length))
        return [[self.vocabulary[n] for n in row] for row in np.searchsorted(self._shares, draws).clip(0, WORDS - 1)]

    def vectors(self, seed: int, rows: int) -> FloatArray:
        random = np.random.default_rng(seed + 1_000_000)
        centres = self._centres[random.integers(0, CLUSTERS, rows)]
        made = centres + random.standard_normal((rows, DIMENSIONS)).astype(np.float32) * np.float32(0.7)
        unit: FloatArray = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit

    def embed(self, texts: Sequence[str]) -> FloatArray:
        return np.concatenate([self.vectors(int.from_bytes(text.encode()[:6], "big") % 10**6, 1) for text in texts])

    embed_queries = embed


def _word(number: int) -> str:
    letters = ""
    for _ in range(4):
        number, rest = divmod(number, 20)
        letters += "bcdfghjklmnpqrtvwxz"[rest % 19] + "aou"[rest % 3]
    return letters + "k"


def rows(data: Synthetic, space: str, start: int, count: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows as written by the store, from one rendered file with its text replaced."""
    sample = MemoryItem(content="CONTENT", id="mem_ffffffffffff", project="PROJECT", created_at=START)
    markdown = memory_file.render(sample).decode()
    for number, words in enumerate(data.words(start, count), start):
        text, project = " ".join(words), f"project{number % PROJECTS}"
        item = replace(
            sample, content=text, id=f"mem_{number:012x}", project=project, created_at=START + timedelta(seconds=number)
        )
        plain = item_to_dict(item)
        places: dict[str, list[str]] = {}
        for place, word in enumerate(words, 1):
            places.setdefault(word, []).append(str(place))
        yield (
            space, item.id, item.kind.value, item.scope.value, project, item.session, item.source.value, item.status.value,
            seconds(item.created_at), None, None, None, [], digest_of(plain), item_to_json(item).decode(),
            markdown.replace("CONTENT", text).replace("mem_ffffffffffff", item.id).replace("PROJECT", project),
            " ".join(f"'{word}':{','.join(at)}" for word, at in places.items()), len(words), "benchmark",
        )  # fmt: skip


def load(store: PostgresStore, data: Synthetic, first: int, last: int) -> dict[str, float]:
    """Add memories up to `last` and rebuild the vector index."""
    space, begun = store._spaces[0], time.perf_counter()
    store.run(lambda session: session.execute("DROP INDEX IF EXISTS memoryd.vectors_embedding_idx"))
    for start in range(first, last, BATCH):
        count = min(BATCH, last - start)
        made = list(rows(data, space, start, count))
        vectors = zip(made, data.vectors(start, count), strict=True)
        embedded = [(space, row[1], 0, "", "benchmark", vector_text(vector)) for row, vector in vectors]
        store.run(lambda session, made=made, embedded=embedded: _copy(session, made, embedded))  # type: ignore[misc]
    loaded = time.perf_counter()
    store.run(_build_index)
    indexed = time.perf_counter()
    store.run(lambda session: session.execute("ANALYZE memoryd.memories"))
    store.run(lambda session: session.execute("ANALYZE memoryd.vectors"))
    return {"load_s": loaded - begun, "index_s": indexed - loaded, "rows": last - first}


def _copy(session: PostgresSession, made: Sequence[Sequence[Any]], embedded: Sequence[Sequence[Any]]) -> None:
    session.execute("SET LOCAL statement_timeout = 0")
    session.copy(f"COPY memoryd.memories ({', '.join(COLUMNS)}) FROM STDIN", made)
    session.copy("COPY memoryd.vectors (space, id, part, key, made_from, embedding) FROM STDIN", embedded)


def _build_index(session: PostgresSession) -> None:
    session.execute("SET LOCAL statement_timeout = 0")
    session.execute("SET LOCAL maintenance_work_mem = '3GB'")
    session.execute("SET LOCAL max_parallel_maintenance_workers = 2")
    session.execute(INDEX.format(schema=""))


def percentiles(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {name: round(1000 * ordered[math.ceil(share * len(ordered)) - 1], 2) for name, share in (("p50", 0.5), ("p95", 0.95))}


def timed(work: Callable[[int], object], count: int = QUERIES) -> dict[str, float]:
    times = []
    for number in range(count):
        begun = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - begun)
    return percentiles(times)


def measure(store: PostgresStore, vectors: PostgresVectors, data: Synthetic) -> dict[str, Any]:
    """Return the times of the store's queries for a recall, with a warm cache."""
    texts = [" ".join(words) for words in data.words(99, QUERIES, 5)]
    for text in texts:
        vectors.query_vector(text)

    def recall(number: int, project: str | None = None) -> None:
        query = Query(text=texts[number], project=project)
        found = [*store.scores(query, 100), *vectors.scores(query, 100)]
        ids = list(dict.fromkeys(found))
        store.fetch(ids, query)
        vectors.compare(query.text, ids)

    for number in range(20):
        recall(number)
    return {
        "words": timed(lambda n: store.scores(Query(text=texts[n]), 100)),
        "meaning": timed(lambda n: vectors.scores(Query(text=texts[n]), 100)),
        "recall": timed(recall),
        "recall_in_project": timed(lambda n: recall(n, f"project{n % PROJECTS}")),
        "get": timed(lambda n: store.get(f"mem_{n * 37:012x}")),
        "found_of_exact_10": _accuracy(store, vectors, texts[:30]),
    }


def _accuracy(store: PostgresStore, vectors: PostgresVectors, texts: Sequence[str]) -> float:
    sql = "SELECT id FROM memoryd.vectors WHERE space = ANY(%s) ORDER BY (embedding <=> %s::halfvec) + 0, id LIMIT 10"
    shares = []
    for text in texts:
        parameters = (store._spaces, vector_text(vectors.query_vector(text)))
        exact = {id for (id,) in store.run(lambda session, p=parameters: session.execute(sql, p))}  # type: ignore[misc]
        shares.append(len(exact & set(list(vectors.scores(Query(text=text), 10)))) / 10)
    return round(sum(shares) / len(shares), 3)


def write_rates(url: str, data: Synthetic, seconds_each: float = 5.0) -> dict[str, float]:
    """Return memories written per second, with vectors, by one writer, by eight writers, and in batches of 100."""
    out = {}
    for name, writers, batch in (("one", 1, 1), ("eight", 8, 1), ("batches_of_100", 1, 100)):
        counts = [0] * writers
        end = time.perf_counter() + seconds_each

        def write(writer: int, end: float = end, batch: int = batch, counts: list[int] = counts) -> None:
            with tempfile.TemporaryDirectory() as folder:
                store = PostgresStore(url, Path(folder))
                vectors = PostgresVectors(store, data, lambda _: None)
                while time.perf_counter() < end:
                    texts = data.words(1000 * writer + counts[writer], batch)
                    items = [MemoryItem(content=" ".join(words), scope=Scope.USER, created_at=START) for words in texts]
                    ids = store.write_many(items)
                    vectors.write_many([replace(item, id=id) for item, id in zip(items, ids, strict=True)])
                    counts[writer] += batch
                vectors.close()
                store.close()

        threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        out[name] = round(sum(counts) / seconds_each, 1)
    return out


def sizes(store: PostgresStore) -> dict[str, float]:
    """Return the megabytes of the database, of the rows, of their indexes, and of the vectors with their index."""
    part = "SELECT sum({function}(inhrelid))::float8 FROM pg_inherits WHERE inhparent = 'memoryd.{table}'::regclass"

    def megabytes(sql: str) -> float:
        return round(float(store.run(lambda session: session.value(sql)) or 0) / 1e6, 1)

    return {
        "database": megabytes("SELECT pg_database_size(current_database())"),
        "memories": megabytes(part.format(function="pg_table_size", table="memories")),
        "memory_indexes": megabytes(part.format(function="pg_indexes_size", table="memories")),
        "vectors": megabytes(part.format(function="pg_table_size", table="vectors")),
        "vector_indexes": megabytes(part.format(function="pg_indexes_size", table="vectors")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    data = Synthetic()
    with tempfile.TemporaryDirectory() as folder:
        store = PostgresStore(options.url, Path(folder))
        vectors = PostgresVectors(store, data, lambda _: None)
        held = store.size()
        results = []
        for size in map(int, options.sizes.split(",")):
            result: dict[str, Any] = {"size": size, "load": load(store, data, held, size)}
            held = size
            result |= {"size_mb": sizes(store), **measure(store, vectors, data), "written_per_s": write_rates(options.url, data)}
            store.run(lambda session: session.execute("DELETE FROM memoryd.memories WHERE scope = 'user'"))
            results.append(result)
            print(json.dumps(result), flush=True)
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")
        vectors.close()
        store.close()


if __name__ == "__main__":
    main()
