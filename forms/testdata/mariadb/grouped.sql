CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `group` varchar(191) NOT NULL,
  `priority` int NOT NULL DEFAULT 0,
  `retry_after` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `attempt` int NOT NULL DEFAULT 1,
  `locked_until` datetime(6),
  `headers` json,
  `payload` longblob NOT NULL,
  `error` text
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `jobs_claim_idx` ON `jobs` (`group`, `priority`, `retry_after`, `id`);

CREATE INDEX `jobs_order_idx` ON `jobs` (`priority`, `retry_after`, `id`);

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'6A6F6273' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `jobs` (`payload`, `group`, `headers`, `retry_after`, `priority`) VALUES (?, ?, ?, ?, ?);
-- binds: value[payload], value[group], value[headers], value[retry_after], value[priority]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN `locked_until` IS NOT NULL AND `locked_until` > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `group` = ?;
-- binds: now, now, now, group

-- read
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], token, attempt, group, headers, payload, priority, retry_after

-- claim
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` = ? AND `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, now, limit
-- answers: id[0], token, attempt, group, headers, payload, priority, retry_after

-- claim: stamp
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ?, `attempt` = CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- claim: reread
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` WHERE `id` IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- claim ahead
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` = ? AND `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `attempt` < ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, now, cap, limit
-- answers: id[0], token, attempt, group, headers, payload, priority, retry_after

-- claim ahead: stamp
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ?, `attempt` = CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- claim ahead: reread
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` WHERE `id` IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- extend: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- extend
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = GREATEST(`locked_until`, ?) WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- extend: reread
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` WHERE `id` IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- finish: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- finish
DELETE q FROM (SELECT `id`, `locked_until` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) LIMIT 18446744073709551615 FOR UPDATE SKIP LOCKED) AS h STRAIGHT_JOIN `jobs` AS q FORCE INDEX (PRIMARY) ON q.`id` = h.`id`;
-- list: ?
-- list binds: id[0]

-- finish: whole
DELETE q FROM (SELECT `id`, COUNT(*) OVER () = ? AS __whole FROM (SELECT `id` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `locked_until` = ? AND `attempt` = ? AND `id` IN (/*list*/) LIMIT 18446744073709551615 FOR UPDATE SKIP LOCKED) AS k) AS h STRAIGHT_JOIN `jobs` AS q FORCE INDEX (PRIMARY) ON q.`id` = h.`id` AND h.__whole;
-- binds: size, token, count
-- list: ?
-- list binds: id[0]

-- return: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- return
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = NULL, `retry_after` = COALESCE(?, `retry_after`), `attempt` = COALESCE(?, `attempt`), `error` = COALESCE(LEFT(?, 16383), `error`) WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: until, restore, reason, id[0], token, count

-- move to group: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to group
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = NULL, `group` = ?, `retry_after` = ?, `attempt` = COALESCE(?, `attempt`), `error` = COALESCE(LEFT(?, 16383), `error`) WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: target, now, restore, reason, id[0], token, count

-- move to table: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to table
INSERT INTO `dead_letters` (`id`, `group`, `priority`, `retry_after`, `attempt`, `locked_until`, `headers`, `payload`, `error`) SELECT `id`, `group`, `priority`, ?, COALESCE(?, `attempt`), NULL, `headers`, `payload`, COALESCE(LEFT(?, 16383), `error`) FROM `jobs` WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: now, restore, reason, id[0], token, count

-- move to table
DELETE FROM `jobs` WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: id[0], token, count

-- held
SELECT 1 FROM `jobs` WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: id[0], token, count

-- claim of all groups
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` NOT IN (?, ?) AND `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], now, now, limit
-- answers: id[0], token, attempt, group, headers, payload, priority, retry_after
