CREATE TABLE [jobs] (
  [id] bigint IDENTITY PRIMARY KEY,
  [attempt] int NOT NULL DEFAULT 1,
  [locked until] datetime2(6),
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
SELECT CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN [locked until] IS NOT NULL AND [locked until] > @p1 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN 1 = 1 AND ([locked until] IS NULL OR [locked until] <= @p1) THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COUNT(*)) FROM [jobs] WITH (READUNCOMMITTED) WHERE 1 = 1;
-- binds: now

-- claim
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 AND ([locked until] IS NULL OR [locked until] <= @p2) ORDER BY [id]) UPDATE __claimed SET [locked until] = @p3, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), inserted.[payload];
-- binds: limit, now, expiry
-- answers: id[0], token, attempt, payload

-- claim from a mark
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 AND [id] >= @p2 AND ([locked until] IS NULL OR [locked until] <= @p3) ORDER BY [id]) UPDATE __claimed SET [locked until] = @p4, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), inserted.[payload];
-- binds: limit, mark, now, expiry
-- answers: id[0], token, attempt, payload

-- claim ahead
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 AND ([locked until] IS NULL OR [locked until] <= @p2) AND [attempt] < @p3 ORDER BY [id]) UPDATE __claimed SET [locked until] = @p4, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), inserted.[payload];
-- binds: limit, now, cap, expiry
-- answers: id[0], token, attempt, payload

-- claim ahead from a mark
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE 1 = 1 AND [id] >= @p2 AND ([locked until] IS NULL OR [locked until] <= @p3) AND [attempt] < @p4 ORDER BY [id]) UPDATE __claimed SET [locked until] = @p5, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), inserted.[payload];
-- binds: limit, mark, now, cap, expiry
-- answers: id[0], token, attempt, payload

-- extend
UPDATE q SET [locked until] = CASE WHEN q.[locked until] > CONVERT(datetime2(6), @p1) THEN q.[locked until] ELSE CONVERT(datetime2(6), @p1) END OUTPUT h.n, CONVERT(nvarchar(34), inserted.[locked until], 121) FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p4) AS counts ON counts.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: expiry, ids[0], tokens, counts
-- answers: ordinal, token

-- finish
DELETE q OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p3) AS counts ON counts.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: ids[0], tokens, counts
-- answers: ordinal

-- return
UPDATE q SET [locked until] = h.untils, [attempt] = COALESCE(h.restores, q.[attempt]), [error] = COALESCE(h.reasons, q.[error]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores, CONVERT(nvarchar(max), reasons.[value]) AS reasons, CONVERT(datetime2(6), untils.[value]) AS untils FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p3) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p4) AS restores ON restores.[key] = k0.[key] JOIN OPENJSON(@p5) AS reasons ON reasons.[key] = k0.[key] JOIN OPENJSON(@p6) AS untils ON untils.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: ids[0], tokens, counts, restores, reasons, untils
-- answers: ordinal

-- move to table
SET IDENTITY_INSERT [dead_letters] ON; DELETE q OUTPUT deleted.[id], COALESCE(h.restores, deleted.[attempt]), NULL, deleted.[payload], COALESCE(h.reasons, deleted.[error]) INTO [dead_letters] ([id], [attempt], [locked until], [payload], [error]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores, CONVERT(nvarchar(max), reasons.[value]) AS reasons FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p3) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p4) AS restores ON restores.[key] = k0.[key] JOIN OPENJSON(@p5) AS reasons ON reasons.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts; SET IDENTITY_INSERT [dead_letters] OFF;
-- binds: ids[0], tokens, counts, restores, reasons
-- answers: ordinal

-- held
SELECT 1 FROM [jobs] WITH (READUNCOMMITTED) WHERE [id] = @p1 AND [locked until] = @p2 AND [attempt] = @p3;
-- binds: id[0], token, count
