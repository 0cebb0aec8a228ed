CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `group` varchar(191) NOT NULL,
  `retry_after` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `payload` longblob NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `jobs_claim_idx` ON `jobs` (`group`, `retry_after`, `id`);

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'6A6F6273' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `jobs` (`payload`, `group`, `retry_after`) VALUES (?, ?, ?);
-- binds: value[payload], value[group], value[retry_after]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN `retry_after` <= ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `group` = ?;
-- binds: now, group

-- read
SELECT `id`, `group`, `payload`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], group, payload, retry_after

-- groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ?) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` IS NOT NULL ORDER BY `group` LIMIT ?) AS __groups ORDER BY __group;
-- binds: now, page

-- next groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ?) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` > ? ORDER BY `group` LIMIT ?) AS __groups ORDER BY __group;
-- binds: now, after, page

-- lock group
SELECT COALESCE(GET_LOCK(__name, 0), 0) FROM (SELECT SHA2(CONCAT('fifo ', LOWER(DATABASE()), '.', _utf8mb4 X'6A6F6273', ' ', HEX(WEIGHT_STRING(RTRIM(`group`)))), 256) AS __name FROM `jobs` WHERE `group` = ? LIMIT 1) AS __group;
-- binds: group

-- unlock group
SELECT RELEASE_ALL_LOCKS();

-- claim head
SELECT `id`, `group`, `payload`, `retry_after` FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = ? ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ? FOR UPDATE SKIP LOCKED;
-- binds: group, now
-- answers: id[0], group, payload, retry_after

-- finish
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- return
UPDATE `jobs` SET `retry_after` = COALESCE(?, `retry_after`) WHERE `id` = ?;
-- binds: until, id[0]

-- move to group
UPDATE `jobs` SET `group` = ?, `retry_after` = ? WHERE `id` = ?;
-- binds: target, now, id[0]

-- move to table
INSERT INTO `dead_letters` (`id`, `group`, `retry_after`, `payload`) SELECT `id`, `group`, ?, `payload` FROM `jobs` WHERE `id` = ?;
-- binds: now, id[0]

-- move to table
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- groups of all groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ?) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` IS NOT NULL ORDER BY `group` LIMIT ?) AS __groups WHERE __group NOT IN (?, ?) ORDER BY __group;
-- binds: now, page, except[0], except[1]

-- next groups of all groups
SELECT CAST(__group AS CHAR), CASE WHEN EXISTS (SELECT 1 FROM `jobs` WHERE `id` = (SELECT `id` FROM `jobs` WHERE `group` = __groups.__group ORDER BY `retry_after`, `id` LIMIT 1) AND `retry_after` <= ?) THEN '1' ELSE '0' END FROM (SELECT DISTINCT `group` AS __group FROM `jobs` WHERE `group` > ? ORDER BY `group` LIMIT ?) AS __groups WHERE __group NOT IN (?, ?) ORDER BY __group;
-- binds: now, after, page, except[0], except[1]
