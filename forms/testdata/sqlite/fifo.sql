CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "group" TEXT NOT NULL,
  "retry_after" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  "processed_at" TEXT,
  "locked_until" TEXT,
  "payload" BLOB NOT NULL
);

CREATE INDEX "jobs_claim_idx" ON "jobs" ("group", "processed_at", "retry_after", "id");

CREATE INDEX "jobs_group_idx" ON "jobs" ("group", "locked_until");

-- describe
SELECT name, type, "notnull" = 0 AND NOT (pk = 1 AND upper(type) = 'INTEGER'), hidden IN (2, 3), 0, 6, 0, pk > 0 FROM pragma_table_xinfo('jobs') WHERE hidden <> 1 ORDER BY cid;

-- clock
SELECT (julianday('now') - 2440587.5) * 86400.0;

-- insert
INSERT INTO "jobs" ("payload", "group", "retry_after") VALUES (?, ?, ?);
-- binds: value[payload], value[group], value[retry_after]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN "locked_until" IS NOT NULL AND "locked_until" > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "processed_at" IS NULL;
-- binds: now, now, now, group

-- read
SELECT "id", CAST("locked_until" AS CHAR), "group", "payload", CAST("retry_after" AS CHAR) FROM "jobs" WHERE "id" = ?;
-- binds: id[0]
-- answers: id[0], token, group, payload, retry_after

-- claim
UPDATE "jobs" SET "locked_until" = ? WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "processed_at" IS NULL AND "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "retry_after", "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "group", "payload", CAST("retry_after" AS CHAR);
-- binds: expiry, group, now, now, limit
-- answers: id[0], token, group, payload, retry_after

-- extend: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- extend
UPDATE "jobs" SET "locked_until" = MAX("locked_until", ?) WHERE "id" IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- extend: reread
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- finish: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- finish
UPDATE "jobs" SET "processed_at" = ?, "locked_until" = NULL WHERE "id" IN (/*list*/);
-- binds: now
-- list: ?
-- list binds: id[0]

-- finish: whole
UPDATE "jobs" SET "processed_at" = ?, "locked_until" = NULL WHERE "locked_until" = ? AND "id" IN (SELECT value FROM json_each(?));
-- binds: now, token, ids[0]

-- return: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- return
UPDATE "jobs" SET "locked_until" = NULL, "retry_after" = COALESCE(?, "retry_after") WHERE "id" = ? AND "locked_until" = ?;
-- binds: until, id[0], token

-- move to group: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- move to group
UPDATE "jobs" SET "locked_until" = NULL, "group" = ?, "retry_after" = ? WHERE "id" = ? AND "locked_until" = ?;
-- binds: target, now, id[0], token

-- move to table: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- move to table
INSERT INTO "dead_letters" ("id", "group", "retry_after", "processed_at", "locked_until", "payload") SELECT "id", "group", ?, NULL, NULL, "payload" FROM "jobs" WHERE "id" = ? AND "locked_until" = ?;
-- binds: now, id[0], token

-- move to table
DELETE FROM "jobs" WHERE "id" = ? AND "locked_until" = ?;
-- binds: id[0], token

-- held
SELECT 1 FROM "jobs" WHERE "id" = ? AND "locked_until" = ?;
-- binds: id[0], token

-- groups
WITH RECURSIVE __groups(__group, __n) AS (SELECT (SELECT "group" FROM "jobs" ORDER BY "group" LIMIT 1), 1 UNION ALL SELECT (SELECT "group" FROM "jobs" WHERE "group" > __groups.__group ORDER BY "group" LIMIT 1), __n + 1 FROM __groups WHERE __group IS NOT NULL AND __n < ?) SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM "jobs" WHERE "id" = (SELECT "id" FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL ORDER BY "retry_after", "id" LIMIT 1) AND "retry_after" <= ? AND NOT EXISTS (SELECT 1 FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL AND "locked_until" > ?)) THEN '1' ELSE '0' END FROM __groups WHERE __group IS NOT NULL ORDER BY __n;
-- binds: page, now, now

-- next groups
WITH RECURSIVE __groups(__group, __n) AS (SELECT (SELECT "group" FROM "jobs" WHERE "group" > ? ORDER BY "group" LIMIT 1), 1 UNION ALL SELECT (SELECT "group" FROM "jobs" WHERE "group" > __groups.__group ORDER BY "group" LIMIT 1), __n + 1 FROM __groups WHERE __group IS NOT NULL AND __n < ?) SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM "jobs" WHERE "id" = (SELECT "id" FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL ORDER BY "retry_after", "id" LIMIT 1) AND "retry_after" <= ? AND NOT EXISTS (SELECT 1 FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL AND "locked_until" > ?)) THEN '1' ELSE '0' END FROM __groups WHERE __group IS NOT NULL ORDER BY __n;
-- binds: after, page, now, now

-- claim head
UPDATE "jobs" SET "locked_until" = ? WHERE "id" = (SELECT "id" FROM "jobs" WHERE "group" = ? AND "processed_at" IS NULL ORDER BY "retry_after", "id" LIMIT 1) AND "retry_after" <= ? AND NOT EXISTS (SELECT 1 FROM "jobs" WHERE "group" = ? AND "processed_at" IS NULL AND "locked_until" > ?) RETURNING "id", CAST("locked_until" AS CHAR), "group", "payload", CAST("retry_after" AS CHAR);
-- binds: expiry, group, now, group, now
-- answers: id[0], token, group, payload, retry_after

-- claim of all groups
UPDATE "jobs" SET "locked_until" = ? WHERE "id" IN (SELECT "id" FROM "jobs" WHERE "group" NOT IN (?, ?) AND "processed_at" IS NULL AND "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "retry_after", "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "group", "payload", CAST("retry_after" AS CHAR);
-- binds: expiry, except[0], except[1], now, now, limit
-- answers: id[0], token, group, payload, retry_after

-- groups of all groups
WITH RECURSIVE __groups(__group, __n) AS (SELECT (SELECT "group" FROM "jobs" ORDER BY "group" LIMIT 1), 1 UNION ALL SELECT (SELECT "group" FROM "jobs" WHERE "group" > __groups.__group ORDER BY "group" LIMIT 1), __n + 1 FROM __groups WHERE __group IS NOT NULL AND __n < ?) SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM "jobs" WHERE "id" = (SELECT "id" FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL ORDER BY "retry_after", "id" LIMIT 1) AND "retry_after" <= ? AND NOT EXISTS (SELECT 1 FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL AND "locked_until" > ?)) THEN '1' ELSE '0' END FROM __groups WHERE __group IS NOT NULL AND __group NOT IN (?, ?) ORDER BY __n;
-- binds: page, now, now, except[0], except[1]

-- next groups of all groups
WITH RECURSIVE __groups(__group, __n) AS (SELECT (SELECT "group" FROM "jobs" WHERE "group" > ? ORDER BY "group" LIMIT 1), 1 UNION ALL SELECT (SELECT "group" FROM "jobs" WHERE "group" > __groups.__group ORDER BY "group" LIMIT 1), __n + 1 FROM __groups WHERE __group IS NOT NULL AND __n < ?) SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM "jobs" WHERE "id" = (SELECT "id" FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL ORDER BY "retry_after", "id" LIMIT 1) AND "retry_after" <= ? AND NOT EXISTS (SELECT 1 FROM "jobs" WHERE "group" = __groups.__group AND "processed_at" IS NULL AND "locked_until" > ?)) THEN '1' ELSE '0' END FROM __groups WHERE __group IS NOT NULL AND __group NOT IN (?, ?) ORDER BY __n;
-- binds: after, page, now, now, except[0], except[1]
