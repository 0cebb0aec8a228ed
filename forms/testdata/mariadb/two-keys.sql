CREATE TABLE `My "Jobs"` (
  `tenant` bigint NOT NULL,
  `order` bigint NOT NULL,
  `group` varchar(191) NOT NULL,
  `select` int NOT NULL DEFAULT 1,
  `Locked Until` datetime(6),
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
SELECT CAST(COALESCE(SUM(CASE WHEN `Locked Until` IS NOT NULL AND `Locked Until` > ? THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 AND (`Locked Until` IS NULL OR `Locked Until` <= ?) THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `My "Jobs"` WHERE `group` = ?;
-- binds: now, now, group

-- read
SELECT `tenant`, `order`, `Locked Until`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ?;
-- binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt, group, payload

-- claim
SELECT `tenant`, `order`, `Locked Until`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` = ? AND (`Locked Until` IS NULL OR `Locked Until` <= ?) ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, limit
-- answers: id[0], id[1], token, attempt, group, payload

-- claim: stamp
UPDATE `My "Jobs"` FORCE INDEX (PRIMARY) SET `Locked Until` = ?, `select` = CASE WHEN `select` < 2147483647 THEN `select` + 1 ELSE `select` END WHERE (`tenant`, `order`) IN (/*list*/);
-- binds: expiry
-- list: (?, ?)
-- list binds: id[0], id[1]

-- claim: reread
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR) FROM `My "Jobs"` WHERE (`tenant`, `order`) IN (/*list*/);
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token

-- claim ahead
SELECT `tenant`, `order`, `Locked Until`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` = ? AND (`Locked Until` IS NULL OR `Locked Until` <= ?) AND `select` < ? ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: group, now, cap, limit
-- answers: id[0], id[1], token, attempt, group, payload

-- claim ahead: stamp
UPDATE `My "Jobs"` FORCE INDEX (PRIMARY) SET `Locked Until` = ?, `select` = CASE WHEN `select` < 2147483647 THEN `select` + 1 ELSE `select` END WHERE (`tenant`, `order`) IN (/*list*/);
-- binds: expiry
-- list: (?, ?)
-- list binds: id[0], id[1]

-- claim ahead: reread
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR) FROM `My "Jobs"` WHERE (`tenant`, `order`) IN (/*list*/);
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token

-- extend: lock
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR), `select` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE (`tenant`, `order`) IN (/*list*/) ORDER BY `tenant`, `order` FOR UPDATE SKIP LOCKED;
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- extend
UPDATE `My "Jobs"` FORCE INDEX (PRIMARY) SET `Locked Until` = GREATEST(`Locked Until`, ?) WHERE (`tenant`, `order`) IN (/*list*/);
-- binds: expiry
-- list: (?, ?)
-- list binds: id[0], id[1]

-- extend: reread
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR) FROM `My "Jobs"` WHERE (`tenant`, `order`) IN (/*list*/);
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token

-- finish: lock
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR), `select` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE (`tenant`, `order`) IN (/*list*/) ORDER BY `tenant`, `order` FOR UPDATE SKIP LOCKED;
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- finish
DELETE q FROM (SELECT `tenant`, `order`, `Locked Until` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE (`tenant`, `order`) IN (/*list*/) LIMIT 18446744073709551615 FOR UPDATE SKIP LOCKED) AS h STRAIGHT_JOIN `My "Jobs"` AS q FORCE INDEX (PRIMARY) ON q.`tenant` = h.`tenant` AND q.`order` = h.`order`;
-- list: (?, ?)
-- list binds: id[0], id[1]

-- finish: whole
DELETE q FROM (SELECT `tenant`, `order`, COUNT(*) OVER () = ? AS __whole FROM (SELECT `tenant`, `order` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE `Locked Until` = ? AND `select` = ? AND (`tenant`, `order`) IN (/*list*/) LIMIT 18446744073709551615 FOR UPDATE SKIP LOCKED) AS k) AS h STRAIGHT_JOIN `My "Jobs"` AS q FORCE INDEX (PRIMARY) ON q.`tenant` = h.`tenant` AND q.`order` = h.`order` AND h.__whole;
-- binds: size, token, count
-- list: (?, ?)
-- list binds: id[0], id[1]

-- return: lock
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR), `select` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE (`tenant`, `order`) IN (/*list*/) ORDER BY `tenant`, `order` FOR UPDATE SKIP LOCKED;
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- return
UPDATE `My "Jobs"` FORCE INDEX (PRIMARY) SET `Locked Until` = ?, `select` = COALESCE(?, `select`) WHERE `tenant` = ? AND `order` = ? AND `Locked Until` = ? AND `select` = ?;
-- binds: until, restore, id[0], id[1], token, count

-- move to group: lock
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR), `select` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE (`tenant`, `order`) IN (/*list*/) ORDER BY `tenant`, `order` FOR UPDATE SKIP LOCKED;
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- move to group
UPDATE `My "Jobs"` FORCE INDEX (PRIMARY) SET `Locked Until` = NULL, `group` = ?, `select` = COALESCE(?, `select`) WHERE `tenant` = ? AND `order` = ? AND `Locked Until` = ? AND `select` = ?;
-- binds: target, restore, id[0], id[1], token, count

-- move to table: lock
SELECT `tenant`, `order`, CAST(`Locked Until` AS CHAR), `select` FROM `My "Jobs"` FORCE INDEX (PRIMARY) WHERE (`tenant`, `order`) IN (/*list*/) ORDER BY `tenant`, `order` FOR UPDATE SKIP LOCKED;
-- list: (?, ?)
-- list binds: id[0], id[1]
-- answers: id[0], id[1], token, attempt

-- move to table
INSERT INTO `dead_letters` (`tenant`, `order`, `group`, `select`, `Locked Until`, `payload`) SELECT `tenant`, `order`, `group`, COALESCE(?, `select`), NULL, `payload` FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ? AND `Locked Until` = ? AND `select` = ?;
-- binds: restore, id[0], id[1], token, count

-- move to table
DELETE FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ? AND `Locked Until` = ? AND `select` = ?;
-- binds: id[0], id[1], token, count

-- held
SELECT 1 FROM `My "Jobs"` WHERE `tenant` = ? AND `order` = ? AND `Locked Until` = ? AND `select` = ?;
-- binds: id[0], id[1], token, count

-- claim of all groups
SELECT `tenant`, `order`, `Locked Until`, `select`, `group`, `payload` FROM `My "Jobs"` WHERE `group` NOT IN (?, ?) AND (`Locked Until` IS NULL OR `Locked Until` <= ?) ORDER BY `tenant`, `order` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: except[0], except[1], now, limit
-- answers: id[0], id[1], token, attempt, group, payload
