CREATE TABLE [My "Jobs" [1]]] (
  [tenant] bigint NOT NULL,
  [order] bigint NOT NULL,
  [channel] nvarchar(191),
  [id] nvarchar(191),
  [group] nvarchar(191) NOT NULL,
  [select] int NOT NULL DEFAULT 1,
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
SELECT CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN 1 = 0 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COALESCE(SUM(CASE WHEN 1 = 1 THEN 1 ELSE 0 END), 0)), CONVERT(nvarchar(max), COUNT(*)) FROM [My "Jobs" [1]]] WITH (READUNCOMMITTED) WHERE [group] = @p1;
-- binds: group

-- candidates
SELECT TOP (@p1) CONVERT(nvarchar(max), [tenant]), CONVERT(nvarchar(max), [order]), __lock, __name, CONVERT(nvarchar(max), [select]) FROM [My "Jobs" [1]]] WITH (READPAST, READCOMMITTEDLOCK) CROSS APPLY (SELECT COALESCE((N'it''s-' + CONVERT(nvarchar(max), [channel]) + N'/' + CONVERT(nvarchar(max), [id])), (N'My "Jobs" [1] ' + CONVERT(nvarchar(max), [tenant]) + N',' + CONVERT(nvarchar(max), [order]))) AS __lock) AS __locks CROSS APPLY (SELECT CASE WHEN DATALENGTH(__lock) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', __lock), 2) ELSE CONVERT(nvarchar(255), __lock) END AS __name) AS __names WHERE [group] = @p2 AND __name COLLATE Latin1_General_BIN2 NOT IN (SELECT [value] FROM OPENJSON(@p3)) AND APPLOCK_TEST(N'public', __name, N'Exclusive', N'Session') = 1 ORDER BY [tenant], [order];
-- binds: limit, group, names
-- answers: id[0], id[1], lock, name, attempt

-- take
UPDATE [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) SET [select] = CASE WHEN [select] < 2147483647 THEN [select] + 1 ELSE [select] END OUTPUT CONVERT(nvarchar(max), deleted.[tenant]), CONVERT(nvarchar(max), deleted.[order]), CONVERT(nvarchar(max), inserted.[select]), CONVERT(nvarchar(max), deleted.[group]), deleted.[payload] WHERE [tenant] = @p1 AND [order] = @p2 AND [group] = @p3;
-- binds: id[0], id[1], group
-- answers: id[0], id[1], attempt, group, payload

-- take ahead
UPDATE [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) SET [select] = CASE WHEN [select] < 2147483647 THEN [select] + 1 ELSE [select] END OUTPUT CONVERT(nvarchar(max), deleted.[tenant]), CONVERT(nvarchar(max), deleted.[order]), CONVERT(nvarchar(max), inserted.[select]), CONVERT(nvarchar(max), deleted.[group]), deleted.[payload] WHERE [tenant] = @p1 AND [order] = @p2 AND [group] = @p3 AND [select] < @p4;
-- binds: id[0], id[1], group, cap
-- answers: id[0], id[1], attempt, group, payload

-- lock
DECLARE @__result int = -1; IF APPLOCK_MODE(N'public', @p1, N'Session') = N'NoLock' EXEC @__result = sp_getapplock @Resource = @p1, @LockOwner = N'Session', @DbPrincipal = N'public', @LockMode = N'Exclusive', @LockTimeout = 0; SELECT CASE WHEN @__result >= 0 THEN 1 ELSE 0 END;
-- binds: name

-- unlock
DECLARE @__result int = -1; IF APPLOCK_MODE(N'public', @p1, N'Session') <> N'NoLock' EXEC @__result = sp_releaseapplock @Resource = @p1, @LockOwner = N'Session', @DbPrincipal = N'public'; SELECT CASE WHEN @__result >= 0 THEN 1 ELSE 0 END;
-- binds: name

-- finish
DELETE FROM [My "Jobs" [1]]] WHERE [tenant] = @p1 AND [order] = @p2;
-- binds: id[0], id[1]

-- return
UPDATE [My "Jobs" [1]]] SET [select] = COALESCE(@p1, [select]) WHERE [tenant] = @p2 AND [order] = @p3;
-- binds: restore, id[0], id[1]

-- move to group
UPDATE [My "Jobs" [1]]] SET [group] = @p1, [select] = COALESCE(@p2, [select]) WHERE [tenant] = @p3 AND [order] = @p4;
-- binds: target, restore, id[0], id[1]

-- move to table
INSERT INTO [dead_letters] ([tenant], [order], [channel], [id], [group], [select], [payload]) SELECT [tenant], [order], [channel], [id], [group], COALESCE(CONVERT(int, @p1), [select]), [payload] FROM [My "Jobs" [1]]] WHERE [tenant] = @p2 AND [order] = @p3;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM [My "Jobs" [1]]] WHERE [tenant] = @p1 AND [order] = @p2;
-- binds: id[0], id[1]

-- candidates of all groups
SELECT TOP (@p1) CONVERT(nvarchar(max), [tenant]), CONVERT(nvarchar(max), [order]), __lock, __name, CONVERT(nvarchar(max), [select]) FROM [My "Jobs" [1]]] WITH (READPAST, READCOMMITTEDLOCK) CROSS APPLY (SELECT COALESCE((N'it''s-' + CONVERT(nvarchar(max), [channel]) + N'/' + CONVERT(nvarchar(max), [id])), (N'My "Jobs" [1] ' + CONVERT(nvarchar(max), [tenant]) + N',' + CONVERT(nvarchar(max), [order]))) AS __lock) AS __locks CROSS APPLY (SELECT CASE WHEN DATALENGTH(__lock) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', __lock), 2) ELSE CONVERT(nvarchar(255), __lock) END AS __name) AS __names WHERE [group] NOT IN (@p2, @p3) AND __name COLLATE Latin1_General_BIN2 NOT IN (SELECT [value] FROM OPENJSON(@p4)) AND APPLOCK_TEST(N'public', __name, N'Exclusive', N'Session') = 1 ORDER BY [tenant], [order];
-- binds: limit, except[0], except[1], names
-- answers: id[0], id[1], lock, name, attempt

-- take of all groups
UPDATE [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) SET [select] = CASE WHEN [select] < 2147483647 THEN [select] + 1 ELSE [select] END OUTPUT CONVERT(nvarchar(max), deleted.[tenant]), CONVERT(nvarchar(max), deleted.[order]), CONVERT(nvarchar(max), inserted.[select]), CONVERT(nvarchar(max), deleted.[group]), deleted.[payload] WHERE [tenant] = @p1 AND [order] = @p2 AND [group] NOT IN (@p3, @p4);
-- binds: id[0], id[1], except[0], except[1]
-- answers: id[0], id[1], attempt, group, payload

-- lock settings
SET LOCK_TIMEOUT 1000;

-- session
SELECT CONVERT(nvarchar(11), session_id) + N' ' + CONVERT(nvarchar(34), login_time, 121) FROM sys.dm_exec_sessions WHERE session_id = @@SPID;

-- end session
DECLARE @__kill nvarchar(20) = (SELECT N'KILL ' + CONVERT(nvarchar(11), session_id) FROM sys.dm_exec_sessions WHERE CONVERT(nvarchar(11), session_id) + N' ' + CONVERT(nvarchar(34), login_time, 121) = @p1); IF @__kill IS NOT NULL EXEC (@__kill);
-- binds: session
