CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "group" TEXT NOT NULL,
  "attempt" INTEGER NOT NULL DEFAULT 1,
  "locked_until" TEXT,
  "headers" TEXT
);

CREATE INDEX "jobs_claim_idx" ON "jobs" ("group", "id");

-- describe
SELECT name, type, "notnull" = 0 AND NOT (pk = 1 AND upper(type) = 'INTEGER'), hidden IN (2, 3), 0, 6, 0, pk > 0 FROM pragma_table_xinfo('jobs') WHERE hidden <> 1 ORDER BY cid;

-- clock
SELECT (julianday('now') - 2440587.5) * 86400.0;

-- insert
INSERT INTO "jobs" ("group", "headers") VALUES (?, ?);
-- binds: value[group], value[headers]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN "locked_until" IS NOT NULL AND "locked_until" > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 AND ("locked_until" IS NULL OR "locked_until" <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM "jobs" WHERE likelihood("group" = ?, 0.001);
-- binds: now, now, group

-- read
SELECT "id", CAST("locked_until" AS CHAR), "attempt", "group", "headers", CASE typeof("id") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"id", CASE typeof("group") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"group", CASE typeof("attempt") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"attempt", CASE typeof("headers") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"headers" FROM "jobs" WHERE "id" = ?;
-- binds: id[0]
-- answers: id[0], token, attempt, group, headers, kind[0], column[0], kind[1], column[1], kind[2], column[2], kind[4], column[4]

-- claim
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "headers", CASE typeof("id") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"id", CASE typeof("group") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"group", CASE typeof("attempt") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"attempt", CASE typeof("headers") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"headers";
-- binds: expiry, group, now, limit
-- answers: id[0], token, attempt, group, headers, kind[0], column[0], kind[1], column[1], kind[2], column[2], kind[4], column[4]

-- claim from a mark
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "id" >= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "headers", CASE typeof("id") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"id", CASE typeof("group") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"group", CASE typeof("attempt") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"attempt", CASE typeof("headers") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"headers";
-- binds: expiry, group, mark, now, limit
-- answers: id[0], token, attempt, group, headers, kind[0], column[0], kind[1], column[1], kind[2], column[2], kind[4], column[4]

-- claim ahead
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND ("locked_until" IS NULL OR "locked_until" <= ?) AND "attempt" < ? ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "headers", CASE typeof("id") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"id", CASE typeof("group") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"group", CASE typeof("attempt") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"attempt", CASE typeof("headers") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"headers";
-- binds: expiry, group, now, cap, limit
-- answers: id[0], token, attempt, group, headers, kind[0], column[0], kind[1], column[1], kind[2], column[2], kind[4], column[4]

-- claim ahead from a mark
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE likelihood("group" = ?, 0.001) AND "id" >= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) AND "attempt" < ? ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "headers", CASE typeof("id") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"id", CASE typeof("group") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"group", CASE typeof("attempt") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"attempt", CASE typeof("headers") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"headers";
-- binds: expiry, group, mark, now, cap, limit
-- answers: id[0], token, attempt, group, headers, kind[0], column[0], kind[1], column[1], kind[2], column[2], kind[4], column[4]

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
UPDATE "jobs" SET "locked_until" = ?, "attempt" = COALESCE(?, "attempt") WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: until, restore, id[0], token, count

-- move to group: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to group
UPDATE "jobs" SET "locked_until" = NULL, "group" = ?, "attempt" = COALESCE(?, "attempt") WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: target, restore, id[0], token, count

-- move to table: lock
SELECT "id", CAST("locked_until" AS CHAR), "attempt" FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to table
INSERT INTO "dead_letters" ("id", "group", "attempt", "locked_until", "headers") SELECT "id", "group", COALESCE(?, "attempt"), NULL, "headers" FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: restore, id[0], token, count

-- move to table
DELETE FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: id[0], token, count

-- held
SELECT 1 FROM "jobs" WHERE "id" = ? AND "locked_until" = ? AND "attempt" = ?;
-- binds: id[0], token, count

-- claim of all groups
UPDATE "jobs" SET "locked_until" = ?, "attempt" = CASE WHEN "attempt" < 9223372036854775807 THEN "attempt" + 1 ELSE "attempt" END WHERE "id" IN (SELECT "id" FROM "jobs" WHERE "group" NOT IN (?, ?) AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "attempt", "group", "headers", CASE typeof("id") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"id", CASE typeof("group") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"group", CASE typeof("attempt") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"attempt", CASE typeof("headers") WHEN 'integer' THEN 'integer' WHEN 'real' THEN 'float' WHEN 'blob' THEN 'bytes' WHEN 'text' THEN 'text' END, +"headers";
-- binds: expiry, except[0], except[1], now, limit
-- answers: id[0], token, attempt, group, headers, kind[0], column[0], kind[1], column[1], kind[2], column[2], kind[4], column[4]
