CREATE TABLE "My ""Jobs"" [1]" (
  "tenant" bigint NOT NULL,
  "order" bigint NOT NULL,
  "group" text NOT NULL,
  "select" integer NOT NULL DEFAULT 1,
  "locked until" timestamptz,
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
SELECT COALESCE(SUM(CASE WHEN "locked until" IS NOT NULL AND "locked until" > $1 THEN 1 ELSE 0 END), 0)::text, COALESCE(SUM(CASE WHEN 1 = 1 AND ("locked until" IS NULL OR "locked until" <= $1) THEN 1 ELSE 0 END), 0)::text, COUNT(*)::text FROM "My ""Jobs"" [1]" WHERE "group" = $2;
-- binds: now, group

-- claim
WITH __due(__k0, __k1) AS (SELECT "tenant", "order" FROM "My ""Jobs"" [1]" WHERE "group" = $1 AND ("locked until" IS NULL OR "locked until" <= $2) ORDER BY "tenant", "order" LIMIT $3::bigint FOR UPDATE SKIP LOCKED) UPDATE "My ""Jobs"" [1]" AS q SET "locked until" = $4, "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END FROM __due WHERE q."tenant" = __due.__k0 AND q."order" = __due.__k1 RETURNING "tenant"::text, "order"::text, "locked until"::text, "select"::text, "group"::text, "payload";
-- binds: group, now, limit, expiry
-- answers: id[0], id[1], token, attempt, group, payload

-- claim ahead
WITH __due(__k0, __k1) AS (SELECT "tenant", "order" FROM "My ""Jobs"" [1]" WHERE "group" = $1 AND ("locked until" IS NULL OR "locked until" <= $2) AND "select" < $3 ORDER BY "tenant", "order" LIMIT $4::bigint FOR UPDATE SKIP LOCKED) UPDATE "My ""Jobs"" [1]" AS q SET "locked until" = $5, "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END FROM __due WHERE q."tenant" = __due.__k0 AND q."order" = __due.__k1 RETURNING "tenant"::text, "order"::text, "locked until"::text, "select"::text, "group"::text, "payload";
-- binds: group, now, cap, limit, expiry
-- answers: id[0], id[1], token, attempt, group, payload

-- extend
WITH __held AS (SELECT h.k0, h.k1, h.n FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, n) JOIN "My ""Jobs"" [1]" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."locked until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR NO KEY UPDATE OF q SKIP LOCKED) UPDATE "My ""Jobs"" [1]" AS q SET "locked until" = GREATEST(q."locked until", $5) FROM __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text, q."locked until"::text;
-- binds: ids[0], ids[1], tokens, counts, expiry
-- answers: ordinal, token

-- finish
WITH __held AS (SELECT h.k0, h.k1, h.n FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, n) JOIN "My ""Jobs"" [1]" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."locked until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR UPDATE OF q SKIP LOCKED) DELETE FROM "My ""Jobs"" [1]" AS q USING __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts
-- answers: ordinal

-- finish: direct
DELETE FROM "My ""Jobs"" [1]" AS q USING unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[]) WITH ORDINALITY AS __held(k0, k1, token, count, n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 AND q."locked until" = __held.token AND q."select" = __held.count RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts
-- answers: ordinal

-- return
WITH __held AS (SELECT h.k0, h.k1, h.n, h.__restores, h.__untils FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[], $6::timestamp with time zone[]) WITH ORDINALITY AS h(k0, k1, token, count, __restores, __untils, n) JOIN "My ""Jobs"" [1]" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."locked until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR NO KEY UPDATE OF q SKIP LOCKED) UPDATE "My ""Jobs"" [1]" AS q SET "locked until" = __held.__untils, "select" = COALESCE(__held.__restores, q."select") FROM __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts, restores, untils
-- answers: ordinal

-- return: direct
UPDATE "My ""Jobs"" [1]" AS q SET "locked until" = __held.__untils, "select" = COALESCE(__held.__restores, q."select") FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[], $6::timestamp with time zone[]) WITH ORDINALITY AS __held(k0, k1, token, count, __restores, __untils, n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 AND q."locked until" = __held.token AND q."select" = __held.count RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts, restores, untils
-- answers: ordinal

-- move to group
WITH __held AS (SELECT h.k0, h.k1, h.n, h.__restores FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, __restores, n) JOIN "My ""Jobs"" [1]" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."locked until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR NO KEY UPDATE OF q SKIP LOCKED) UPDATE "My ""Jobs"" [1]" AS q SET "group" = $6, "locked until" = NULL, "select" = COALESCE(__held.__restores, q."select") FROM __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts, restores, target
-- answers: ordinal

-- move to group: direct
UPDATE "My ""Jobs"" [1]" AS q SET "group" = $1, "locked until" = NULL, "select" = COALESCE(__held.__restores, q."select") FROM unnest($2::bigint[], $3::bigint[], $4::timestamp with time zone[], $5::integer[], $6::integer[]) WITH ORDINALITY AS __held(k0, k1, token, count, __restores, n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 AND q."locked until" = __held.token AND q."select" = __held.count RETURNING __held.n::text;
-- binds: target, ids[0], ids[1], tokens, counts, restores
-- answers: ordinal

-- move to table
WITH __held AS (SELECT h.k0, h.k1, h.n, h.__restores FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, __restores, n) JOIN "My ""Jobs"" [1]" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."locked until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR UPDATE OF q SKIP LOCKED), __moved AS (DELETE FROM "My ""Jobs"" [1]" AS q USING __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n AS __n, __held.__restores, q."tenant", q."order", q."group", q."select", q."locked until", q."payload"), __arrived AS (INSERT INTO "dead_letters" ("tenant", "order", "group", "select", "locked until", "payload") SELECT __moved."tenant", __moved."order", __moved."group", COALESCE(__moved.__restores, __moved."select"), NULL, __moved."payload" FROM __moved) SELECT __n::text FROM __moved;
-- binds: ids[0], ids[1], tokens, counts, restores
-- answers: ordinal

-- held
SELECT 1 FROM "My ""Jobs"" [1]" WHERE "tenant" = $1 AND "order" = $2 AND "locked until" = $3 AND "select" = $4;
-- binds: id[0], id[1], token, count

-- claim of all groups
WITH __due(__k0, __k1) AS (SELECT "tenant", "order" FROM "My ""Jobs"" [1]" WHERE "group" NOT IN ($1, $2) AND ("locked until" IS NULL OR "locked until" <= $3) ORDER BY "tenant", "order" LIMIT $4::bigint FOR UPDATE SKIP LOCKED) UPDATE "My ""Jobs"" [1]" AS q SET "locked until" = $5, "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END FROM __due WHERE q."tenant" = __due.__k0 AND q."order" = __due.__k1 RETURNING "tenant"::text, "order"::text, "locked until"::text, "select"::text, "group"::text, "payload";
-- binds: except[0], except[1], now, limit, expiry
-- answers: id[0], id[1], token, attempt, group, payload
