CREATE TABLE "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "payload" BLOB NOT NULL
);

-- candidates
SELECT "id", ('jobs-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END) AS __lock, '=' || ('jobs-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END) AS __name FROM "jobs" WHERE 1 = 1 AND '=' || ('jobs-' || CASE typeof("id") WHEN 'blob' THEN hex("id") ELSE CAST("id" AS TEXT) END) NOT IN (/*list*/) ORDER BY "id" LIMIT ?;
-- binds: limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name

-- take
SELECT "id", "payload" FROM "jobs" WHERE "id" = ? AND 1 = 1;
-- binds: id[0]
-- answers: id[0], payload

-- finish
DELETE FROM "jobs" WHERE "id" = ?;
-- binds: id[0]

-- move to table
INSERT INTO "dead_letters" ("id", "payload") SELECT "id", "payload" FROM "jobs" WHERE "id" = ?;
-- binds: id[0]

-- move to table
DELETE FROM "jobs" WHERE "id" = ?;
-- binds: id[0]

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
