CREATE TABLE [jobs] (
  [id] bigint IDENTITY PRIMARY KEY,
  [group] nvarchar(191) NOT NULL,
  [retry_after] datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
  [attempt] int NOT NULL DEFAULT 1,
  [locked until] datetime2(6)
);

CREATE INDEX [jobs_claim_idx] ON [jobs] ([group], [retry_after], [id]);

CREATE INDEX [jobs_order_idx] ON [jobs] ([retry_after], [id]);

-- claim index
CREATE INDEX [jobs_claim_idx] ON [jobs] ([group], [retry_after], [id]);

-- describe
SELECT c.name, y.name + CASE WHEN y.name LIKE '%char' OR y.name LIKE '%binary' THEN '(' + CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(5), c.max_length / CASE WHEN y.name LIKE 'n%' THEN 2 ELSE 1 END) END + ')' WHEN y.name IN ('datetime2', 'datetimeoffset', 'time') THEN '(' + CONVERT(varchar(3), c.scale) + ')' WHEN y.name IN ('decimal', 'numeric') THEN '(' + CONVERT(varchar(3), c.precision) + ', ' + CONVERT(varchar(3), c.scale) + ')' ELSE '' END, CONVERT(int, c.is_nullable), CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END, CONVERT(int, c.is_identity), CASE WHEN y.name IN ('datetime2', 'datetimeoffset') THEN CASE WHEN c.scale > 6 THEN 6 ELSE CONVERT(int, c.scale) END END, 0 FROM sys.columns AS c CROSS APPLY (SELECT COALESCE(TYPE_NAME(c.system_type_id), TYPE_NAME(c.user_type_id)) AS name) AS y WHERE c.object_id = OBJECT_ID(N'[jobs]', N'U') ORDER BY c.column_id;

-- indexes
SELECT i.name, c.name, COALESCE(i.filter_definition, '') FROM sys.indexes AS i JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE i.object_id = OBJECT_ID(N'[jobs]', N'U') AND i.is_disabled = 0 AND k.key_ordinal > 0 ORDER BY i.name, k.key_ordinal;

-- clock
SELECT CONVERT(nvarchar(max), DATEDIFF_BIG(microsecond, '1970-01-01', SYSUTCDATETIME()) / 1000000.0);

-- insert
INSERT INTO [jobs] ([group], [retry_after]) VALUES (@p1, @p2);
-- binds: value[group], value[retry_after]

-- count
SELECT CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN [locked until] IS NOT NULL AND [locked until] > @p1 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN [retry_after] <= @p1 AND ([locked until] IS NULL OR [locked until] <= @p1) THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COUNT(*)) FROM [jobs] WITH (READUNCOMMITTED) WHERE [group] = @p2;
-- binds: now, group

-- insert row
SET IDENTITY_INSERT [jobs] ON; INSERT INTO [jobs] ([id], [group], [retry_after], [attempt]) VALUES (@p1, @p2, @p3, @p4); SET IDENTITY_INSERT [jobs] OFF;
-- binds: data[0], data[1], data[2], data[3]

-- claim
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND [retry_after] <= @p3 AND ([locked until] IS NULL OR [locked until] <= @p3) ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p4, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[attempt]);
-- binds: limit, group, now, expiry
-- answers: id[0], token, attempt, group, retry_after, column[0], column[1], column[2], column[3]

-- claim from a mark
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND [retry_after] >= @p3 AND ([retry_after] > @p3 OR [id] >= @p4) AND [retry_after] <= @p5 AND ([locked until] IS NULL OR [locked until] <= @p5) ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p6, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[attempt]);
-- binds: limit, group, mark time, mark, now, expiry
-- answers: id[0], token, attempt, group, retry_after, column[0], column[1], column[2], column[3]

-- claim ahead
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND [retry_after] <= @p3 AND ([locked until] IS NULL OR [locked until] <= @p3) AND [attempt] < @p4 ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p5, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[attempt]);
-- binds: limit, group, now, cap, expiry
-- answers: id[0], token, attempt, group, retry_after, column[0], column[1], column[2], column[3]

-- claim ahead from a mark
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND [retry_after] >= @p3 AND ([retry_after] > @p3 OR [id] >= @p4) AND [retry_after] <= @p5 AND ([locked until] IS NULL OR [locked until] <= @p5) AND [attempt] < @p6 ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p7, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[attempt]);
-- binds: limit, group, mark time, mark, now, cap, expiry
-- answers: id[0], token, attempt, group, retry_after, column[0], column[1], column[2], column[3]

-- extend
UPDATE q SET [locked until] = CASE WHEN q.[locked until] > CONVERT(datetime2(6), @p1) THEN q.[locked until] ELSE CONVERT(datetime2(6), @p1) END OUTPUT h.n, CONVERT(nvarchar(34), inserted.[locked until], 121) FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p4) AS counts ON counts.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: expiry, ids[0], tokens, counts
-- answers: ordinal, token

-- finish
DELETE q OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p3) AS counts ON counts.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: ids[0], tokens, counts
-- answers: ordinal

-- return
UPDATE q SET [locked until] = NULL, [retry_after] = COALESCE(h.untils, q.[retry_after]), [attempt] = COALESCE(h.restores, q.[attempt]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores, CONVERT(datetime2(6), untils.[value]) AS untils FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p3) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p4) AS restores ON restores.[key] = k0.[key] JOIN OPENJSON(@p5) AS untils ON untils.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: ids[0], tokens, counts, restores, untils
-- answers: ordinal

-- move to group
UPDATE q SET [group] = @p1, [locked until] = NULL, [retry_after] = @p2, [attempt] = COALESCE(h.restores, q.[attempt]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores FROM OPENJSON(@p3) AS k0 JOIN OPENJSON(@p4) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p5) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p6) AS restores ON restores.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts;
-- binds: target, now, ids[0], tokens, counts, restores
-- answers: ordinal

-- move to table
SET IDENTITY_INSERT [dead_letters] ON; DELETE q OUTPUT deleted.[id], deleted.[group], CONVERT(datetime2(6), @p1), COALESCE(h.restores, deleted.[attempt]), NULL INTO [dead_letters] ([id], [group], [retry_after], [attempt], [locked until]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p4) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p5) AS restores ON restores.[key] = k0.[key]) AS h JOIN [jobs] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[id] = h.k0 AND q.[locked until] = h.tokens AND q.[attempt] = h.counts; SET IDENTITY_INSERT [dead_letters] OFF;
-- binds: now, ids[0], tokens, counts, restores
-- answers: ordinal

-- held
SELECT 1 FROM [jobs] WITH (READUNCOMMITTED) WHERE [id] = @p1 AND [locked until] = @p2 AND [attempt] = @p3;
-- binds: id[0], token, count

-- claim of all groups
WITH __claimed AS (SELECT TOP (@p1) * FROM [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] NOT IN (@p2, @p3) AND [retry_after] <= @p4 AND ([locked until] IS NULL OR [locked until] <= @p4) ORDER BY [retry_after], [id]) UPDATE __claimed SET [locked until] = @p5, [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[attempt]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[id]), CONVERT(nvarchar(max), inserted.[group]), CONVERT(nvarchar(34), inserted.[retry_after], 121), CONVERT(nvarchar(max), inserted.[attempt]);
-- binds: limit, except[0], except[1], now, expiry
-- answers: id[0], token, attempt, group, retry_after, column[0], column[1], column[2], column[3]
