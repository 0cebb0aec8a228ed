CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "group" TEXT NOT NULL,
  "priority" INTEGER NOT NULL DEFAULT 0,
  "partition_key" TEXT,
  "retry_after" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  "attempt" INTEGER NOT NULL DEFAULT 1,
  "processed_at" TEXT,
  "headers" TEXT,
  "payload" BLOB NOT NULL,
  "error" TEXT,
  "origin" TEXT,
  "created_at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
);

CREATE INDEX "jobs_claim_idx" ON "jobs" ("group", "processed_at", "priority", "retry_after", "id");

CREATE INDEX "jobs_order_idx" ON "jobs" ("processed_at", "priority", "retry_after", "id");

-- candidates
SELECT "id", COALESCE(('{jobs}''\-' || CASE typeof("partition_key") WHEN 'blob' THEN hex("partition_key") ELSE CAST("partition_key" AS TEXT) END || '-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __lock, '=' || COALESCE(('{jobs}''\-' || CASE typeof("partition_key") WHEN 'blob' THEN hex("partition_key") ELSE CAST("partition_key" AS TEXT) END || '-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __name, "attempt" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "processed_at" IS NULL AND "retry_after" <= ? AND '=' || COALESCE(('{jobs}''\-' || CASE typeof("partition_key") WHEN 'blob' THEN hex("partition_key") ELSE CAST("partition_key" AS TEXT) END || '-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) NOT IN (/*list*/) ORDER BY "priority", "retry_after", "id" LIMIT ?;
-- binds: group, now, limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name, attempt

-- take
UPDATE "jobs" SET "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" = ? AND likelihood("group" = ?, 0.001) AND "processed_at" IS NULL AND "retry_after" <= ? RETURNING "id", "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR);
-- binds: id[0], group, now
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- take ahead
UPDATE "jobs" SET "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" = ? AND likelihood("group" = ?, 0.001) AND "processed_at" IS NULL AND "retry_after" <= ? AND "attempt" < ? RETURNING "id", "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR);
-- binds: id[0], group, now, cap
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- finish
UPDATE "jobs" SET "processed_at" = ? WHERE "id" = ?;
-- binds: now, id[0]

-- return
UPDATE "jobs" SET "retry_after" = COALESCE(?, "retry_after"), "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ?;
-- binds: until, restore, reason, id[0]

-- move to group
UPDATE "jobs" SET "origin" = CAST("group" AS CHAR), "group" = ?, "retry_after" = ?, "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ?;
-- binds: target, now, restore, reason, id[0]

-- move to table
INSERT INTO "dead_letters" ("id", "group", "priority", "partition_key", "retry_after", "attempt", "processed_at", "headers", "payload", "error", "origin", "created_at") SELECT "id", "group", "priority", "partition_key", ?, COALESCE(?, "attempt"), NULL, "headers", "payload", COALESCE(?, "error"), CAST("group" AS CHAR), "created_at" FROM "jobs" WHERE "id" = ?;
-- binds: now, restore, reason, id[0]

-- move to table
DELETE FROM "jobs" WHERE "id" = ?;
-- binds: id[0]

-- candidates of all groups
SELECT "id", COALESCE(('{jobs}''\-' || CASE typeof("partition_key") WHEN 'blob' THEN hex("partition_key") ELSE CAST("partition_key" AS TEXT) END || '-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __lock, '=' || COALESCE(('{jobs}''\-' || CASE typeof("partition_key") WHEN 'blob' THEN hex("partition_key") ELSE CAST("partition_key" AS TEXT) END || '-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __name, "attempt" FROM "jobs" WHERE "group" NOT IN (?, ?) AND "processed_at" IS NULL AND "retry_after" <= ? AND '=' || COALESCE(('{jobs}''\-' || CASE typeof("partition_key") WHEN 'blob' THEN hex("partition_key") ELSE CAST("partition_key" AS TEXT) END || '-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) NOT IN (/*list*/) ORDER BY "priority", "retry_after", "id" LIMIT ?;
-- binds: except[0], except[1], now, limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name, attempt

-- take of all groups
UPDATE "jobs" SET "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" = ? AND "group" NOT IN (?, ?) AND "processed_at" IS NULL AND "retry_after" <= ? RETURNING "id", "attempt", "group", "partition_key", "headers", "payload", "priority", CAST("retry_after" AS CHAR);
-- binds: id[0], except[0], except[1], now
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
