CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `group` varchar(191) NOT NULL,
  `attempt` int NOT NULL DEFAULT 1,
  `locked_until` datetime(6),
  `headers` json
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `jobs_claim_idx` ON `jobs` (`group`, `id`);

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'6A6F6273' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `jobs` (`group`, `headers`) VALUES (?, ?);
-- binds: value[group], value[headers]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN `locked_until` IS NOT NULL AND `locked_until` > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 AND (`locked_until` IS NULL OR `locked_until` <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `group` = ?;
-- binds: now, now, group

-- read
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `id`, `group`, `attempt`, `headers` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], token, attempt, group, headers, column[0], column[1], column[2], column[4]

-- claim
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `id`, `group`, `attempt`, `headers` FROM `jobs` WHERE `group` = ? AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, limit
-- answers: id[0], token, attempt, group, headers, column[0], column[1], column[2], column[4]

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

-- claim from a mark
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `id`, `group`, `attempt`, `headers` FROM `jobs` WHERE `group` = ? AND `id` >= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, mark, now, limit
-- answers: id[0], token, attempt, group, headers, column[0], column[1], column[2], column[4]

-- claim from a mark: stamp
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ?, `attempt` = CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- claim from a mark: reread
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` WHERE `id` IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- claim ahead
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `id`, `group`, `attempt`, `headers` FROM `jobs` WHERE `group` = ? AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `attempt` < ? ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, cap, limit
-- answers: id[0], token, attempt, group, headers, column[0], column[1], column[2], column[4]

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

-- claim ahead from a mark
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `id`, `group`, `attempt`, `headers` FROM `jobs` WHERE `group` = ? AND `id` >= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `attempt` < ? ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, mark, now, cap, limit
-- answers: id[0], token, attempt, group, headers, column[0], column[1], column[2], column[4]

-- claim ahead from a mark: stamp
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ?, `attempt` = CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- claim ahead from a mark: reread
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
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ?, `attempt` = COALESCE(?, `attempt`) WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: until, restore, id[0], token, count

-- move to group: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to group
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = NULL, `group` = ?, `attempt` = COALESCE(?, `attempt`) WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: target, restore, id[0], token, count

-- move to table: lock
SELECT `id`, CAST(`locked_until` AS CHAR), `attempt` FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token, attempt

-- move to table
INSERT INTO `dead_letters` (`id`, `group`, `attempt`, `locked_until`, `headers`) SELECT `id`, `group`, COALESCE(?, `attempt`), NULL, `headers` FROM `jobs` WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: restore, id[0], token, count

-- move to table
DELETE FROM `jobs` WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: id[0], token, count

-- held
SELECT 1 FROM `jobs` WHERE `id` = ? AND `locked_until` = ? AND `attempt` = ?;
-- binds: id[0], token, count

-- claim of all groups
SELECT `id`, `locked_until`, `attempt`, `group`, `headers`, `id`, `group`, `attempt`, `headers` FROM `jobs` WHERE `group` NOT IN (?, ?) AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], now, limit
-- answers: id[0], token, attempt, group, headers, column[0], column[1], column[2], column[4]
