
-- census
SELECT CAST(`group` AS CHAR), CAST(COUNT(*) AS CHAR), CAST(COUNT(CASE WHEN 1 = 0 THEN 1 END) AS CHAR), CAST(COUNT(CASE WHEN 1 = 1 AND 1 = 0 THEN 1 END) AS CHAR), CAST(MIN(CASE WHEN 1 = 1 AND NOT (1 = 0) THEN NULL END) AS CHAR) FROM `My "Jobs"` GROUP BY `group`;

-- in work
SELECT CAST(`group` AS CHAR), CAST(COUNT(*) AS CHAR), CAST(COUNT(CASE WHEN 1 = 0 THEN 1 END) AS CHAR) FROM `My "Jobs"` WHERE `Locked Until` > ? GROUP BY CAST(`group` AS CHAR);
-- binds: now

-- hold due rows
SELECT CAST(`tenant` AS CHAR), CAST(`order` AS CHAR) FROM `My "Jobs"` WHERE (`Locked Until` IS NULL OR `Locked Until` <= ?) AND `group` NOT IN (?, ?) ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: now, dead group[0], dead group[1], limit
-- answers: id[0], id[1]

-- remove
DELETE FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]

-- revive from a table
INSERT INTO `My "Jobs"` (`tenant`, `order`, `group`, `select`, `Locked Until`, `payload`) SELECT `tenant`, `order`, `group`, 1, NULL, `payload` FROM `dead_letters` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]

-- list dead letters of a table of their own
SELECT CAST(`tenant` AS CHAR), CAST(`order` AS CHAR), CASE WHEN `Locked Until` > ? THEN 'in_work' WHEN 1 = 1 THEN 'dead' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`select` AS CHAR), CAST(`Locked Until` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `tenant` AS __k0, `order` AS __k1 FROM `My "Jobs"` WHERE (`Locked Until` IS NULL OR `Locked Until` <= ?) ORDER BY `tenant`, `order` LIMIT ? OFFSET ?) AS __chosen JOIN `My "Jobs"` ON `tenant` = __k0 AND `order` = __k1 ORDER BY `tenant`, `order`;
-- binds: now, preview, now, limit, offset

-- list
SELECT CAST(`tenant` AS CHAR), CAST(`order` AS CHAR), CASE WHEN `Locked Until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`select` AS CHAR), CAST(`Locked Until` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `tenant` AS __k0, `order` AS __k1 FROM `My "Jobs"` ORDER BY `tenant`, `order` LIMIT ? OFFSET ?) AS __chosen JOIN `My "Jobs"` ON `tenant` = __k0 AND `order` = __k1 ORDER BY `tenant`, `order`;
-- binds: now, dead group[0], dead group[1], preview, limit, offset

-- list due
SELECT CAST(`tenant` AS CHAR), CAST(`order` AS CHAR), CASE WHEN `Locked Until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`select` AS CHAR), CAST(`Locked Until` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `tenant` AS __k0, `order` AS __k1 FROM `My "Jobs"` WHERE (`Locked Until` IS NULL OR `Locked Until` <= ?) AND `group` NOT IN (?, ?) ORDER BY `tenant`, `order` LIMIT ? OFFSET ?) AS __chosen JOIN `My "Jobs"` ON `tenant` = __k0 AND `order` = __k1 ORDER BY `tenant`, `order`;
-- binds: now, dead group[0], dead group[1], preview, now, dead group[0], dead group[1], limit, offset

-- list in_work
SELECT CAST(`tenant` AS CHAR), CAST(`order` AS CHAR), CASE WHEN `Locked Until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`select` AS CHAR), CAST(`Locked Until` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `tenant` AS __k0, `order` AS __k1 FROM `My "Jobs"` WHERE `Locked Until` > ? ORDER BY `tenant`, `order` LIMIT ? OFFSET ?) AS __chosen JOIN `My "Jobs"` ON `tenant` = __k0 AND `order` = __k1 ORDER BY `tenant`, `order`;
-- binds: now, dead group[0], dead group[1], preview, now, limit, offset

-- list dead
SELECT CAST(`tenant` AS CHAR), CAST(`order` AS CHAR), CASE WHEN `Locked Until` > ? THEN 'in_work' WHEN `group` IN (?, ?) THEN 'dead' ELSE 'due' END, CAST(`group` AS CHAR), CAST(`select` AS CHAR), CAST(`Locked Until` AS CHAR), LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `tenant` AS __k0, `order` AS __k1 FROM `My "Jobs"` WHERE `group` IN (?, ?) AND (`Locked Until` IS NULL OR `Locked Until` <= ?) ORDER BY `tenant`, `order` LIMIT ? OFFSET ?) AS __chosen JOIN `My "Jobs"` ON `tenant` = __k0 AND `order` = __k1 ORDER BY `tenant`, `order`;
-- binds: now, dead group[0], dead group[1], preview, dead group[0], dead group[1], now, limit, offset

-- revive
UPDATE `My "Jobs"` SET `group` = LEFT(?, 191), `select` = 1, `Locked Until` = NULL WHERE `tenant` = ? AND `order` = ?;
-- binds: target, id[0], id[1]
