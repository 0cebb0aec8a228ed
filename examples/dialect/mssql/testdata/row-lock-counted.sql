CREATE TABLE [jobs] (
  [id] bigint IDENTITY PRIMARY KEY,
  [attempt] int NOT NULL DEFAULT 1,
  [payload] varbinary(max) NOT NULL,
  [error] nvarchar(max)
);

-- claim index
CREATE INDEX [jobs_claim_idx] ON [jobs] ([id]);

-- describe
SELECT c.name, y.name + CASE WHEN y.name LIKE '%char' OR y.name LIKE '%binary' THEN '(' + CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(5), c.max_length / CASE WHEN y.name LIKE 'n%' THEN 2 ELSE 1 END) END + ')' WHEN y.name IN ('datetime2', 'datetimeoffset', 'time') THEN '(' + CONVERT(varchar(3), c.scale) + ')' WHEN y.name IN ('decimal', 'numeric') THEN '(' + CONVERT(varchar(3), c.precision) + ', ' + CONVERT(varchar(3), c.scale) + ')' ELSE '' END, CONVERT(int, c.is_nullable), CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END, CONVERT(int, c.is_identity), CASE WHEN y.name IN ('datetime2', 'datetimeoffset') THEN CASE WHEN c.scale > 6 THEN 6 ELSE CONVERT(int, c.scale) END END, 0 FROM sys.columns AS c CROSS APPLY (SELECT COALESCE(TYPE_NAME(c.system_type_id), TYPE_NAME(c.user_type_id)) AS name) AS y WHERE c.object_id = OBJECT_ID(N'[jobs]', N'U') ORDER BY c.column_id;

-- indexes
SELECT i.name, c.name, COALESCE(i.filter_definition, '') FROM sys.indexes AS i JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE i.object_id = OBJECT_ID(N'[jobs]', N'U') AND i.is_disabled = 0 AND k.key_ordinal > 0 ORDER BY i.name, k.key_ordinal;

-- clock
SELECT CONVERT(nvarchar(max), DATEDIFF_BIG(microsecond, '1970-01-01', SYSUTCDATETIME()) / 1000000.0);

-- insert
INSERT INTO [jobs] ([payload]) VALUES (@p1);
-- binds: value[payload]

-- count
SELECT CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COUNT(*)) FROM [jobs] WITH (READUNCOMMITTED) WHERE 1 = 1;

-- claim
SELECT TOP (@p1) CONVERT(nvarchar(max), [id]), CONVERT(nvarchar(max), [attempt]), [payload] FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 ORDER BY [id];
-- binds: limit
-- answers: id[0], attempt, payload

-- claim of one
SELECT TOP (@p1) CONVERT(nvarchar(max), [id]), CONVERT(nvarchar(max), [attempt]), [payload] FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 ORDER BY [id];
-- binds: limit
-- answers: id[0], attempt, payload

-- claim without rows
SELECT TOP (@p1) CONVERT(nvarchar(max), [id]), CONVERT(nvarchar(max), [attempt]), [payload] FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 AND NOT ([id] = @p2) ORDER BY [id];
-- binds: limit, left out[0]
-- answers: id[0], attempt, payload

-- finish
DELETE FROM [jobs] WHERE [id] = @p1;
-- binds: id[0]

-- return
UPDATE [jobs] SET [attempt] = COALESCE(@p1, [attempt]), [error] = COALESCE(CONVERT(nvarchar(max), @p2), [error]) WHERE [id] = @p3;
-- binds: restore, reason, id[0]

-- move to table
SET IDENTITY_INSERT [dead_letters] ON; INSERT INTO [dead_letters] ([id], [attempt], [payload], [error]) SELECT [id], COALESCE(CONVERT(int, @p1), [attempt]), [payload], COALESCE(CONVERT(nvarchar(max), @p2), [error]) FROM [jobs] WHERE [id] = @p3; SET IDENTITY_INSERT [dead_letters] OFF;
-- binds: restore, reason, id[0]

-- move to table
DELETE FROM [jobs] WHERE [id] = @p1;
-- binds: id[0]
