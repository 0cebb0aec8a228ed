
-- census
SELECT "group"::text, COUNT(*)::text, COUNT(CASE WHEN 1 = 0 THEN 1 END)::text, COUNT(CASE WHEN 1 = 1 AND 1 = 0 THEN 1 END)::text, MIN(CASE WHEN 1 = 1 AND NOT (1 = 0) THEN NULL END)::text FROM "My ""Jobs""" GROUP BY "group";

-- in work
SELECT "group"::text, COUNT(*)::text, COUNT(CASE WHEN 1 = 0 THEN 1 END)::text FROM "My ""Jobs""" WHERE "Locked Until" > $1 GROUP BY "group"::text;
-- binds: now

-- hold due rows
SELECT "tenant"::text, "order"::text FROM "My ""Jobs""" WHERE ("Locked Until" IS NULL OR "Locked Until" <= $1) AND "group" NOT IN ($2, $3) ORDER BY "tenant", "order" LIMIT $4 FOR UPDATE SKIP LOCKED;
-- binds: now, dead group[0], dead group[1], limit
-- answers: id[0], id[1]

-- remove
DELETE FROM "My ""Jobs""" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- revive from a table
INSERT INTO "My ""Jobs""" ("tenant", "order", "group", "select", "Locked Until", "payload") SELECT "tenant", "order", "group", 1, NULL, "payload" FROM "dead_letters" WHERE "tenant" = $1 AND "order" = $2;
-- binds: id[0], id[1]

-- list dead letters of a table of their own
SELECT "tenant"::text, "order"::text, CASE WHEN "Locked Until" > $1 THEN 'in_work' WHEN 1 = 1 THEN 'dead' ELSE 'due' END, "group"::text, "select"::text, "Locked Until"::text, substring("payload" from 1 for $2::integer), octet_length("payload")::text FROM (SELECT "tenant" AS __k0, "order" AS __k1 FROM "My ""Jobs""" WHERE ("Locked Until" IS NULL OR "Locked Until" <= $1) ORDER BY "tenant", "order" LIMIT $3 OFFSET $4) AS __chosen JOIN "My ""Jobs""" ON "tenant" = __k0 AND "order" = __k1 ORDER BY "tenant", "order";
-- binds: now, preview, limit, offset

-- list
SELECT "tenant"::text, "order"::text, CASE WHEN "Locked Until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' ELSE 'due' END, "group"::text, "select"::text, "Locked Until"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "tenant" AS __k0, "order" AS __k1 FROM "My ""Jobs""" ORDER BY "tenant", "order" LIMIT $5 OFFSET $6) AS __chosen JOIN "My ""Jobs""" ON "tenant" = __k0 AND "order" = __k1 ORDER BY "tenant", "order";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list due
SELECT "tenant"::text, "order"::text, CASE WHEN "Locked Until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' ELSE 'due' END, "group"::text, "select"::text, "Locked Until"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "tenant" AS __k0, "order" AS __k1 FROM "My ""Jobs""" WHERE ("Locked Until" IS NULL OR "Locked Until" <= $1) AND "group" NOT IN ($2, $3) ORDER BY "tenant", "order" LIMIT $5 OFFSET $6) AS __chosen JOIN "My ""Jobs""" ON "tenant" = __k0 AND "order" = __k1 ORDER BY "tenant", "order";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list in_work
SELECT "tenant"::text, "order"::text, CASE WHEN "Locked Until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' ELSE 'due' END, "group"::text, "select"::text, "Locked Until"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "tenant" AS __k0, "order" AS __k1 FROM "My ""Jobs""" WHERE "Locked Until" > $1 ORDER BY "tenant", "order" LIMIT $5 OFFSET $6) AS __chosen JOIN "My ""Jobs""" ON "tenant" = __k0 AND "order" = __k1 ORDER BY "tenant", "order";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list dead
SELECT "tenant"::text, "order"::text, CASE WHEN "Locked Until" > $1 THEN 'in_work' WHEN "group" IN ($2, $3) THEN 'dead' ELSE 'due' END, "group"::text, "select"::text, "Locked Until"::text, substring("payload" from 1 for $4::integer), octet_length("payload")::text FROM (SELECT "tenant" AS __k0, "order" AS __k1 FROM "My ""Jobs""" WHERE "group" IN ($2, $3) AND ("Locked Until" IS NULL OR "Locked Until" <= $1) ORDER BY "tenant", "order" LIMIT $5 OFFSET $6) AS __chosen JOIN "My ""Jobs""" ON "tenant" = __k0 AND "order" = __k1 ORDER BY "tenant", "order";
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- revive
UPDATE "My ""Jobs""" SET "group" = $1::text, "select" = 1, "Locked Until" = NULL WHERE "tenant" = $2 AND "order" = $3;
-- binds: target, id[0], id[1]
