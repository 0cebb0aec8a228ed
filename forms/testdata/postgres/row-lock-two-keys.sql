CREATE TABLE "My ""Jobs""" (
  "tenant" bigint NOT NULL,
  "order" bigint NOT NULL,
  "group" text NOT NULL,
  "select" integer NOT NULL DEFAULT 1,
  "payload" bytea NOT NULL,
  PRIMARY KEY ("tenant", "order")
);

CREATE INDEX "My ""Jobs""_claim_idx" ON "My ""Jobs""" ("group", "tenant", "order");

-- describe
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), (NOT a.attnotnull)::int::text, (COALESCE(to_jsonb(a) ->> 'attgenerated', '') <> '')::int::text, (a.attidentity = 'a')::int::text, CASE WHEN a.atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN (CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END)::text END, (c.relkind <> 'r' OR c.relhassubclass)::int::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE a.attrelid = to_regclass(E'"My ""Jobs"""') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

-- clock
SELECT extract(epoch FROM statement_timestamp())::text;

-- insert
INSERT INTO "My ""Jobs""" ("payload", "group") VALUES ($1, $2);
-- binds: value[payload], value[group]

-- count
SELECT COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0)::text, COALESCE(SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END), 0)::text, COUNT(*)::text FROM "My ""Jobs""" WHERE "group" = $1;
-- binds: group

-- read
SELECT "tenant"::text, "order"::text, "select"::text, "group"::text, "payload" FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]
-- answers: id[0], id[1], attempt, group, payload

-- claim
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs""" WHERE "group" = $1 ORDER BY "tenant", "order" LIMIT $2::bigint FOR UPDATE SKIP LOCKED;
-- binds: group, limit
-- answers: id[0], id[1], attempt, group, payload

-- claim of one
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs""" WHERE "group" = $1 ORDER BY "tenant", "order" LIMIT 1 FOR UPDATE SKIP LOCKED;
-- binds: group
-- answers: id[0], id[1], attempt, group, payload

-- claim without rows
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs""" WHERE "group" = $1 AND NOT ("tenant" = $2 AND "order" = $3) ORDER BY "tenant", "order" LIMIT $4::bigint FOR UPDATE SKIP LOCKED;
-- binds: group, left out[0], left out[1], limit
-- answers: id[0], id[1], attempt, group, payload

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
INSERT INTO "dead_letters" ("tenant", "order", "group", "select", "payload") SELECT "tenant", "order", "group", COALESCE($1::integer, "select"), "payload" FROM "My ""Jobs""" WHERE "tenant" = $2 AND "order" = $3;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- finish many
DELETE FROM "My ""Jobs""" AS q USING unnest($1::bigint[], $2::bigint[]) AS __held(k0, k1) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1;
-- binds: ids[0], ids[1]

-- claim of all groups
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs""" WHERE "group" NOT IN ($1, $2) ORDER BY "tenant", "order" LIMIT $3::bigint FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], limit
-- answers: id[0], id[1], attempt, group, payload
