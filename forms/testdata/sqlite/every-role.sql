CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "group" TEXT NOT NULL,
  "priority" INTEGER NOT NULL DEFAULT 0,
  "partition_key" TEXT,
  "retry_after" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  "attempt" INTEGER NOT NULL DEFAULT 1,
  "processed_at" TEXT,
  "locked_until" TEXT,
  "headers" TEXT,
  "payload" BLOB NOT NULL,
  "error" TEXT,
  "origin" TEXT,
  "created_at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
);

CREATE INDEX "jobs_claim_idx" ON "jobs" ("group", "processed_at", "priority", "retry_after", "id");

CREATE INDEX "jobs_order_idx" ON "jobs" ("processed_at", "priority", "retry_after", "id");

-- describe
SELECT name, type, "notnull" = 0 AND NOT (pk = 1 AND upper(type) = 'INTEGER'), hidden IN (2, 3), 0, 6, 0, pk > 0 FROM pragma_table_xinfo('jobs') WHERE hidden <> 1 ORDER BY cid;

-- clock
SELECT (julianday('now') - 2440587.5) * 86400.0;

-- insert
INSERT INTO "jobs" ("payload", "group", "headers", "retry_after", "priority", "partition_key") VALUES (?, ?, ?, ?, ?, ?);
-- binds: value[payload], value[group], value[headers], value[retry_after], value[priority], value[partition_key]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN "locked_until" IS NOT NULL AND "locked_until" > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "processed_at" IS NULL;
-- binds: now, now, now, group

-- read
SELECT "id", CAST("locked_until" AS CHAR), "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR) FROM "jobs" WHERE "id" = ?;
-- binds: id[0]
-- answers: id[0], token, attempt, group, partition_key, headers, payload, priority, retry_after

-- claim
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "processed_at" IS NULL AND "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "priority", "retry_after", "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR);
-- binds: expiry, group, now, now, limit
-- answers: id[0], token, attempt, group, partition_key, headers, payload, priority, retry_after

-- claim ahead
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "processed_at" IS NULL AND "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) AND "attempt" < ? ORDER BY "priority", "retry_after", "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR);
-- binds: expiry, group, now, now, cap, limit
-- answers: id[0], token, attempt, group, partition_key, headers, payload, priority, retry_after

-- extend: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

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
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- finish
UPDATE "jobs" SET "processed_at" = ?, "locked_until" = NULL WHERE "id" IN (/*list*/);
-- binds: now
-- list: ?
-- list binds: id[0]

-- finish: whole
UPDATE "jobs" SET "processed_at" = ?, "locked_until" = NULL WHERE "locked_until" = ? AND "attempt" = ? AND "id" IN (SELECT value FROM json_each(?));
-- binds: now, token, count, ids[0]

-- return: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- return
UPDATE "jobs" SET "locked_until" = NULL, "retry_after" = COALESCE(?, "retry_after"), "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: until, restore, reason, id[0], token, count

-- move to group: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to group
UPDATE "jobs" SET "locked_until" = NULL, "origin" = CAST("group" AS CHAR), "group" = ?, "retry_after" = ?, "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: target, now, restore, reason, id[0], token, count

-- move to table: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to table
INSERT INTO "dead_letters" ("id", "group", "priority", "partition_key", "retry_after", "attempt", "processed_at", "locked_until", "headers", "payload", "error", "origin", "created_at") SELECT "id", "group", "priority", "partition_key", ?, COALESCE(?, "attempt"), NULL, NULL, "headers", "payload", COALESCE(?, "error"), CAST("group" AS CHAR), "created_at" FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: now, restore, reason, id[0], token, count

-- move to table
DELETE FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: id[0], token, count

-- held
SELECT 1 FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: id[0], token, count

-- claim of all groups
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE "group" NOT IN (?, ?) AND "processed_at" IS NULL AND "retry_after" <= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "priority", "retry_after", "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR);
-- binds: expiry, except[0], except[1], now, now, limit
-- answers: id[0], token, attempt, group, partition_key, headers, payload, priority, retry_after
