CREATE TABLE "My ""Jobs""" (
  "tenant" bigint NOT NULL,
  "order" bigint NOT NULL,
  "group" text NOT NULL,
  "select" integer NOT NULL DEFAULT 1,
  "Locked Until" timestamptz,
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
SELECT COALESCE(SUM(CASE WHEN "Locked Until" IS NOT NULL AND "Locked Until" > $1 THEN 1 ELSE 0 END), 0)::text, COALESCE(SUM(CASE WHEN 1 = 1 AND ("Locked Until" IS NULL OR "Locked Until" <= $1) THEN 1 ELSE 0 END), 0)::text, COUNT(*)::text FROM "My ""Jobs""" WHERE "group" = $2;
-- binds: now, group

-- read
SELECT "tenant"::text, "order"::text, "Locked Until"::text, "select"::text, "group"::text, "payload" FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt, group, payload

-- claim
UPDATE "My ""Jobs""" SET "Locked Until" = $1, "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE ctid = ANY(ARRAY(SELECT ctid FROM "My ""Jobs""" WHERE "group" = $2 AND ("Locked Until" IS NULL OR "Locked Until" <= $3) ORDER BY "tenant", "order" LIMIT $4::bigint FOR UPDATE SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "Locked Until"::text, "select"::text, "group"::text, "payload";
-- binds: expiry, group, now, limit
-- answers: id[0], id[1], token, attempt, group, payload

-- claim ahead
UPDATE "My ""Jobs""" SET "Locked Until" = $1, "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE ctid = ANY(ARRAY(SELECT ctid FROM "My ""Jobs""" WHERE "group" = $2 AND ("Locked Until" IS NULL OR "Locked Until" <= $3) AND "select" < $4 ORDER BY "tenant", "order" LIMIT $5::bigint FOR UPDATE SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "Locked Until"::text, "select"::text, "group"::text, "payload";
-- binds: expiry, group, now, cap, limit
-- answers: id[0], id[1], token, attempt, group, payload

-- extend
WITH __held AS (SELECT h.k0, h.k1, h.n FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, n) JOIN "My ""Jobs""" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."Locked Until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR NO KEY UPDATE OF q SKIP LOCKED) UPDATE "My ""Jobs""" AS q SET "Locked Until" = GREATEST(q."Locked Until", $5) FROM __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text, q."Locked Until"::text;
-- binds: ids[0], ids[1], tokens, counts, expiry
-- answers: ordinal, token

-- finish
WITH __held AS (SELECT h.k0, h.k1, h.n FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, n) JOIN "My ""Jobs""" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."Locked Until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR UPDATE OF q SKIP LOCKED) DELETE FROM "My ""Jobs""" AS q USING __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts
-- answers: ordinal

-- finish: direct
DELETE FROM "My ""Jobs""" AS q USING unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[]) WITH ORDINALITY AS __held(k0, k1, token, count, n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 AND q."Locked Until" = __held.token AND q."select" = __held.count RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts
-- answers: ordinal

-- return
WITH __held AS (SELECT h.k0, h.k1, h.n, h.__restores, h.__untils FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[], $6::timestamp with time zone[]) WITH ORDINALITY AS h(k0, k1, token, count, __restores, __untils, n) JOIN "My ""Jobs""" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."Locked Until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR NO KEY UPDATE OF q SKIP LOCKED) UPDATE "My ""Jobs""" AS q SET "Locked Until" = __held.__untils, "select" = COALESCE(__held.__restores, q."select") FROM __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts, restores, untils
-- answers: ordinal

-- return: direct
UPDATE "My ""Jobs""" AS q SET "Locked Until" = __held.__untils, "select" = COALESCE(__held.__restores, q."select") FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[], $6::timestamp with time zone[]) WITH ORDINALITY AS __held(k0, k1, token, count, __restores, __untils, n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 AND q."Locked Until" = __held.token AND q."select" = __held.count RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts, restores, untils
-- answers: ordinal

-- move to group
WITH __held AS (SELECT h.k0, h.k1, h.n, h.__restores FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, __restores, n) JOIN "My ""Jobs""" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."Locked Until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR NO KEY UPDATE OF q SKIP LOCKED) UPDATE "My ""Jobs""" AS q SET "group" = $6, "Locked Until" = NULL, "select" = COALESCE(__held.__restores, q."select") FROM __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n::text;
-- binds: ids[0], ids[1], tokens, counts, restores, target
-- answers: ordinal

-- move to group: direct
UPDATE "My ""Jobs""" AS q SET "group" = $1, "Locked Until" = NULL, "select" = COALESCE(__held.__restores, q."select") FROM unnest($2::bigint[], $3::bigint[], $4::timestamp with time zone[], $5::integer[], $6::integer[]) WITH ORDINALITY AS __held(k0, k1, token, count, __restores, n) WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 AND q."Locked Until" = __held.token AND q."select" = __held.count RETURNING __held.n::text;
-- binds: target, ids[0], ids[1], tokens, counts, restores
-- answers: ordinal

-- move to table
WITH __held AS (SELECT h.k0, h.k1, h.n, h.__restores FROM unnest($1::bigint[], $2::bigint[], $3::timestamp with time zone[], $4::integer[], $5::integer[]) WITH ORDINALITY AS h(k0, k1, token, count, __restores, n) JOIN "My ""Jobs""" AS q ON q."tenant" = h.k0 AND q."order" = h.k1 AND q."Locked Until" = h.token AND q."select" = h.count ORDER BY q."tenant", q."order" FOR UPDATE OF q SKIP LOCKED), __moved AS (DELETE FROM "My ""Jobs""" AS q USING __held WHERE q."tenant" = __held.k0 AND q."order" = __held.k1 RETURNING __held.n AS __n, __held.__restores, q."tenant", q."order", q."group", q."select", q."Locked Until", q."payload"), __arrived AS (INSERT INTO "dead_letters" ("tenant", "order", "group", "select", "Locked Until", "payload") SELECT __moved."tenant", __moved."order", __moved."group", COALESCE(__moved.__restores, __moved."select"), NULL, __moved."payload" FROM __moved) SELECT __n::text FROM __moved;
-- binds: ids[0], ids[1], tokens, counts, restores
-- answers: ordinal

-- held
SELECT 1 FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2 AND "Locked Until" = $3 AND "select" = $4;
-- binds: id[0], id[1], token, count

-- claim of all groups
UPDATE "My ""Jobs""" SET "Locked Until" = $1, "select" = CASE WHEN "select" < 2147483647 THEN "select" + 1 ELSE "select" END WHERE ctid = ANY(ARRAY(SELECT ctid FROM "My ""Jobs""" WHERE "group" NOT IN ($2, $3) AND ("Locked Until" IS NULL OR "Locked Until" <= $4) ORDER BY "tenant", "order" LIMIT $5::bigint FOR UPDATE SKIP LOCKED)) RETURNING "tenant"::text, "order"::text, "Locked Until"::text, "select"::text, "group"::text, "payload";
-- binds: expiry, except[0], except[1], now, limit
-- answers: id[0], id[1], token, attempt, group, payload
