CREATE TABLE `My "Jobs"` (
  `tenant` bigint NOT NULL,
  `order` bigint NOT NULL,
  `group` varchar(191) NOT NULL,
  `select` int NOT NULL DEFAULT 1,
  `payload` longblob NOT NULL,
  PRIMARY KEY (`tenant`, `order`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX `My "Jobs"_claim_idx` ON `My "Jobs"` (`group`, `tenant`, `order`);

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'4D7920224A6F627322' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `My "Jobs"` (`payload`, `group`) VALUES (?, ?);
-- binds: value[payload], value[group]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `My "Jobs"` WHERE `group` = ?;
-- binds: group

-- read
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]
-- answers: id[0], id[1], attempt, group, payload

-- claim
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` = ? ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, limit
-- answers: id[0], id[1], attempt, group, payload

-- claim of one
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` = ? ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, limit
-- answers: id[0], id[1], attempt, group, payload

-- claim without rows
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` = ? AND NOT (`tenant` = ? AND `order` = ?) ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, left out[0], left out[1], limit
-- answers: id[0], id[1], attempt, group, payload

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
INSERT INTO `dead_letters` (`tenant`, `order`, `group`, `select`, `payload`) SELECT `tenant`, `order`, `group`, COALESCE(?, `select`), `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]

-- claim of all groups
SELECT `tenant`, `order`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` NOT IN (?, ?) ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], limit
-- answers: id[0], id[1], attempt, group, payload
