CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "attempt" INTEGER NOT NULL DEFAULT 1,
  "locked_until" TEXT,
  "payload" BLOB NOT NULL,
  "error" TEXT
);

-- describe
SELECT name, type, "notnull" = 0 AND NOT (pk = 1 AND upper(type) = 'INTEGER'), hidden IN (2, 3), 0, 6, 0, pk > 0 FROM pragma_table_xinfo('jobs') WHERE hidden <> 1 ORDER BY cid;

-- clock
SELECT (julianday('now') - 2440587.5) * 86400.0;

-- insert
INSERT INTO "jobs" ("payload") VALUES (?);
-- binds: value[payload]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN "locked_until" IS NOT NULL AND "locked_until" > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 AND ("locked_until" IS NULL OR "locked_until" <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM "jobs" WHERE 1 = 1;
-- binds: now, now

-- read
SELECT "id", CAST("locked_until" AS CHAR), "attempt", "payload" FROM "jobs" WHERE "id" = ?;
-- binds: id[0]
-- answers: id[0], token, attempt, payload

-- claim
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE 1 = 1 AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "payload";
-- binds: expiry, now, limit
-- answers: id[0], token, attempt, payload

-- claim from a mark
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE 1 = 1 AND "id" >= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "payload";
-- binds: expiry, mark, now, limit
-- answers: id[0], token, attempt, payload

-- claim ahead
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE 1 = 1 AND ("locked_until" IS NULL OR "locked_until" <= ?) AND "attempt" < ? ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "payload";
-- binds: expiry, now, cap, limit
-- answers: id[0], token, attempt, payload

-- claim ahead from a mark
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE 1 = 1 AND "id" >= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) AND "attempt" < ? ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "payload";
-- binds: expiry, mark, now, cap, limit
-- answers: id[0], token, attempt, payload

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
DELETE FROM "jobs" WHERE "id" IN (/*list*/);
-- list: ?
-- list binds: id[0]

-- finish: whole
DELETE FROM "jobs" WHERE "locked_until" = ? AND "attempt" = ? AND "id" IN (SELECT value FROM json_each(?));
-- binds: token, count, ids[0]

-- return: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- return
UPDATE "jobs" SET "locked_until" = ?, "attempt" = COALESCE(?, "attempt"), "error" = COALESCE(?, "error") WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: until, restore, reason, id[0], token, count

-- move to table: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to table
INSERT INTO "dead_letters" ("id", "attempt", "locked_until", "payload", "error") SELECT "id", COALESCE(?, "attempt"), NULL, "payload", COALESCE(?, "error") FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: restore, reason, id[0], token, count

-- move to table
DELETE FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: id[0], token, count

-- held
SELECT 1 FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: id[0], token, count
