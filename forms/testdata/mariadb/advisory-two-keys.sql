CREATE TABLE `My "Jobs"` (
  `tenant` bigint NOT NULL,
  `order` bigint NOT NULL,
  `a b` varchar(191),
  `group` varchar(191) NOT NULL,
  `select` int NOT NULL DEFAULT 1,
  `payload` longblob NOT NULL,
  PRIMARY KEY (`tenant`, `order`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `My "Jobs"_claim_idx` ON `My "Jobs"` (`group`, `tenant`, `order`);

-- candidates
SELECT `tenant`, `order`, COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))) AS __lock, CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) END AS __name, `select` FROM `My "Jobs"` WHERE `group` = ? AND IS_USED_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) END) IS NULL AND CAST(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) END AS BINARY) NOT IN (/*list*/) ORDER BY `tenant`, `order` LIMIT ?;
-- binds: group, limit
-- list: ?
-- list binds: name
-- answers: id[0], id[1], lock, name, attempt

-- take
UPDATE `My "Jobs"` AS q JOIN (SELECT `tenant`, `order`, CASE WHEN `select` < 2147483647 THEN `select` + 1 ELSE `select` END AS __counted FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ? AND `group` = ? LIMIT 1 FOR UPDATE SKIP LOCKED) AS h ON q.`tenant` = h.`tenant` AND q.`order` = h.`order` SET q.`select` = h.__counted;
-- binds: id[0], id[1], group

-- take
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]
-- answers: id[0], id[1], attempt, group, payload

-- take ahead
UPDATE `My "Jobs"` AS q JOIN (SELECT `tenant`, `order`, CASE WHEN `select` < 2147483647 THEN `select` + 1 ELSE `select` END AS __counted FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ? AND `group` = ? AND `select` < ? LIMIT 1 FOR UPDATE SKIP LOCKED) AS h ON q.`tenant` = h.`tenant` AND q.`order` = h.`order` SET q.`select` = h.__counted;
-- binds: id[0], id[1], group, cap

-- take ahead
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]
-- answers: id[0], id[1], attempt, group, payload

-- lock
SELECT CASE WHEN IS_USED_LOCK(?) <=> CONNECTION_ID() THEN 0 ELSE COALESCE(GET_LOCK(?, 0), 0) END;
-- binds: name, name

-- unlock
SELECT COALESCE(RELEASE_LOCK(?), 0);
-- binds: name

-- finish
DELETE FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]

-- return
UPDATE `My "Jobs"` SET `select` = COALESCE(?, `select`) WHERE `tenant` = ? AND `order` = ?;
-- binds: restore, id[0], id[1]

-- move to group
UPDATE `My "Jobs"` SET `group` = ?, `select` = COALESCE(?, `select`) WHERE `tenant` = ? AND `order` = ?;
-- binds: target, restore, id[0], id[1]

-- move to table
INSERT INTO `dead_letters` (`tenant`, `order`, `a b`, `group`, `select`, `payload`) SELECT `tenant`, `order`, `a b`, `group`, COALESCE(?, `select`), `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]

-- candidates of all groups
SELECT `tenant`, `order`, COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))) AS __lock, CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) END AS __name, `select` FROM `My "Jobs"` WHERE `group` NOT IN (?, ?) AND IS_USED_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) END) IS NULL AND CAST(CASE WHEN CHAR_LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) > 64 OR LENGTH(CONVERT(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) USING utf8mb3)) <> LENGTH(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4))))) THEN SHA2(CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))), 256) ELSE CONCAT(LOWER(DATABASE()), '.', COALESCE(CONCAT(CAST(`a b` AS CHAR CHARACTER SET utf8mb4)), CONCAT(_utf8mb4 X'4D7920224A6F62732220', CAST(`tenant` AS CHAR CHARACTER SET utf8mb4), _utf8mb4 X'2C', CAST(`order` AS CHAR CHARACTER SET utf8mb4)))) END AS BINARY) NOT IN (/*list*/) ORDER BY `tenant`, `order` LIMIT ?;
-- binds: except[0], except[1], limit
-- list: ?
-- list binds: name
-- answers: id[0], id[1], lock, name, attempt

-- take of all groups
UPDATE `My "Jobs"` AS q JOIN (SELECT `tenant`, `order`, CASE WHEN `select` < 2147483647 THEN `select` + 1 ELSE `select` END AS __counted FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ? AND `group` NOT IN (?, ?) LIMIT 1 FOR UPDATE SKIP LOCKED) AS h ON q.`tenant` = h.`tenant` AND q.`order` = h.`order` SET q.`select` = h.__counted;
-- binds: id[0], id[1], except[0], except[1]

-- take of all groups
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]
-- answers: id[0], id[1], attempt, group, payload

-- lock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock

-- unlock of the user
SELECT 1 WHERE ? = '1';
-- binds: lock
