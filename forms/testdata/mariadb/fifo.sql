CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `group` varchar(191) NOT NULL,
  `retry_after` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `processed_at` datetime(6),
  `locked_until` datetime(6),
  `payload` longblob NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `jobs_claim_idx` ON `jobs` (`group`, `processed_at`, `retry_after`, `id`);

CREATE INDEX `jobs_group_idx` ON `jobs` (`group`, `locked_until`);

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'6A6F6273' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `jobs` (`payload`, `group`, `retry_after`) VALUES (?, ?, ?);
-- binds: value[payload], value[group], value[retry_after]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN `locked_until` IS NOT NULL AND `locked_until` > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL;
-- binds: now, now, now, group

-- read
SELECT `id`, `locked_until`, `group`, `payload`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], token, group, payload, retry_after

-- claim
SELECT `id`, `locked_until`, `group`, `payload`, `retry_after` FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, now, limit
-- answers: id[0], token, group, payload, retry_after

-- claim: stamp
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ? WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- claim: reread
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` WHERE `id` IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- extend: lock
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

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
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- finish
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `processed_at` = ?, `locked_until` = NULL WHERE `id` IN (/*list*/);
-- binds: now
-- list: ?
-- list binds: id[0]

-- return: lock
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- return
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = NULL, `retry_after` = COALESCE(?, `retry_after`) WHERE `id` = ? AND `locked_until` = ?;
-- binds: until, id[0], token

-- move to group: lock
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- move to group
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = NULL, `group` = ?, `retry_after` = ? WHERE `id` = ? AND `locked_until` = ?;
-- binds: target, now, id[0], token

-- move to table: lock
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` FORCE INDEX (PRIMARY) WHERE `id` IN (/*list*/) ORDER BY `id` FOR UPDATE SKIP LOCKED;
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- move to table
INSERT INTO `dead_letters` (`id`, `group`, `retry_after`, `processed_at`, `locked_until`, `payload`) SELECT `id`, `group`, ?, NULL, NULL, `payload` FROM `jobs` WHERE `id` = ? AND `locked_until` = ?;
-- binds: now, id[0], token

-- move to table
DELETE FROM `jobs` WHERE `id` = ? AND `locked_until` = ?;
-- binds: id[0], token

-- held
SELECT 1 FROM `jobs` WHERE `id` = ? AND `locked_until` = ?;
-- binds: id[0], token

-- groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group AND `processed_at` IS NULL ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ? AND COALESCE((SELECT `locked_until` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `locked_until` DESC LIMIT 1) <= ?, 1 = 1)) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` IS NOT NULL ORDER BY `group` LIMIT ?) AS __groups ORDER BY __group;
-- binds: now, now, page

-- next groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group AND `processed_at` IS NULL ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ? AND COALESCE((SELECT `locked_until` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `locked_until` DESC LIMIT 1) <= ?, 1 = 1)) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` > ? ORDER BY `group` LIMIT ?) AS __groups ORDER BY __group;
-- binds: now, now, after, page

-- lock group
SELECT COALESCE(GET_LOCK(__name, 0), 0) FROM (SELECT SHA2(CONCAT('fifo ', LOWER(DATABASE()), '.', _utf8mb4 X'6A6F6273', ' ', HEX(WEIGHT_STRING(RTRIM(`group`)))), 256) AS __name FROM `jobs` WHERE `group` = ? LIMIT 1) AS __group;
-- binds: group

-- unlock group
SELECT RELEASE_ALL_LOCKS();

-- claim head
SELECT `id`, `locked_until`, `group`, `payload`, `retry_after` FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ? AND COALESCE((SELECT `locked_until` FROM `jobs` WHERE `group` = ? ORDER BY `locked_until` DESC LIMIT 1) <= ?, 1 = 1) FOR UPDATE SKIP LOCKED;
-- binds: group, now, group, now
-- answers: id[0], token, group, payload, retry_after

-- claim head: stamp
UPDATE `jobs` FORCE INDEX (PRIMARY) SET `locked_until` = ? WHERE `id` IN (/*list*/);
-- binds: expiry
-- list: ?
-- list binds: id[0]

-- claim head: reread
SELECT `id`, CAST(`locked_until` AS CHAR) FROM `jobs` WHERE `id` IN (/*list*/);
-- list: ?
-- list binds: id[0]
-- answers: id[0], token

-- claim of all groups
SELECT `id`, `locked_until`, `group`, `payload`, `retry_after` FROM `jobs` WHERE `group` NOT IN (?, ?) AND `processed_at` IS NULL AND `retry_after` <= ? AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], now, now, limit
-- answers: id[0], token, group, payload, retry_after

-- groups of all groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group AND `processed_at` IS NULL ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ? AND COALESCE((SELECT `locked_until` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `locked_until` DESC LIMIT 1) <= ?, 1 = 1)) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` IS NOT NULL ORDER BY `group` LIMIT ?) AS __groups WHERE __group NOT IN (?, ?) ORDER BY __group;
-- binds: now, now, page, except[0], except[1]

-- next groups of all groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group AND `processed_at` IS NULL ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ? AND COALESCE((SELECT `locked_until` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `locked_until` DESC LIMIT 1) <= ?, 1 = 1)) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` > ? ORDER BY `group` LIMIT ?) AS __groups WHERE __group NOT IN (?, ?) ORDER BY __group;
-- binds: now, now, after, page, except[0], except[1]
