"""Schema of the Postgres store: its migrations, and the functions for word searches on behalf of a user.

Every row is in a space, which is a person (`user:<role>`) or a team (`team:<name>`). Each space has a partition with
its own indexes, so a search in a small team does not touch the memories of a large one. Row-level security restricts
a role to its own space and those of its teams. It is based on `session_user`, the login role, which a session can't
change.

Under row-level security, Postgres does not use a full-text index, because its operators are not leak-proof. Word
search is therefore a SECURITY DEFINER function that checks the spaces itself.
"""

from __future__ import annotations

from memoryd.core.errors import StoreError
from memoryd.core.postgres import PostgresSession

LOCK = 7_061_977  # Key of the advisory lock for migrations and new spaces.
DIMENSIONS = 384  # Of the bundled embedding model.
CHANNEL = "memoryd"
# From this number of rows, word frequencies are taken from the planner's statistics instead of being counted.
ESTIMATED = 20_000
_SECURE = "SECURITY DEFINER SET search_path = memoryd, {extension}, pg_temp"

CREATE = f"""
CREATE SCHEMA IF NOT EXISTS memoryd;
GRANT USAGE ON SCHEMA memoryd TO PUBLIC;
CREATE TABLE memoryd.facts (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE memoryd.members (team text NOT NULL, role name NOT NULL, PRIMARY KEY (team, role));

CREATE FUNCTION memoryd.spaces() RETURNS text[] LANGUAGE sql STABLE {_SECURE} AS $$
  SELECT array_agg(space) FROM (
    SELECT 'user:' || session_user AS space UNION ALL SELECT 'team:' || team FROM members WHERE role = session_user) AS mine
$$;

CREATE TABLE memoryd.memories (
  space text NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  scope text NOT NULL,
  project text NOT NULL,
  session text NOT NULL,
  source text NOT NULL,
  status text NOT NULL,
  created_at float8 NOT NULL,
  expired_at float8,
  valid_from float8,
  valid_to float8,
  tags text[] NOT NULL,
  digest text NOT NULL,
  payload text NOT NULL,
  markdown text NOT NULL,
  words tsvector NOT NULL,
  length int NOT NULL,
  origin text NOT NULL,
  author name NOT NULL DEFAULT session_user,
  approved_by name,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (space, id)
) PARTITION BY LIST (space);
CREATE INDEX ON memoryd.memories (created_at DESC, id);
CREATE INDEX ON memoryd.memories (project, created_at DESC);
CREATE INDEX ON memoryd.memories (scope) WHERE scope = 'user';
CREATE INDEX ON memoryd.memories (session);
CREATE INDEX ON memoryd.memories (changed);
CREATE INDEX ON memoryd.memories USING gin (words);

CREATE TABLE memoryd.vectors (
  space text NOT NULL,
  id text COLLATE "C" NOT NULL,
  part int NOT NULL,
  key text NOT NULL,
  made_from text NOT NULL,
  embedding {{halfvec}}({{dimensions}}) NOT NULL,
  PRIMARY KEY (space, id, part),
  FOREIGN KEY (space, id) REFERENCES memoryd.memories ON DELETE CASCADE
) PARTITION BY LIST (space);
CREATE INDEX ON memoryd.vectors USING hnsw (embedding {{extension}}.halfvec_cosine_ops);

CREATE TABLE memoryd.removed (
  space text NOT NULL,
  id text COLLATE "C" NOT NULL,
  markdown text,
  origin text NOT NULL,
  author name NOT NULL DEFAULT session_user,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (space, id)
);
CREATE INDEX ON memoryd.removed (space, changed);
CREATE TABLE memoryd.history (
  space text NOT NULL,
  id text COLLATE "C" NOT NULL,
  markdown text NOT NULL,
  author name NOT NULL,
  written_at timestamptz NOT NULL
);
CREATE INDEX ON memoryd.history (space, id);
CREATE TABLE memoryd.applied (
  operation uuid PRIMARY KEY,
  role name NOT NULL DEFAULT session_user,
  at timestamptz NOT NULL DEFAULT now()
);

-- Whether two payloads say the same. Only what maintenance changes may differ; anything that can't be parsed counts as a change.
CREATE FUNCTION memoryd.says_the_same(one text, other text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE upkeep text[] := '{{relevancy,links,asked_as,backends}}';
BEGIN
  RETURN one::jsonb - upkeep = other::jsonb - upkeep;
EXCEPTION WHEN others THEN
  RETURN one = other;
END $$;

-- The author is who wrote the text, and an approval is of one text.
CREATE FUNCTION memoryd.stamp_memory() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE kept boolean := false;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    kept := OLD.space = NEW.space AND memoryd.says_the_same(OLD.payload, NEW.payload);
  END IF;
  NEW.author := CASE WHEN kept THEN OLD.author ELSE session_user END;
  IF NOT kept THEN
    NEW.approved_by := NULL;
  ELSIF NEW.approved_by IS DISTINCT FROM OLD.approved_by AND NEW.approved_by IS NOT NULL THEN
    IF OLD.author = session_user THEN
      RAISE insufficient_privilege USING MESSAGE = 'a memory is approved by another member than its author';
    END IF;
    NEW.approved_by := session_user;
  END IF;
  NEW.written_at := clock_timestamp();
  NEW.changed := pg_current_xact_id();
  PERFORM pg_notify('{CHANNEL}', md5(NEW.space) || ' ' || NEW.origin);
  RETURN NEW;
END $$;
CREATE FUNCTION memoryd.stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.author := session_user;
  NEW.written_at := clock_timestamp();
  NEW.changed := pg_current_xact_id();
  PERFORM pg_notify('{CHANNEL}', md5(NEW.space) || ' ' || NEW.origin);
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON memoryd.memories FOR EACH ROW EXECUTE FUNCTION memoryd.stamp_memory();
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON memoryd.removed FOR EACH ROW EXECUTE FUNCTION memoryd.stamp();
CREATE FUNCTION memoryd.keep_version() RETURNS trigger LANGUAGE plpgsql {_SECURE} AS $$
BEGIN
  IF OLD.markdown <> NEW.markdown THEN
    INSERT INTO history VALUES (OLD.space, OLD.id, OLD.markdown, OLD.author, OLD.written_at);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_version AFTER UPDATE ON memoryd.memories FOR EACH ROW EXECUTE FUNCTION memoryd.keep_version();

-- A version that waited on a machine while a newer one was written elsewhere.
CREATE FUNCTION memoryd.note_version(of_space text, of_id text, text_of_it text) RETURNS void LANGUAGE sql {_SECURE} AS $$
  INSERT INTO history SELECT of_space, of_id, text_of_it, session_user, clock_timestamp() WHERE of_space = ANY (spaces())
$$;

CREATE FUNCTION memoryd.open_space(wanted text) RETURNS void LANGUAGE plpgsql {_SECURE} AS $$
DECLARE suffix text := md5(wanted);
BEGIN
  IF NOT wanted = ANY (spaces()) THEN
    RAISE insufficient_privilege USING MESSAGE = format('%s is not open to %s', wanted, session_user);
  END IF;
  PERFORM pg_advisory_xact_lock({LOCK});
  IF to_regclass('memoryd.m_' || suffix) IS NULL THEN
    EXECUTE format('CREATE TABLE memoryd.%I PARTITION OF memoryd.memories FOR VALUES IN (%L)', 'm_' || suffix, wanted);
    EXECUTE format('CREATE TABLE memoryd.%I PARTITION OF memoryd.vectors FOR VALUES IN (%L)', 'v_' || suffix, wanted);
  END IF;
END $$;

CREATE FUNCTION memoryd.claim_model(wanted text) RETURNS text LANGUAGE sql {_SECURE} AS $$
  INSERT INTO facts VALUES ('model', wanted) ON CONFLICT DO NOTHING;
  SELECT value FROM facts WHERE name = 'model'
$$;

CREATE FUNCTION memoryd.row_estimate(of_space text) RETURNS float8 LANGUAGE sql STABLE {_SECURE} AS $$
  SELECT reltuples::float8 FROM pg_class WHERE oid = to_regclass('memoryd.m_' || md5(of_space)) AND of_space = ANY (spaces())
$$;

CREATE FUNCTION memoryd.corpus(within text[]) RETURNS TABLE (items float8, average float8) LANGUAGE plpgsql STABLE {_SECURE} AS $$
DECLARE
  each_space text; n float8; mean float8; total float8 := 0; terms float8 := 0;
BEGIN
  FOREACH each_space IN ARRAY within LOOP
    n := row_estimate(each_space);
    CONTINUE WHEN n IS NULL;
    IF n < {ESTIMATED} THEN
      EXECUTE format('SELECT count(*), avg(length) FROM memoryd.%I', 'm_' || md5(each_space)) INTO n, mean;
    ELSE
      EXECUTE format('SELECT avg(length) FROM memoryd.%I TABLESAMPLE SYSTEM (1)', 'm_' || md5(each_space)) INTO mean;
    END IF;
    total := total + n;
    terms := terms + n * coalesce(mean, 0);
  END LOOP;
  RETURN QUERY SELECT total, CASE WHEN total > 0 THEN terms / total ELSE 1 END;
END $$;

CREATE FUNCTION memoryd.frequencies(terms tsquery[], lexemes text[], within text[]) RETURNS float8[]
LANGUAGE plpgsql STABLE {_SECURE} AS $$
DECLARE
  each_space text; part text; estimate float8; found float8; result float8[] := array_fill(0::float8, ARRAY[cardinality(terms)]);
BEGIN
  FOREACH each_space IN ARRAY within LOOP
    estimate := row_estimate(each_space);
    CONTINUE WHEN estimate IS NULL;
    part := 'm_' || md5(each_space);
    FOR i IN 1 .. cardinality(terms) LOOP
      found := NULL;
      IF estimate >= {ESTIMATED} AND lexemes[i] IS NOT NULL THEN
        SELECT elements.share * estimate INTO found FROM (
          SELECT unnest(most_common_elems::text::text[]) AS word, unnest(most_common_elem_freqs) AS share FROM pg_stats
          WHERE schemaname = 'memoryd' AND tablename = part AND attname = 'words') AS elements
        WHERE elements.word = lexemes[i];
      END IF;
      IF found IS NULL THEN
        EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM memoryd.%I WHERE words @@ $1 LIMIT 50000) AS limited', part)
        INTO found USING terms[i];
      END IF;
      result[i] := result[i] + found;
    END LOOP;
  END LOOP;
  RETURN result;
END $$;

-- The best rows by BM25 (k1 = 1.2, b = 0.75). A first pass adds up the words of each row as if they occurred once, at the cost of
-- one index entry per word and row; the best of it are then scored exactly.
CREATE FUNCTION memoryd.find_words(
  terms tsquery[], lexemes text[], weights float8[], average float8, within text[], only_project text, most int)
RETURNS TABLE (space text, id text, score float8) LANGUAGE sql STABLE {_SECURE}
SET enable_seqscan = off -- the planner can't know the words, and would read whole tables for some
AS $$
  WITH pool AS (
    SELECT f.space, f.id, 1.2 * (0.25 + 0.75 * min(f.length) / greatest(average, 1)) AS norm
    FROM unnest(terms, weights) AS t (term, weight) CROSS JOIN LATERAL (
      SELECT m.space, m.id, m.length FROM memories AS m
      WHERE m.words @@ t.term AND m.space = ANY (within) AND m.space = ANY ((SELECT spaces())::text[])
        AND (only_project IS NULL OR m.project = only_project OR m.scope = 'user')) AS f
    GROUP BY f.space, f.id
    ORDER BY sum(t.weight) / (1 + 1.2 * (0.25 + 0.75 * min(f.length) / greatest(average, 1))) DESC, f.id
    LIMIT greatest(2 * most, most + 200)
  )
  SELECT p.space, p.id, (
    SELECT sum(e.weight * e.tf * 2.2 / (e.tf + p.norm)) FROM (
      SELECT t.weight, coalesce((SELECT cardinality(u.positions) FROM unnest(m.words) AS u WHERE u.lexeme = t.lexeme), 1) AS tf
      FROM unnest(terms, lexemes, weights) AS t (term, lexeme, weight) WHERE m.words @@ t.term) AS e) AS score
  FROM pool AS p JOIN memories AS m ON m.space = p.space AND m.id = p.id AND m.space = ANY (within)
  ORDER BY 3 DESC, 2 LIMIT most
$$;

ALTER TABLE memoryd.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memoryd.vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE memoryd.removed ENABLE ROW LEVEL SECURITY;
ALTER TABLE memoryd.history ENABLE ROW LEVEL SECURITY;
ALTER TABLE memoryd.applied ENABLE ROW LEVEL SECURITY;
ALTER TABLE memoryd.members ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON memoryd.memories USING (space = ANY ((SELECT memoryd.spaces())::text[]));
CREATE POLICY mine ON memoryd.vectors USING (space = ANY ((SELECT memoryd.spaces())::text[]));
CREATE POLICY mine ON memoryd.removed USING (space = ANY ((SELECT memoryd.spaces())::text[]));
CREATE POLICY mine ON memoryd.history USING (space = ANY ((SELECT memoryd.spaces())::text[]));
CREATE POLICY mine ON memoryd.applied USING (role = session_user);
CREATE POLICY mine ON memoryd.members USING ('team:' || team = ANY ((SELECT memoryd.spaces())::text[]));
GRANT SELECT ON memoryd.facts, memoryd.members TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON memoryd.memories, memoryd.vectors, memoryd.removed TO PUBLIC;
GRANT SELECT, DELETE ON memoryd.history TO PUBLIC;
GRANT SELECT, INSERT, DELETE ON memoryd.applied TO PUBLIC;
"""

MIGRATIONS = (CREATE,)
_VERSION = "SELECT value::int FROM memoryd.facts WHERE name = 'version'"
_IS_THERE = "SELECT to_regclass('memoryd.facts') IS NOT NULL"
# The same check on the catalog itself. This session's caches may not include a schema just created by another client.
_IS_NEW = (
    "SELECT EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"
    " WHERE nspname = 'memoryd' AND relname = 'facts')"
)
_EXTENSION = "SELECT nspname FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'vector'"


def version(session: PostgresSession) -> int:
    """Return the number of migrations run so far, or 0 for a database without our schema."""
    return int(session.value(_VERSION) or 0) if session.value(_IS_THERE) else 0


def migrate(session: PostgresSession, dimensions: int = DIMENSIONS) -> bool:
    """Run the missing migrations, one client at a time. Return False if another client ran them. The next transaction sees them.

    Args:
        session: A transaction of a role that may create schemas. This role will own the tables.
        dimensions: Size of the vectors, which can't be changed later.

    Raises:
        StoreError: The database was written by a newer version, or the role may not create the schema.
    """
    if (done := version(session)) == len(MIGRATIONS):
        return True
    session.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    if done == 0 and session.value(_IS_NEW):
        return False
    done = version(session)  # Another client may have migrated it in the meantime.
    if done > len(MIGRATIONS):
        raise StoreError("The database was created by a newer version of memoryd.", fix="Update memoryd on this machine.")
    for script in MIGRATIONS[done:]:
        _run(session, script, dimensions)
    session.execute(
        "INSERT INTO memoryd.facts VALUES ('version', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (str(len(MIGRATIONS)),),
    )
    return True


def _run(session: PostgresSession, script: str, dimensions: int) -> None:
    session.execute("CREATE SCHEMA IF NOT EXISTS memoryd")
    if session.value(_EXTENSION) is None:
        session.execute("CREATE EXTENSION vector SCHEMA memoryd")
    extension = str(session.value(_EXTENSION))
    halfvec = f"{extension}.halfvec"
    filled = script.replace("{halfvec}", halfvec).replace("{extension}", extension).replace("{dimensions}", str(dimensions))
    session.execute(filled)
