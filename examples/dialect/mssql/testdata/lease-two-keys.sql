CREATE TABLE [My "Jobs" [1]]] (
  [tenant] bigint NOT NULL,
  [order] bigint NOT NULL,
  [group] nvarchar(191) NOT NULL,
  [select] int NOT NULL DEFAULT 1,
  [locked until] datetime2(6),
  [payload] varbinary(max) NOT NULL,
  PRIMARY KEY ([tenant], [order])
);

CREATE INDEX [My "Jobs" [1]]_claim_idx] ON [My "Jobs" [1]]] ([group], [tenant], [order]);

-- claim index
CREATE INDEX [My "Jobs" [1]]_claim_idx] ON [My "Jobs" [1]]] ([group], [tenant], [order]);

-- describe
SELECT c.name, y.name + CASE WHEN y.name LIKE '%char' OR y.name LIKE '%binary' THEN '(' + CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(5), c.max_length / CASE WHEN y.name LIKE 'n%' THEN 2 ELSE 1 END) END + ')' WHEN y.name IN ('datetime2', 'datetimeoffset', 'time') THEN '(' + CONVERT(varchar(3), c.scale) + ')' WHEN y.name IN ('decimal', 'numeric') THEN '(' + CONVERT(varchar(3), c.precision) + ', ' + CONVERT(varchar(3), c.scale) + ')' ELSE '' END, CONVERT(int, c.is_nullable), CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END, CONVERT(int, c.is_identity), CASE WHEN y.name IN ('datetime2', 'datetimeoffset') THEN CASE WHEN c.scale > 6 THEN 6 ELSE CONVERT(int, c.scale) END END, 0 FROM sys.columns AS c CROSS APPLY (SELECT COALESCE(TYPE_NAME(c.system_type_id), TYPE_NAME(c.user_type_id)) AS name) AS y WHERE c.object_id = OBJECT_ID(N'[My "Jobs" [1]]]', N'U') ORDER BY c.column_id;

-- indexes
SELECT i.name, c.name, COALESCE(i.filter_definition, '') FROM sys.indexes AS i JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE i.object_id = OBJECT_ID(N'[My "Jobs" [1]]]', N'U') AND i.is_disabled = 0 AND k.key_ordinal > 0 ORDER BY i.name, k.key_ordinal;

-- clock
SELECT CONVERT(nvarchar(max), DATEDIFF_BIG(microsecond, '1970-01-01', SYSUTCDATETIME()) / 1000000.0);

-- insert
INSERT INTO [My "Jobs" [1]]] ([payload], [group]) VALUES (@p1, @p2);
-- binds: value[payload], value[group]

-- count
SELECT CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN [locked until] IS NOT NULL AND [locked until] > @p1 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN 1 = 1 AND ([locked until] IS NULL OR [locked until] <= @p1) THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COUNT(*)) FROM [My "Jobs" [1]]] WITH (READUNCOMMITTED) WHERE [group] = @p2;
-- binds: now, group

-- claim
WITH __claimed AS (SELECT TOP (@p1) * FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND ([locked until] IS NULL OR [locked until] <= @p3) ORDER BY [tenant], [order]) UPDATE __claimed SET [locked until] = @p4, [select] = CASE WHEN [select] < 2147483647 THEN [select] + 1 ELSE [select] END OUTPUT CONVERT(nvarchar(max), inserted.[tenant]), CONVERT(nvarchar(max), inserted.[order]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[select]), CONVERT(nvarchar(max), inserted.[group]), inserted.[payload];
-- binds: limit, group, now, expiry
-- answers: id[0], id[1], token, attempt, group, payload

-- claim ahead
WITH __claimed AS (SELECT TOP (@p1) * FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND ([locked until] IS NULL OR [locked until] <= @p3) AND [select] < @p4 ORDER BY [tenant], [order]) UPDATE __claimed SET [locked until] = @p5, [select] = CASE WHEN [select] < 2147483647 THEN [select] + 1 ELSE [select] END OUTPUT CONVERT(nvarchar(max), inserted.[tenant]), CONVERT(nvarchar(max), inserted.[order]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[select]), CONVERT(nvarchar(max), inserted.[group]), inserted.[payload];
-- binds: limit, group, now, cap, expiry
-- answers: id[0], id[1], token, attempt, group, payload

-- extend
UPDATE q SET [locked until] = CASE WHEN q.[locked until] > CONVERT(datetime2(6), @p1) THEN q.[locked until] ELSE CONVERT(datetime2(6), @p1) END OUTPUT h.n, CONVERT(nvarchar(34), inserted.[locked until], 121) FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(bigint, k1.[value]) AS k1, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS k1 ON k1.[key] = k0.[key] JOIN OPENJSON(@p4) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p5) AS counts ON counts.[key] = k0.[key]) AS h JOIN [My "Jobs" [1]]] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[tenant] = h.k0 AND q.[order] = h.k1 AND q.[locked until] = h.tokens AND q.[select] = h.counts;
-- binds: expiry, ids[0], ids[1], tokens, counts
-- answers: ordinal, token

-- finish
DELETE q OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(bigint, k1.[value]) AS k1, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS k1 ON k1.[key] = k0.[key] JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p4) AS counts ON counts.[key] = k0.[key]) AS h JOIN [My "Jobs" [1]]] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[tenant] = h.k0 AND q.[order] = h.k1 AND q.[locked until] = h.tokens AND q.[select] = h.counts;
-- binds: ids[0], ids[1], tokens, counts
-- answers: ordinal

-- return
UPDATE q SET [locked until] = h.untils, [select] = COALESCE(h.restores, q.[select]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(bigint, k1.[value]) AS k1, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores, CONVERT(datetime2(6), untils.[value]) AS untils FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS k1 ON k1.[key] = k0.[key] JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p4) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p5) AS restores ON restores.[key] = k0.[key] JOIN OPENJSON(@p6) AS untils ON untils.[key] = k0.[key]) AS h JOIN [My "Jobs" [1]]] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[tenant] = h.k0 AND q.[order] = h.k1 AND q.[locked until] = h.tokens AND q.[select] = h.counts;
-- binds: ids[0], ids[1], tokens, counts, restores, untils
-- answers: ordinal

-- move to group
UPDATE q SET [group] = @p1, [locked until] = NULL, [select] = COALESCE(h.restores, q.[select]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(bigint, k1.[value]) AS k1, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores FROM OPENJSON(@p2) AS k0 JOIN OPENJSON(@p3) AS k1 ON k1.[key] = k0.[key] JOIN OPENJSON(@p4) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p5) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p6) AS restores ON restores.[key] = k0.[key]) AS h JOIN [My "Jobs" [1]]] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[tenant] = h.k0 AND q.[order] = h.k1 AND q.[locked until] = h.tokens AND q.[select] = h.counts;
-- binds: target, ids[0], ids[1], tokens, counts, restores
-- answers: ordinal

-- move to table
DELETE q OUTPUT deleted.[tenant], deleted.[order], deleted.[group], COALESCE(h.restores, deleted.[select]), NULL, deleted.[payload] INTO [dead_letters] ([tenant], [order], [group], [select], [locked until], [payload]) OUTPUT h.n FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, CONVERT(bigint, k0.[value]) AS k0, CONVERT(bigint, k1.[value]) AS k1, CONVERT(datetime2(6), tokens.[value]) AS tokens, CONVERT(int, counts.[value]) AS counts, CONVERT(int, restores.[value]) AS restores FROM OPENJSON(@p1) AS k0 JOIN OPENJSON(@p2) AS k1 ON k1.[key] = k0.[key] JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = k0.[key] JOIN OPENJSON(@p4) AS counts ON counts.[key] = k0.[key] JOIN OPENJSON(@p5) AS restores ON restores.[key] = k0.[key]) AS h JOIN [My "Jobs" [1]]] AS q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON q.[tenant] = h.k0 AND q.[order] = h.k1 AND q.[locked until] = h.tokens AND q.[select] = h.counts;
-- binds: ids[0], ids[1], tokens, counts, restores
-- answers: ordinal

-- held
SELECT 1 FROM [My "Jobs" [1]]] WITH (READUNCOMMITTED) WHERE [tenant] = @p1 AND [order] = @p2 AND [locked until] = @p3 AND [select] = @p4;
-- binds: id[0], id[1], token, count

-- claim of all groups
WITH __claimed AS (SELECT TOP (@p1) * FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] NOT IN (@p2, @p3) AND ([locked until] IS NULL OR [locked until] <= @p4) ORDER BY [tenant], [order]) UPDATE __claimed SET [locked until] = @p5, [select] = CASE WHEN [select] < 2147483647 THEN [select] + 1 ELSE [select] END OUTPUT CONVERT(nvarchar(max), inserted.[tenant]), CONVERT(nvarchar(max), inserted.[order]), CONVERT(nvarchar(34), inserted.[locked until], 121), CONVERT(nvarchar(max), inserted.[select]), CONVERT(nvarchar(max), inserted.[group]), inserted.[payload];
-- binds: limit, except[0], except[1], now, expiry
-- answers: id[0], id[1], token, attempt, group, payload
