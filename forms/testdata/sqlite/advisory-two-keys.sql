CREATE TABLE "My ""Jobs""" (
  "tenant" INTEGER NOT NULL,
  "order" INTEGER NOT NULL,
  "a b" TEXT,
  "group" TEXT NOT NULL,
  "select" INTEGER NOT NULL DEFAULT 1,
  "payload" BLOB NOT NULL,
  PRIMARY KEY ("tenant", "order")
);

CREATE INDEX "My ""Jobs""_claim_idx" ON "My ""Jobs""" ("group", "tenant", "order");

-- candidates
SELECT "tenant", "order", COALESCE((CASE typeof("a b") WHEN 'blob' THEN hex("a b") ELSE CAST("a b" AS TEXT) END), ('My "Jobs" ' || CASE typeof("tenant") WHEN 'blob' THEN hex("tenant") ELSE CAST("tenant" AS TEXT) END || ',' || CASE typeof("order") WHEN 'blob' THEN hex("order") ELSE CAST("order" AS TEXT) END)) AS __lock, '=' || COALESCE((CASE typeof("a b") WHEN 'blob' THEN hex("a b") ELSE CAST("a b" AS TEXT) END), ('My "Jobs" ' || CASE typeof("tenant") WHEN 'blob' THEN hex("tenant") ELSE CAST("tenant" AS TEXT) END || ',' || CASE typeof("order") WHEN 'blob' THEN hex("order") ELSE CAST("order" AS TEXT) END)) AS __name, "select" FROM "My ""Jobs""" WHERE likelihood("group" = ?, 0.001) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') AND '=' || COALESCE((CASE typeof("a b") WHEN 'blob' THEN hex("a b") ELSE CAST("a b" AS TEXT) END), ('My "Jobs" ' || CASE typeof("tenant") WHEN 'blob' THEN hex("tenant") ELSE CAST("tenant" AS TEXT) END || ',' || CASE typeof("order") WHEN 'blob' THEN hex("order") ELSE CAST("order" AS TEXT) END)) NOT IN (/*list*/) ORDER BY "tenant", "order" LIMIT ?;
-- binds: group, limit
-- list: ?
-- list binds: name
-- answers: id[0], id[1], lock, name, attempt

-- take
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 9223372036854775807 THEN "select" + 1 ELSE "select" END WHERE "tenant" = ? AND "order" = ? AND likelihood("group" = ?, 0.001) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') RETURNING "tenant", "order", "select", "group", "payload";
-- binds: id[0], id[1], group
-- answers: id[0], id[1], attempt, group, payload

-- take ahead
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 9223372036854775807 THEN "select" + 1 ELSE "select" END WHERE "tenant" = ? AND "order" = ? AND likelihood("group" = ?, 0.001) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') AND "select" < ? RETURNING "tenant", "order", "select", "group", "payload";
-- binds: id[0], id[1], group, cap
-- answers: id[0], id[1], attempt, group, payload

-- finish
DELETE FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ?;
-- binds: id[0], id[1]

-- return
UPDATE "My ""Jobs""" SET "select" = COALESCE(?, "select") WHERE "tenant" = ? AND "order" = ?;
-- binds: restore, id[0], id[1]

-- move to group
UPDATE "My ""Jobs""" SET "group" = ?, "select" = COALESCE(?, "select") WHERE "tenant" = ? AND "order" = ?;
-- binds: target, restore, id[0], id[1]

-- move to table
INSERT INTO "dead_letters" ("tenant", "order", "a b", "group", "select", "payload") SELECT "tenant", "order", "a b", "group", COALESCE(?, "select"), "payload" FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ?;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM "My ""Jobs""" WHERE "tenant" = ? AND "order" = ?;
-- binds: id[0], id[1]

-- candidates of all groups
SELECT "tenant", "order", COALESCE((CASE typeof("a b") WHEN 'blob' THEN hex("a b") ELSE CAST("a b" AS TEXT) END), ('My "Jobs" ' || CASE typeof("tenant") WHEN 'blob' THEN hex("tenant") ELSE CAST("tenant" AS TEXT) END || ',' || CASE typeof("order") WHEN 'blob' THEN hex("order") ELSE CAST("order" AS TEXT) END)) AS __lock, '=' || COALESCE((CASE typeof("a b") WHEN 'blob' THEN hex("a b") ELSE CAST("a b" AS TEXT) END), ('My "Jobs" ' || CASE typeof("tenant") WHEN 'blob' THEN hex("tenant") ELSE CAST("tenant" AS TEXT) END || ',' || CASE typeof("order") WHEN 'blob' THEN hex("order") ELSE CAST("order" AS TEXT) END)) AS __name, "select" FROM "My ""Jobs""" WHERE "group" NOT IN (?, ?) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') AND '=' || COALESCE((CASE typeof("a b") WHEN 'blob' THEN hex("a b") ELSE CAST("a b" AS TEXT) END), ('My "Jobs" ' || CASE typeof("tenant") WHEN 'blob' THEN hex("tenant") ELSE CAST("tenant" AS TEXT) END || ',' || CASE typeof("order") WHEN 'blob' THEN hex("order") ELSE CAST("order" AS TEXT) END)) NOT IN (/*list*/) ORDER BY "tenant", "order" LIMIT ?;
-- binds: except[0], except[1], limit
-- list: ?
-- list binds: name
-- answers: id[0], id[1], lock, name, attempt

-- take of all groups
UPDATE "My ""Jobs""" SET "select" = CASE WHEN "select" < 9223372036854775807 THEN "select" + 1 ELSE "select" END WHERE "tenant" = ? AND "order" = ? AND "group" NOT IN (?, ?) AND typeof("tenant") NOT IN ('blob', 'null') AND typeof("order") NOT IN ('blob', 'null') RETURNING "tenant", "order", "select", "group", "payload";
-- binds: id[0], id[1], except[0], except[1]
-- answers: id[0], id[1], attempt, group, payload

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
