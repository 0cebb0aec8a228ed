CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "locked_until" TEXT,
  "payload" BLOB NOT NULL
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
SELECT "id", CAST("locked_until" AS CHAR), "payload" FROM "jobs" WHERE "id" = ?;
-- binds: id[0]
-- answers: id[0], token, payload

-- claim
UPDATE "jobs" SET "locked_until" = ? WHERE "id" IN (SELECT "id" FROM "jobs" WHERE 1 = 1 AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "payload";
-- binds: expiry, now, limit
-- answers: id[0], token, payload

-- claim from a mark
UPDATE "jobs" SET "locked_until" = ? WHERE "id" IN (SELECT "id" FROM "jobs" WHERE 1 = 1 AND "id" >= ? AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "payload";
-- binds: expiry, mark, now, limit
-- answers: id[0], token, payload

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
DELETE FROM "jobs" WHERE "id" IN (/*list*/);
-- list: ?
-- list binds: id[0]

-- finish: whole
DELETE FROM "jobs" WHERE "locked_until" = ? AND "id" IN (SELECT value FROM json_each(?));
-- binds: token, ids[0]

-- return: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- return
UPDATE "jobs" SET "locked_until" = ? WHERE "id" = ? AND "locked_until" = ?;
-- binds: until, id[0], token

-- move to table: lock
SELECT "id", CAST("locked_until" AS CHAR) FROM "jobs" WHERE "id" IN (/*list*/) ORDER BY "id";
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- move to table
INSERT INTO "dead_letters" ("id", "locked_until", "payload") SELECT "id", NULL, "payload" FROM "jobs" WHERE "id" = ? AND "locked_until" = ?;
-- binds: id[0], token

-- move to table
DELETE FROM "jobs" WHERE "id" = ? AND "locked_until" = ?;
-- binds: id[0], token

-- held
SELECT 1 FROM "jobs" WHERE "id" = ? AND "locked_until" = ?;
-- binds: id[0], token
