CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `group` varchar(191) NOT NULL,
  `priority` int NOT NULL DEFAULT 0,
  `partition_key` varchar(191),
  `retry_after` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `attempt` int NOT NULL DEFAULT 1,
  `processed_at` datetime(6),
  `headers` json,
  `payload` longblob NOT NULL,
  `error` text,
  `origin` varchar(191),
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `jobs_claim_idx` ON `jobs` (`group`, `processed_at`, `priority`, `retry_after`, `id`);

CREATE INDEX `jobs_order_idx` ON `jobs` (`processed_at`, `priority`, `retry_after`, `id`);

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'6A6F6273' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `jobs` (`payload`, `group`, `headers`, `retry_after`, `priority`, `partition_key`) VALUES (?, ?, ?, ?, ?, ?);
-- binds: value[payload], value[group], value[headers], value[retry_after], value[priority], value[partition_key]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN `retry_after` <= ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL;
-- binds: now, group

-- read
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- claim
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, limit
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- claim of one
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, limit
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- claim without rows
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? AND NOT (`id` = ?) ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, left out[0], limit
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- finish
UPDATE `jobs` SET `processed_at` = ? WHERE `id` = ?;
-- binds: now, id[0]

-- return
UPDATE `jobs` SET `retry_after` = COALESCE(?, `retry_after`), `attempt` = COALESCE(?, `attempt`), `error` = COALESCE(LEFT(?, 16383), `error`) WHERE `id` = ?;
-- binds: until, restore, reason, id[0]

-- move to group
UPDATE `jobs` SET `origin` = CAST(`group` AS CHAR), `group` = ?, `retry_after` = ?, `attempt` = COALESCE(?, `attempt`), `error` = COALESCE(LEFT(?, 16383), `error`) WHERE `id` = ?;
-- binds: target, now, restore, reason, id[0]

-- move to table
INSERT INTO `dead_letters` (`id`, `group`, `priority`, `partition_key`, `retry_after`, `attempt`, `processed_at`, `headers`, `payload`, `error`, `origin`, `created_at`) SELECT `id`, `group`, `priority`, `partition_key`, ?, COALESCE(?, `attempt`), NULL, `headers`, `payload`, COALESCE(LEFT(?, 16383), `error`), CAST(`group` AS CHAR), `created_at` FROM `jobs` WHERE `id` = ?;
-- binds: now, restore, reason, id[0]

-- move to table
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- claim of all groups
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `group` NOT IN (?, ?) AND `processed_at` IS NULL AND `retry_after` <= ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], now, limit
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after
