CREATE TABLE [jobs] (
  [id] bigint IDENTITY PRIMARY KEY,
  [channel] nvarchar(191),
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

-- candidates
SELECT TOP (@p1) CONVERT(nvarchar(max), [id]), __lock, __name, CONVERT(nvarchar(max), [attempt]) FROM [jobs] WITH (READPAST, READCOMMITTEDLOCK) CROSS APPLY (SELECT COALESCE((N'it''s-' + CONVERT(nvarchar(max), [channel]) + N'/' + CONVERT(nvarchar(max), [id])), (N'jobs ' + CONVERT(nvarchar(max), [id]))) AS __lock) AS __locks CROSS APPLY (SELECT CASE WHEN DATALENGTH(__lock) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', __lock), 2) ELSE CONVERT(nvarchar(255), __lock) END AS __name) AS __names WHERE 1 = 1 AND __name COLLATE Latin1_General_BIN2 NOT IN (SELECT [value] FROM OPENJSON(@p2)) AND APPLOCK_TEST(N'public', __name, N'Exclusive', N'Session') = 1 ORDER BY [id];
-- binds: limit, names
-- answers: id[0], lock, name, attempt

-- take
UPDATE [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) SET [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), deleted.[id]), CONVERT(nvarchar(max), inserted.[attempt]), deleted.[payload] WHERE [id] = @p1 AND 1 = 1;
-- binds: id[0]
-- answers: id[0], attempt, payload

-- take ahead
UPDATE [jobs] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) SET [attempt] = CASE WHEN [attempt] < 2147483647 THEN [attempt] + 1 ELSE [attempt] END OUTPUT CONVERT(nvarchar(max), deleted.[id]), CONVERT(nvarchar(max), inserted.[attempt]), deleted.[payload] WHERE [id] = @p1 AND 1 = 1 AND [attempt] < @p2;
-- binds: id[0], cap
-- answers: id[0], attempt, payload

-- lock
DECLARE @__result int = -1; IF APPLOCK_MODE(N'public', @p1, N'Session') = N'NoLock' EXEC @__result = sp_getapplock @Resource = @p1, @LockOwner = N'Session', @DbPrincipal = N'public', @LockMode = N'Exclusive', @LockTimeout = 0; SELECT CASE WHEN @__result >= 0 THEN 1 ELSE 0 END;
-- binds: name

-- unlock
DECLARE @__result int = -1; IF APPLOCK_MODE(N'public', @p1, N'Session') <> N'NoLock' EXEC @__result = sp_releaseapplock @Resource = @p1, @LockOwner = N'Session', @DbPrincipal = N'public'; SELECT CASE WHEN @__result >= 0 THEN 1 ELSE 0 END;
-- binds: name

-- finish
DELETE FROM [jobs] WHERE [id] = @p1;
-- binds: id[0]

-- return
UPDATE [jobs] SET [attempt] = COALESCE(@p1, [attempt]), [error] = COALESCE(CONVERT(nvarchar(max), @p2), [error]) WHERE [id] = @p3;
-- binds: restore, reason, id[0]

-- move to table
SET IDENTITY_INSERT [dead_letters] ON; INSERT INTO [dead_letters] ([id], [channel], [attempt], [payload], [error]) SELECT [id], [channel], COALESCE(CONVERT(int, @p1), [attempt]), [payload], COALESCE(CONVERT(nvarchar(max), @p2), [error]) FROM [jobs] WHERE [id] = @p3; SET IDENTITY_INSERT [dead_letters] OFF;
-- binds: restore, reason, id[0]

-- move to table
DELETE FROM [jobs] WHERE [id] = @p1;
-- binds: id[0]

-- lock settings
SET LOCK_TIMEOUT 1000;

-- session
SELECT CONVERT(nvarchar(11), session_id) + N' ' + CONVERT(nvarchar(34), login_time, 121) FROM sys.dm_exec_sessions WHERE session_id = @@SPID;

-- end session
DECLARE @__kill nvarchar(20) = (SELECT N'KILL ' + CONVERT(nvarchar(11), session_id) FROM sys.dm_exec_sessions WHERE CONVERT(nvarchar(11), session_id) + N' ' + CONVERT(nvarchar(34), login_time, 121) = @p1); IF @__kill IS NOT NULL EXEC (@__kill);
-- binds: session
