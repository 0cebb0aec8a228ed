CREATE TABLE "My ""Jobs""" (
  "tenant" INTEGER NOT NULL,
  "order" INTEGER NOT NULL,
  "group" TEXT NOT NULL,
  "select" INTEGER NOT NULL DEFAULT 1,
  "Locked Until" TEXT,
  "payload" BLOB NOT NULL,
  PRIMARY KEY ("tenant", "order")
);

CREATE INDEX "My ""Jobs""_claim_idx" ON "My ""Jobs""" ("group", "tenant", "order");

-- describe
SELECT name, type, "notnull" = 0 AND NOT (pk = 1 AND upper(type) = 'INTEGER'), hidden IN (2, 3), 0, 6, 0, pk > 0 FROM pragma_table_xinfo('My "Jobs"') WHERE hidden <> 1 ORDER BY cid;

-- clock
SELECT (julianday('now') - 2440587.5) * 86400.0;

-- insert
INSERT INTO "My ""Jobs""" ("payload", "group") VALUES (?, ?);
-- binds: value[payload], value[group]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN "Locked Until" IS NOT NULL AND "Locked Until" > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 AND ("Locked Until" IS NULL OR "Locked Until" <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM "My ""Jobs""" WHERE likelihood("group" = ?, 0.001) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null');
-- binds: now, now, group

-- read
SELECT "tenant", "order", CAST("Locked Until" AS CHAR), "select", "group", "payload" FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ?;
-- binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt, group, payload

-- claim
UPDATE "My ""Jobs""" SET "Locked Until" = ?, "select" = CASE WHEN "select" < 9223372036854775807 THEN "select" + 1 ELSE "select" END WHERE ("tenant", "order") IN (SELECT "tenant", "order" FROM "My ""Jobs""" WHERE likelihood("group" = ?, 0.001) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') AND ("Locked Until" IS NULL OR "Locked Until" <= ?) ORDER BY "tenant", "order" LIMIT ?) RETURNING "tenant", "order", CAST("Locked Until" AS CHAR), "select", "group", "payload";
-- binds: expiry, group, now, limit
-- answers: id[0], id[1], token, attempt, group, payload

-- claim ahead
UPDATE "My ""Jobs""" SET "Locked Until" = ?, "select" = CASE WHEN "select" < 9223372036854775807 THEN "select" + 1 ELSE "select" END WHERE ("tenant", "order") IN (SELECT "tenant", "order" FROM "My ""Jobs""" WHERE likelihood("group" = ?, 0.001) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') AND ("Locked Until" IS NULL OR "Locked Until" <= ?) AND "select" < ? ORDER BY "tenant", "order" LIMIT ?) RETURNING "tenant", "order", CAST("Locked Until" AS CHAR), "select", "group", "payload";
-- binds: expiry, group, now, cap, limit
-- answers: id[0], id[1], token, attempt, group, payload

-- extend: lock
SELECT "tenant", "order", CAST("Locked Until" AS CHAR), "select" FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/) ORDER BY "tenant", "order";
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- extend
UPDATE "My ""Jobs""" SET "Locked Until" = MAX("Locked Until", ?) WHERE ("tenant", "order") IN (VALUES /*list*/);
-- binds: expiry
-- list: (?, ?)
-- list binds: id[0], id[1]

-- extend: reread
SELECT "tenant", "order", CAST("Locked Until" AS CHAR) FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/);
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token

-- finish: lock
SELECT "tenant", "order", CAST("Locked Until" AS CHAR), "select" FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/) ORDER BY "tenant", "order";
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- finish
DELETE FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/);
-- list: (?, ?)
-- list binds: id[0], id[1]

-- finish: whole
DELETE FROM "My ""Jobs""" WHERE "Locked Until" = ? AND "select" = ? AND ("tenant", "order") IN (VALUES /*list*/);
-- binds: token, count
-- list: (?, ?)
-- list binds: id[0], id[1]

-- return: lock
SELECT "tenant", "order", CAST("Locked Until" AS CHAR), "select" FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/) ORDER BY "tenant", "order";
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- return
UPDATE "My ""Jobs""" SET "Locked Until" = ?, "select" = COALESCE(?, "select") WHERE "tenant" = ? AND "order" = ? AND "Locked Until" = ? AND "select" = ?;
-- binds: until, restore, id[0], id[1], token, count

-- move to group: lock
SELECT "tenant", "order", CAST("Locked Until" AS CHAR), "select" FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/) ORDER BY "tenant", "order";
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- move to group
UPDATE "My ""Jobs""" SET "Locked Until" = NULL, "group" = ?, "select" = COALESCE(?, "select") WHERE "tenant" = ? AND "order" = ? AND "Locked Until" = ? AND "select" = ?;
-- binds: target, restore, id[0], id[1], token, count

-- move to table: lock
SELECT "tenant", "order", CAST("Locked Until" AS CHAR), "select" FROM "My ""Jobs""" WHERE ("tenant", "order") IN (VALUES /*list*/) ORDER BY "tenant", "order";
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- move to table
INSERT INTO "dead_letters" ("tenant", "order", "group", "select", "Locked Until", "payload") SELECT "tenant", "order", "group", COALESCE(?, "select"), NULL, "payload" FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ? AND "Locked Until" = ? AND "select" = ?;
-- binds: restore, id[0], id[1], token, count

-- move to table
DELETE FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ? AND "Locked Until" = ? AND "select" = ?;
-- binds: id[0], id[1], token, count

-- held
SELECT 1 FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ? AND "Locked Until" = ? AND "select" = ?;
-- binds: id[0], id[1], token, count

-- claim of all groups
UPDATE "My ""Jobs""" SET "Locked Until" = ?, "select" = CASE WHEN "select" < 9223372036854775807 THEN "select" + 1 ELSE "select" END WHERE ("tenant", "order") IN (SELECT "tenant", "order" FROM "My ""Jobs""" WHERE "group" NOT IN (?, ?) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') AND ("Locked Until" IS NULL OR "Locked Until" <= ?) ORDER BY "tenant", "order" LIMIT ?) RETURNING "tenant", "order", CAST("Locked Until" AS CHAR), "select", "group", "payload";
-- binds: expiry, except[0], except[1], now, limit
-- answers: id[0], id[1], token, attempt, group, payload
