CREATE TABLE `jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `payload` longblob NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- describe
SELECT column_name, /*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */, is_nullable = 'YES', COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = _utf8mb4 X'6A6F6273' ORDER BY ordinal_position;

-- clock
SELECT UNIX_TIMESTAMP(NOW(6));

-- insert
INSERT INTO `jobs` (`payload`) VALUES (?);
-- binds: value[payload]

-- count
SELECT CAST(COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COALESCE(SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END), 0) AS CHAR), CAST(COUNT(*) AS CHAR) FROM `jobs` WHERE 1 = 1;

-- read
SELECT `id`, `payload` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
-- answers: id[0], payload

-- claim
SELECT `id`, `payload` FROM `jobs` WHERE 1 = 1 ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: limit
-- answers: id[0], payload

-- claim of one
SELECT `id`, `payload` FROM `jobs` WHERE 1 = 1 ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: limit
-- answers: id[0], payload

-- claim without rows
SELECT `id`, `payload` FROM `jobs` WHERE 1 = 1 AND NOT (`id` = ?) ORDER BY `id` LIMIT ? FOR UPDATE SKIP LOCKED;
-- binds: left out[0], limit
-- answers: id[0], payload

-- finish
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- move to table
INSERT INTO `dead_letters` (`id`, `payload`) SELECT `id`, `payload` FROM `jobs` WHERE `id` = ?;
-- binds: id[0]

-- move to table
DELETE FROM `jobs` WHERE `id` = ?;
-- binds: id[0]
