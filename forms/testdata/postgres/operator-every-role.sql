
-- census
SELECT "group"::text, COUNT(*)::text, COUNT(CASE WHEN "processed_at" IS NOT NULL THEN 1 END)::text, COUNT(CASE WHEN "processed_at" IS NULL AND "retry_after" > $1 THEN 1 END)::text, MIN(CASE WHEN "processed_at" IS NULL AND NOT ("retry_after" > $1) THEN "retry_after" END)::text FROM "jobs" GROUP BY "group";
-- binds: now

-- in work
SELECT "group"::text, COUNT(*)::text, COUNT(CASE WHEN "retry_after" > $1 THEN 1 END)::text FROM "jobs" WHERE "processed_at" IS NULL AND "locked_until" > $1 GROUP BY "group"::text;
-- binds: now

-- hold due rows
SELECT "id"::text FROM "jobs" WHERE "processed_at" IS NULL AND ("locked_until" IS NULL OR "locked_until" <= $1) AND "group" NOT IN ($2, $3) AND "retry_after" <= $1 ORDER BY "priority", "retry_after", "id" LIMIT $4 FOR UPDATE SKIP LOCKED;
-- binds: now, dead group[0], dead group[1], limit
-- answers: id[0]

-- remove
DELETE FROM "jobs" WHERE "id" = $1;
-- binds: id[0]

-- revive from a table
INSERT INTO "jobs" ("id", "group", "priority", "partition_key", "retry_after", "attempt", "processed_at", "locked_until", "headers", "payload", "error", "origin", "created_at") SELECT "id", "group", "priority", "partition_key", $1::timestamp with time zone, 1, NULL, NULL, "headers", "payload", "error", NULL, "created_at" FROM "dead_letters" WHERE "id" = $2;
-- binds: now, id[0]

-- list dead letters of a table of their own
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN 1 = 1 THEN 'dead' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $2::integer), left("error"::text, $2::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $2::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" WHERE "processed_at" IS NULL AND ("locked_until" IS NULL OR "locked_until" <= $1) ORDER BY "priority", "retry_after", "id" LIMIT $3 OFFSET $4) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, preview, limit, offset

-- list
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' WHEN "retry_after" > $1 THEN 'delayed' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $4::integer), left("error"::text, $4::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" ORDER BY "priority", "retry_after", "id" LIMIT $5 OFFSET $6) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list due
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' WHEN "retry_after" > $1 THEN 'delayed' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $4::integer), left("error"::text, $4::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" WHERE "processed_at" IS NULL AND ("locked_until" IS NULL OR "locked_until" <= $1) AND "group" NOT IN ($2, $3) AND "retry_after" <= $1 ORDER BY "priority", "retry_after", "id" LIMIT $5 OFFSET $6) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list delayed
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' WHEN "retry_after" > $1 THEN 'delayed' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $4::integer), left("error"::text, $4::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" WHERE "processed_at" IS NULL AND ("locked_until" IS NULL OR "locked_until" <= $1) AND "group" NOT IN ($2, $3) AND "retry_after" > $1 ORDER BY "priority", "retry_after", "id" LIMIT $5 OFFSET $6) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list in_work
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' WHEN "retry_after" > $1 THEN 'delayed' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $4::integer), left("error"::text, $4::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" WHERE "processed_at" IS NULL AND "locked_until" > $1 ORDER BY "priority", "retry_after", "id" LIMIT $5 OFFSET $6) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list dead
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' WHEN "retry_after" > $1 THEN 'delayed' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $4::integer), left("error"::text, $4::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" WHERE "group" IN ($2, $3) AND "processed_at" IS NULL AND ("locked_until" IS NULL OR "locked_until" <= $1) ORDER BY "priority", "retry_after", "id" LIMIT $5 OFFSET $6) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list processed
SELECT "id"::text, CASE WHEN "processed_at" IS NOT NULL THEN 'processed' WHEN "locked_until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' WHEN "retry_after" > $1 THEN 'delayed' ELSE 'due' END, "group"::text, "priority"::text, "partition_key"::text, "retry_after"::text, "attempt"::text, "processed_at"::text, "locked_until"::text, left("headers"::text, $4::integer), left("error"::text, $4::integer), "origin"::text, "created_at"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" WHERE "processed_at" IS NOT NULL ORDER BY "priority", "retry_after", "id" LIMIT $5 OFFSET $6) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "priority", "retry_after", "id";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- revive
UPDATE "jobs" SET "group" = $1::text, "attempt" = 1, "retry_after" = $2, "locked_until" = NULL, "origin" = NULL WHERE "id" = $3;
-- binds: target, now, id[0]

-- revive by origin
UPDATE "jobs" SET "group" = "origin"::text, "attempt" = 1, "retry_after" = $1, "locked_until" = NULL, "origin" = NULL WHERE "id" = $2;
-- binds: now, id[0]

-- count those of an origin
SELECT COUNT(*)::text FROM "jobs" WHERE "group" = $1 AND "group" IN ($2, $3) AND "processed_at" IS NULL AND ("locked_until" IS NULL OR "locked_until" <= $4) AND "origin" <> "group"::text;
-- binds: group, dead group[0], dead group[1], now

-- count old ones
SELECT COUNT(*)::text FROM "jobs" WHERE "processed_at" IS NOT NULL AND "processed_at" < $1;
-- binds: cutoff

-- sweep
DELETE FROM "jobs" WHERE ctid = ANY(ARRAY(SELECT ctid FROM "jobs" WHERE "processed_at" < $1 LIMIT $2::bigint FOR UPDATE SKIP LOCKED));
-- binds: cutoff, limit

-- sweep index
CREATE INDEX "jobs_processed_idx" ON "jobs" ("processed_at");
