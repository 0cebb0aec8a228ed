
-- census
SELECT CAST(`group` AS CHAR), CAST(COUNT(*) AS CHAR), CAST(COUNT(CASE WHEN `processed_at` IS NOT NULL THEN 1 END) AS CHAR), CAST(COUNT(CASE WHEN `processed_at` IS NULL AND `retry_after` > ? THEN 1 END) AS CHAR), CAST(MIN(CASE WHEN `processed_at` IS NULL AND NOT (`retry_after` > ?) THEN `retry_after` END) AS CHAR) FROM `jobs` GROUP BY `group`;
-- binds: now, now

-- in work
SELECT CAST(`group` AS CHAR), CAST(COUNT(*) AS CHAR), CAST(COUNT(CASE WHEN `retry_after` > ? THEN 1 END) AS CHAR) FROM `jobs` WHERE `processed_at` IS NULL AND `locked_until` > ? GROUP BY CAST(`group` AS CHAR);
-- binds: now, now

-- hold due rows
SELECT CAST(`id` AS CHAR) FROM `jobs` WHERE `processed_at` IS NULL AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `group` NOT IN (?, ?) AND `retry_after` <= ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: now, dead group[0], dead group[1], now, limit
-- answers: id[0]

-- remove
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- revive from a table
INSERT INTO `jobs` (`id`, `group`, `priority`, `partition_key`, `retry_after`, `attempt`, `processed_at`, `locked_until`, `headers`, `payload`, `error`, `origin`, `created_at`) SELECT `id`, `group`, `priority`, `partition_key`, ?, 1, NULL, NULL, `headers`, `payload`, `error`, NULL, `created_at` FROM `dead_letters` WHERE `id` = ?;
-- binds: now, id[0]

-- list dead letters of a table of their own
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN 1 = 1 THEN 'dead' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` WHERE `processed_at` IS NULL AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, preview, preview, preview, now, limit, offset

-- list
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' WHEN `retry_after` > ? THEN 'delayed' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, dead group[0], dead group[1], now, preview, preview, preview, limit, offset

-- list due
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' WHEN `retry_after` > ? THEN 'delayed' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` WHERE `processed_at` IS NULL AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `group` NOT IN (?, ?) AND `retry_after` <= ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, dead group[0], dead group[1], now, preview, preview, preview, now, dead group[0], dead group[1], now, limit, offset

-- list delayed
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' WHEN `retry_after` > ? THEN 'delayed' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` WHERE `processed_at` IS NULL AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `group` NOT IN (?, ?) AND `retry_after` > ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, dead group[0], dead group[1], now, preview, preview, preview, now, dead group[0], dead group[1], now, limit, offset

-- list in_work
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' WHEN `retry_after` > ? THEN 'delayed' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` WHERE `processed_at` IS NULL AND `locked_until` > ? ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, dead group[0], dead group[1], now, preview, preview, preview, now, limit, offset

-- list dead
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' WHEN `retry_after` > ? THEN 'delayed' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` WHERE `group` IN (?, ?) AND `processed_at` IS NULL AND (`locked_until` IS NULL OR `locked_until` <= ?) ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, dead group[0], dead group[1], now, preview, preview, preview, dead group[0], dead group[1], now, limit, offset

-- list processed
SELECT CAST(`id` AS CHAR), CASE WHEN `processed_at` IS NOT NULL THEN 'processed' WHEN `locked_until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' WHEN `retry_after` > ? THEN 'delayed' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`priority` AS CHAR), CAST(`partition_key` AS CHAR), CAST(`retry_after` AS CHAR), CAST(`attempt` AS CHAR), CAST(`processed_at` AS CHAR), CAST(`locked_until` AS CHAR), LEFT(CAST(`headers` AS CHAR), ?), LEFT(`error`, ?), CAST(`origin` AS CHAR), CAST(`created_at` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` WHERE `processed_at` IS NOT NULL ORDER BY `priority`, `retry_after`, `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `priority`, `retry_after`, `id`;
-- binds: now, dead group[0], dead group[1], now, preview, preview, preview, limit, offset

-- revive
UPDATE `jobs` SET `group` = LEFT(?, 191), `attempt` = 1, `retry_after` = ?, `locked_until` = NULL, `origin` = NULL WHERE `id` = ?;
-- binds: target, now, id[0]

-- revive by origin
UPDATE `jobs` SET `group` = LEFT(`origin`, 191), `attempt` = 1, `retry_after` = ?, `locked_until` = NULL, `origin` = NULL WHERE `id` = ?;
-- binds: now, id[0]

-- count those of an origin
SELECT CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `group` = ? AND `group` IN (?, ?) AND `processed_at` IS NULL AND (`locked_until` IS NULL OR `locked_until` <= ?) AND `origin` <> CAST(`group` AS CHAR);
-- binds: group, dead group[0], dead group[1], now

-- count old ones
SELECT CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE `processed_at` IS NOT NULL AND `processed_at` < ?;
-- binds: cutoff

-- sweep
DELETE FROM `jobs` WHERE `processed_at` < ? LIMIT ?;
-- binds: cutoff, limit

-- sweep index
CREATE INDEX `jobs_processed_idx` ON `jobs` (`processed_at`);
