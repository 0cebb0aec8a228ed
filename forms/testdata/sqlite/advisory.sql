CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "channel" TEXT,
  "group" TEXT NOT NULL,
  "retry_after" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  "attempt" INTEGER NOT NULL DEFAULT 1,
  "payload" BLOB NOT NULL,
  "error" TEXT
);

CREATE INDEX "jobs_claim_idx" ON "jobs" ("group", "retry_after", "id");

CREATE INDEX "jobs_order_idx" ON "jobs" ("retry_after", "id");

-- candidates
SELECT "id", COALESCE(('jobs-' || CASE typeof("channel") WHEN 'blob' THEN hex("channel") ELSE CAST("channel" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __lock, '=' || COALESCE(('jobs-' || CASE typeof("channel") WHEN 'blob' THEN hex("channel") ELSE CAST("channel" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __name, "attempt" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "retry_after" <= ? AND '=' || COALESCE(('jobs-' || CASE typeof("channel") WHEN 'blob' THEN hex("channel") ELSE CAST("channel" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) NOT IN (/*list*/) ORDER BY "retry_after", "id" LIMIT ?;
-- binds: group, now, limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name, attempt

-- take
UPDATE "jobs" SET "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" = ? AND likelihood("group" = ?, 0.001) AND "retry_after" <= ? RETURNING "id", "attempt", "group", "payload", CAST("retry_after" AS CHAR);
-- binds: id[0], group, now
-- answers: id[0], attempt, group, payload, retry_after

-- take ahead
UPDATE "jobs" SET "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" = ? AND likelihood("group" = ?, 0.001) AND "retry_after" <= ? AND "attempt" < ? RETURNING "id", "attempt", "group", "payload", CAST("retry_after" AS CHAR);
-- binds: id[0], group, now, cap
-- answers: id[0], attempt, group, payload, retry_after

-- finish
DELETE FROM "jobs" WHERE "id" = ?;
-- binds: id[0]

-- return
UPDATE "jobs" SET "retry_after" = COALESCE(?, "retry_after"), "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ?;
-- binds: until, restore, reason, id[0]

-- move to group
UPDATE "jobs" SET "group" = ?, "retry_after" = ?, "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ?;
-- binds: target, now, restore, reason, id[0]

-- move to table
INSERT INTO "dead_letters" ("id", "channel", "group", "retry_after", "attempt", "payload", "error") SELECT "id", "channel", "group", ?, COALESCE(?, "attempt"), "payload", COALESCE(?, "error") FROM "jobs" WHERE "id" = ?;
-- binds: now, restore, reason, id[0]

-- move to table
DELETE FROM "jobs" WHERE "id" = ?;
-- binds: id[0]

-- candidates of all groups
SELECT "id", COALESCE(('jobs-' || CASE typeof("channel") WHEN 'blob' THEN hex("channel") ELSE CAST("channel" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __lock, '=' || COALESCE(('jobs-' || CASE typeof("channel") WHEN 'blob' THEN hex("channel") ELSE CAST("channel" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) AS __name, "attempt" FROM "jobs" WHERE "group" NOT IN (?, ?) AND "retry_after" <= ? AND '=' || COALESCE(('jobs-' || CASE typeof("channel") WHEN 'blob' THEN hex("channel") ELSE CAST("channel" AS TEXT) END), ('jobs ' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END)) NOT IN (/*list*/) ORDER BY "retry_after", "id" LIMIT ?;
-- binds: except[0], except[1], now, limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name, attempt

-- take of all groups
UPDATE "jobs" SET "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" = ? AND "group" NOT IN (?, ?) AND "retry_after" <= ? RETURNING "id", "attempt", "group", "payload", CAST("retry_after" AS CHAR);
-- binds: id[0], except[0], except[1], now
-- answers: id[0], attempt, group, payload, retry_after

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
