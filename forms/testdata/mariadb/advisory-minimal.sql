CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `payload` longblob NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `jobs_claim_idx` ON `jobs` (`id`);

-- candidates
SELECT `id`, CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)) AS __lock, CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) END AS __name FROM `jobs` WHERE 1 = 1 AND IS_USED_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) END) IS NULL AND CAST(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4)))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', CONCAT(_utf8mb4 X'6A6F62732D', CAST(`id` AS CHAR CHARACTER SET utf8mb4))) END AS BINARY) NOT IN (/*list*/) ORDER BY `id` LIMIT ?;
-- binds: limit
-- list: ?
-- list binds: name
-- answers: id[0], lock, name

-- take
SELECT `id`, `payload` FROM `jobs` WHERE `id` = ? AND 1 = 1;
-- binds: id[0]
-- answers: id[0], payload

-- lock
SELECT CASE WHEN IS_USED_LOCK(?) <=> CONNECTION_ID() THEN 0 ELSE COALESCE(GET_LOCK(?, 0), 0) END;
-- binds: name, name

-- unlock
SELECT COALESCE(RELEASE_LOCK(?), 0);
-- binds: name

-- finish
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- move to table
INSERT INTO `dead_letters` (`id`, `payload`) SELECT `id`, `payload` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- move to table
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
