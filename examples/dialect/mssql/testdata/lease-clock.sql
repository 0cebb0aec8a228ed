CREATE TABLE [jobs] (
  [id] bigint IDENTITY PRIMARY KEY,
  [retry_after] datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
  [processed_at] datetime2(6),
  [locked until] datetime2(6),
  [payload] varbinary(max) NOT NULL
);

CREATE INDEX [jobs_claim_idx] ON [jobs] ([processed_at], [retry_after], [id]);

-- claim index
CREATE INDEX [jobs_claim_idx] ON [jobs] ([processed_at], [retry_after], [id]);

-- describe
SELECT c.name, y.name + CASE WHEN y.name LIKE '%char' OR y.name LIKE '%binary' THEN '(' + CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(5), c.max_length / CASE WHEN y.name LIKE 'n%' THEN 2 ELSE 1 END) END + ')' WHEN y.name IN ('datetime2', 'datetimeoffset', 'time') THEN '(' + CONVERT(varchar(3), c.scale) + ')' WHEN y.name IN ('decimal', 'numeric') THEN '(' + CONVERT(varchar(3), c.precision) + ', ' + CONVERT(varchar(3), c.scale) + ')' ELSE '' END, CONVERT(int, c.is_nullable), CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END, CONVERT(int, c.is_identity), CASE WHEN y.name IN ('datetime2', 'datetimeoffset') THEN CASE WHEN c.scale > 6 THEN 6 ELSE CONVERT(int, c.scale) END END, 0 FROM sys.columns AS c CROSS APPLY (SELECT COALESCE(TYPE_NAME(c.system_type_id), TYPE_NAME(c.user_type_id)) AS name) AS y WHERE c.object_id = OBJECT_ID(N'[jobs]', N'U') ORDER BY c.column_id;

-- indexes
SELECT i.name, c.name, COALESCE(i.filter_definition, '') FROM sys.indexes AS i JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE i.object_id = OBJECT_ID(N'[jobs]', N'U') AND i.is_disabled = 0 AND k.key_ordinal > 0 ORDER BY i.name, k.key_ordinal;

-- clock
SELECT CONVERT(nvarchar(max), DATEDIFF_BIG(microsecond, '1970-01-01', SYSUTCDATETIME()) / 1000000.0);

-- insert
INSERT INTO [jobs] ([payload], [retry_after]) VALUES (@p1, @p2);
-- binds: value[payload], value[retry_after]

-- count
SELECT CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN [locked until] IS NOT NULL AND [locked until] > @p1 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN [retry_after] <= @p1 AND ([locked until] IS NULL OR [locked until] <= @p1) THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COUNT(*)) FROM [jobs] WITH (READUNCOMMITTED) WHERE [processed_at] IS NULL;
-- binds: now

-- claim
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [processed_at] IS NULL AND [retry_after] <= @p2 AND ([locked until] IS NULL OR [locked until] <= @p2) ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p3 OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), inserted.[payload], CONVERT(nvarchar(34), inserted.[retry_after], 121);
-- binds: limit, now, expiry
-- answers: id[0], token, payload, retry_after

-- claim from a mark
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [processed_at] IS NULL AND [retry_after] >= @p2 AND ([retry_after] > @p2 OR [id] >= @p3) AND [retry_after] <= @p4 AND ([locked until] IS NULL OR [locked until] <= @p4) ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p5 OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), inserted.[payload], CONVERT(nvarchar(34), inserted.[retry_after], 121);
-- binds: limit, mark time, mark, now, expiry
-- answers: id[0], token, payload, retry_after

-- extend
UPDATE q SET [locked until] = CASE WHEN q.[locked until] > CONVERT(datetime2(6), @p1) THEN q.[locked until] ELSE CONVERT(datetime2(6), @p1) END OUTPUT h.n, CONVERT(nvarchar(34), inserted.[locked until], 121) FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens;
-- binds: expiry, ids[0], tokens
-- answers: ordinal, token

-- finish
UPDATE q SET [processed_at] = @p1, [locked until] = NULL OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens;
-- binds: now, ids[0], tokens
-- answers: ordinal

-- return
UPDATE q SET [locked until] = NULL, [retry_after] = COALESCE(h.untils, q.[retry_after]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(datetime2(6), untils.[value]) AS untils FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p3) AS untils ON untils.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens;
-- binds: ids[0], tokens, untils
-- answers: ordinal

-- move to table
SET IDENTITY_INSERT [dead_letters] ON; DELETE q OUTPUT deleted.[id], CONVERT(datetime2(6), @p1), NULL, NULL, deleted.[payload] INTO [dead_letters] ([id], [retry_after], [processed_at], [locked until], [payload]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens; SET IDENTITY_INSERT [dead_letters] OFF;
-- binds: now, ids[0], tokens
-- answers: ordinal

-- held
SELECT 1 FROM [jobs] WITH (READUNCOMMITTED) WHERE [id] = @p1 AND [locked until] = @p2;
-- binds: id[0], token
