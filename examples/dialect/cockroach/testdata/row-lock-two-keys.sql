CREATE TABLE "My ""Jobs"" [1]" (
  "tenant" bigint NOT NULL,
  "order" bigint NOT NULL,
  "group" text NOT NULL,
  "select" integer NOT NULL DEFAULT 1,
  "payload" bytea NOT NULL,
  PRIMARY KEY ("tenant", "order")
);

CREATE INDEX "My ""Jobs"" [1]_claim_idx" ON "My ""Jobs"" [1]" ("group", "tenant", "order");

-- claim index
CREATE INDEX "My ""Jobs"" [1]_claim_idx" ON "My ""Jobs"" [1]" ("group", "tenant", "order");

-- describe
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), (NOT a.attnotnull)::int::text, (COALESCE(a.attgenerated::text, '') <> '')::int::text, '0', CASE WHEN a.atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN (CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END)::text END, '1' FROM pg_attribute a WHERE a.attrelid = to_regclass('"My ""Jobs"" [1]"') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

-- indexes
SELECT s.index_name::text, s.column_name::text, COALESCE(pg_get_expr(i.indpred, i.indrelid), '') FROM information_schema.statistics AS s JOIN pg_class AS c ON c.relname = s.index_name JOIN pg_index AS i ON i.indexrelid = c.oid AND i.indrelid = to_regclass('"My ""Jobs"" [1]"') WHERE s.table_schema = current_schema() AND s.table_name = 'My "Jobs" [1]' AND s.storing = 'NO' AND s.implicit = 'NO' ORDER BY s.index_name, s.seq_in_index;

-- clock
SELECT extract(epoch FROM statement_timestamp())::text;

-- insert
INSERT INTO "My ""Jobs"" [1]" ("payload", "group") VALUES ($1, $2);
-- binds: value[payload], value[group]

-- count
SELECT COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0)::text, COALESCE(SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END), 0)::text, COUNT(*)::text FROM "My ""Jobs"" [1]" WHERE "group" = $1;
-- binds: group

-- claim
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs"" [1]" WHERE "group" = $1 ORDER BY "tenant", "order" LIMIT $2::bigint FOR UPDATE SKIP LOCKED;
-- binds: group, limit
-- answers: id[0], id[1], attempt, group, payload

-- claim of one
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs"" [1]" WHERE "group" = $1 ORDER BY "tenant", "order" LIMIT 1 FOR UPDATE SKIP LOCKED;
-- binds: group
-- answers: id[0], id[1], attempt, group, payload

-- claim without rows
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs"" [1]" WHERE "group" = $1 AND NOT ("tenant" = $2 AND "order" = $3) ORDER BY "tenant", "order" LIMIT $4::bigint FOR UPDATE SKIP LOCKED;
-- binds: group, left out[0], left out[1], limit
-- answers: id[0], id[1], attempt, group, payload

-- finish
DELETE FROM "My ""Jobs"" [1]" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- return
UPDATE "My ""Jobs"" [1]" SET "select" = COALESCE($1, "select") WHERE "tenant" = $2 AND "order" = $3;
-- binds: restore, id[0], id[1]

-- move to group
UPDATE "My ""Jobs"" [1]" SET "group" = $1, "select" = COALESCE($2, "select") WHERE "tenant" = $3 AND "order" = $4;
-- binds: target, restore, id[0], id[1]

-- move to table
INSERT INTO "dead_letters" ("tenant", "order", "group", "select", "payload") SELECT "tenant", "order", "group", COALESCE($1::integer, "select"), "payload" FROM "My ""Jobs"" [1]" WHERE "tenant" = $2 AND "order" = $3;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM "My ""Jobs"" [1]" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- claim of all groups
SELECT "tenant"::text AS __0, "order"::text AS __1, "select"::text AS __2, "group"::text AS __3, "payload" AS __4 FROM "My ""Jobs"" [1]" WHERE "group" NOT IN ($1, $2) ORDER BY "tenant", "order" LIMIT $3::bigint FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], limit
-- answers: id[0], id[1], attempt, group, payload
