
-- census
SELECT NULL, COUNT(*)::text, COUNT(CASE WHEN 1 = 0 THEN 1 END)::text, COUNT(CASE WHEN 1 = 1 AND 1 = 0 THEN 1 END)::text, MIN(CASE WHEN 1 = 1 AND NOT (1 = 0) THEN NULL END)::text FROM "jobs";

-- hold due rows
SELECT "id"::text FROM "jobs" ORDER BY "id" LIMIT $1 FOR UPDATE SKIP LOCKED;
-- binds: limit
-- answers: id[0]

-- remove
DELETE FROM "jobs" WHERE "id" = $1;
-- binds: id[0]

-- revive from a table
INSERT INTO "jobs" ("id", "payload") SELECT "id", "payload" FROM "dead_letters" WHERE "id" = $1;
-- binds: id[0]

-- list dead letters of a table of their own
SELECT "id"::text, CASE WHEN 1 = 1 THEN 'dead' ELSE 'due' END, substring("payload" from 1 for $1::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" ORDER BY "id" LIMIT $2 OFFSET $3) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "id";
-- binds: preview, limit, offset

-- list
SELECT "id"::text, 'due', substring("payload" from 1 for $1::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" ORDER BY "id" LIMIT $2 OFFSET $3) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "id";
-- binds: preview, limit, offset

-- list due
SELECT "id"::text, 'due', substring("payload" from 1 for $1::integer), octet_length("payload")::text FROM (SELECT "id" AS __k0 FROM "jobs" ORDER BY "id" LIMIT $2 OFFSET $3) AS __chosen JOIN "jobs" ON "id" = __k0 ORDER BY "id";
-- binds: preview, limit, offset
