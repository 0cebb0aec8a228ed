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

-- candidates
SELECT `id`, COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) AS __lock, CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) END AS __name, `attempt` FROM `jobs` WHERE `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? AND IS_USED_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) END) IS NULL AND CAST(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) END AS BINARY) NOT IN (/*list*/) ORDER BY `priority`, `retry_after`, `id` LIMIT ?;
-- binds: group, now, limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name, attempt

-- take
UPDATE `jobs` AS q JOIN (SELECT `id`, CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END AS __counted FROM `jobs` WHERE `id` = ? AND `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? LIMIT 1 FOR UPDATE SKIP LOCKED) AS h ON q.`id` = h.`id` SET q.`attempt` = h.__counted;
-- binds: id[0], group, now

-- take
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- take ahead
UPDATE `jobs` AS q JOIN (SELECT `id`, CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END AS __counted FROM `jobs` WHERE `id` = ? AND `group` = ? AND `processed_at` IS NULL AND `retry_after` <= ? AND `attempt` < ? LIMIT 1 FOR UPDATE SKIP LOCKED) AS h ON q.`id` = h.`id` SET q.`attempt` = h.__counted;
-- binds: id[0], group, now, cap

-- take ahead
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- lock
SELECT CASE WHEN IS_USED_LOCK(?) <=> CONNECTION_ID() THEN 0 ELSE COALESCE(GET_LOCK(?, 0), 0) END;
-- binds: name, name

-- unlock
SELECT COALESCE(RELEASE_LOCK(?), 0);
-- binds: name

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

-- candidates of all groups
SELECT `id`, COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) AS __lock, CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) END AS __name, `attempt` FROM `jobs` WHERE `group` NOT IN (?, ?) AND `processed_at` IS NULL AND `retry_after` <= ? AND IS_USED_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) END) IS NULL AND CAST(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(_utf8mb4 X'7B6A6F62737D275C2D', CAST(`partition_key` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'6A6F627320', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) END AS BINARY) NOT IN (/*list*/) ORDER BY `priority`, `retry_after`, `id` LIMIT ?;
-- binds: except[0], except[1], now, limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name, attempt

-- take of all groups
UPDATE `jobs` AS q JOIN (SELECT `id`, CASE WHEN `attempt` < 2147483647 THEN `attempt` + 1 ELSE `attempt` END AS __counted FROM `jobs` WHERE `id` = ? AND `group` NOT IN (?, ?) AND `processed_at` IS NULL AND `retry_after` <= ? LIMIT 1 FOR UPDATE SKIP LOCKED) AS h ON q.`id` = h.`id` SET q.`attempt` = h.__counted;
-- binds: id[0], except[0], except[1], now

-- take of all groups
SELECT `id`, `attempt`, `group`, `partition_key`, `headers`, `payload`, `priority`, `retry_after` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], attempt, group, partition_key, headers, payload, priority, retry_after

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
