CREATE TABLE "My ""Jobs""" (
  "tenant" bigint NOT NULL,
  "order" bigint NOT NULL,
  "a b" text,
  "group" text NOT NULL,
  "select" integer NOT NULL DEFAULT 1,
  "payload" bytea NOT NULL,
  PRIMARY KEY ("tenant", "order")
);

CREATE INDEX "My ""Jobs""_claim_idx" ON "My ""Jobs""" ("group", "tenant", "order");

-- candidates
SELECT "tenant"::text AS __id0, "order"::text AS __id1, COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)) AS __lock, hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0)::text AS __name, "select"::text AS __attempt FROM "My ""Jobs""" WHERE "group" = $1 AND hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0) NOT IN (SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AND hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0) NOT IN (SELECT unnest($2::bigint[])) ORDER BY "tenant", "order" LIMIT $3::bigint;
-- binds: group, names, limit
-- answers: id[0], id[1], lock, name, attempt

-- take
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE "tenant" = $1 AND "order" = $2 AND ctid = ANY(ARRAY(SELECT ctid FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2 AND "group" = $3 FOR NO KEY UPDATE SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "select"::text, "group"::text, "payload";
-- binds: id[0], id[1], group
-- answers: id[0], id[1], attempt, group, payload

-- take ahead
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE "tenant" = $1 AND "order" = $2 AND ctid = ANY(ARRAY(SELECT ctid FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2 AND "group" = $3 AND "select" < $4 FOR NO KEY UPDATE SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "select"::text, "group"::text, "payload";
-- binds: id[0], id[1], group, cap
-- answers: id[0], id[1], attempt, group, payload

-- lock
SELECT pg_try_advisory_lock($1::bigint)::int::text;
-- binds: name

-- unlock
SELECT pg_advisory_unlock($1::bigint)::int::text;
-- binds: name

-- lock many
SELECT set_config('inbox_wasm.locked', COALESCE(string_agg(taken::int::text, '' ORDER BY n), ''), true) FROM (SELECT n, pg_try_advisory_lock(name) AS taken FROM unnest($1::bigint[]) WITH ORDINALITY AS l(name, n) OFFSET 0) AS l;
-- binds: names

-- take many
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE ctid = ANY(ARRAY(SELECT q.ctid FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], string_to_array(current_setting('inbox_wasm.locked'), NULL)) AS __c(__k0, __k1, __name, __locked) JOIN "My ""Jobs""" AS q ON q."tenant" = __k0 AND q."order" = __k1 WHERE __locked = '1' AND hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0) = __name AND "group" = $4 FOR NO KEY UPDATE OF q SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "select"::text, "group"::text, "payload";
-- binds: ids[0], ids[1], names, group
-- answers: id[0], id[1], attempt, group, payload

-- take many ahead
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE ctid = ANY(ARRAY(SELECT q.ctid FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], string_to_array(current_setting('inbox_wasm.locked'), NULL)) AS __c(__k0, __k1, __name, __locked) JOIN "My ""Jobs""" AS q ON q."tenant" = __k0 AND q."order" = __k1 WHERE __locked = '1' AND hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0) = __name AND "group" = $4 AND "select" < $5 FOR NO KEY UPDATE OF q SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "select"::text, "group"::text, "payload";
-- binds: ids[0], ids[1], names, group, cap
-- answers: id[0], id[1], attempt, group, payload

-- finish many
DELETE FROM "My ""Jobs""" AS q USING unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS __held(k0, k1, __n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.__n::text;
-- binds: ids[0], ids[1]
-- answers: ordinal

-- unlock many
SELECT COALESCE(string_agg(released::int::text, '' ORDER BY n), '') FROM (SELECT n, pg_advisory_unlock(name) AS released FROM unnest($1::bigint[]) WITH ORDINALITY AS l(name, n) OFFSET 0) AS l;
-- binds: names

-- finish
DELETE FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- return
UPDATE "My ""Jobs""" SET "select" = COALESCE($1, "select") WHERE "tenant" = $2 AND "order" = $3;
-- binds: restore, id[0], id[1]

-- move to group
UPDATE "My ""Jobs""" SET "group" = $1, "select" = COALESCE($2, "select") WHERE "tenant" = $3 AND "order" = $4;
-- binds: target, restore, id[0], id[1]

-- move to table
INSERT INTO "dead_letters" ("tenant", "order", "a b", "group", "select", "payload") SELECT "tenant", "order", "a b", "group", COALESCE($1::integer, "select"), "payload" FROM "My ""Jobs""" WHERE "tenant" = $2 AND "order" = $3;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- candidates of all groups
SELECT "tenant"::text AS __id0, "order"::text AS __id1, COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)) AS __lock, hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0)::text AS __name, "select"::text AS __attempt FROM "My ""Jobs""" WHERE "group" NOT IN ($1, $2) AND hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0) NOT IN (SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AND hashtextextended(COALESCE(("a b"::text), (E'My "Jobs" ' || "tenant"::text || E',' || "order"::text)), 0) NOT IN (SELECT unnest($3::bigint[])) ORDER BY "tenant", "order" LIMIT $4::bigint;
-- binds: except[0], except[1], names, limit
-- answers: id[0], id[1], lock, name, attempt

-- take of all groups
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE "tenant" = $1 AND "order" = $2 AND ctid = ANY(ARRAY(SELECT ctid FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2 AND "group" NOT IN ($3, $4) FOR NO KEY UPDATE SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "select"::text, "group"::text, "payload";
-- binds: id[0], id[1], except[0], except[1]
-- answers: id[0], id[1], attempt, group, payload

-- lock of the user
SELECT (SELECT pg_try_advisory_lock($1::bigint))::text;
-- binds: lock

-- unlock of the user
SELECT (SELECT pg_advisory_unlock($1::bigint))::text;
-- binds: lock
