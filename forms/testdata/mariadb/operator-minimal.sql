
-- census
SELECT NULL, CAST(COUNT(*) AS CHAR), CAST(COUNT(CASE WHEN 1 = 0 THEN 1 END) AS CHAR), CAST(COUNT(CASE WHEN 1 = 1 AND 1 = 0 THEN 1 END) AS CHAR), CAST(MIN(CASE WHEN 1 = 1 AND NOT (1 = 0) THEN NULL END) AS CHAR) FROM `jobs`;

-- hold due rows
SELECT CAST(`id` AS CHAR) FROM `jobs` ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: limit
-- answers: id[0]

-- remove
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- revive from a table
INSERT INTO `jobs` (`id`, `payload`) SELECT `id`, `payload` FROM `dead_letters` WHERE `id` = ?;
-- binds: id[0]

-- list dead letters of a table of their own
SELECT CAST(`id` AS CHAR), CASE WHEN 1 = 1 THEN 'dead' ELSE 'due' END, LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` ORDER BY `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `id`;
-- binds: preview, limit, offset

-- list
SELECT CAST(`id` AS CHAR), 'due', LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` ORDER BY `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `id`;
-- binds: preview, limit, offset

-- list due
SELECT CAST(`id` AS CHAR), 'due', LEFT(`payload`, ?), CAST(OCTET_LENGTH(`payload`) AS CHAR) FROM (SELECT `id` AS __k0 FROM `jobs` ORDER BY `id` LIMIT ? OFFSET ?) AS __chosen JOIN `jobs` ON `id` = __k0 ORDER BY `id`;
-- binds: preview, limit, offset
