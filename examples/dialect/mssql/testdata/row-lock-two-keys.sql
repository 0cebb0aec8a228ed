CREATE TABLE [My "Jobs" [1]]] (
  [tenant] bigint NOT NULL,
  [order] bigint NOT NULL,
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

-- claim
SELECT TOP (@p1) CONVERT(nvarchar(max), [tenant]), CONVERT(nvarchar(max), [order]), CONVERT(nvarchar(max), [select]), CONVERT(nvarchar(max), [group]), [payload] FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 ORDER BY [tenant], [order];
-- binds: limit, group
-- answers: id[0], id[1], attempt, group, payload

-- claim of one
SELECT TOP (@p1) CONVERT(nvarchar(max), [tenant]), CONVERT(nvarchar(max), [order]), CONVERT(nvarchar(max), [select]), CONVERT(nvarchar(max), [group]), [payload] FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 ORDER BY [tenant], [order];
-- binds: limit, group
-- answers: id[0], id[1], attempt, group, payload

-- claim without rows
SELECT TOP (@p1) CONVERT(nvarchar(max), [tenant]), CONVERT(nvarchar(max), [order]), CONVERT(nvarchar(max), [select]), CONVERT(nvarchar(max), [group]), [payload] FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] = @p2 AND NOT ([tenant] = @p3 AND [order] = @p4) ORDER BY [tenant], [order];
-- binds: limit, group, left out[0], left out[1]
-- answers: id[0], id[1], attempt, group, payload

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
INSERT INTO [dead_letters] ([tenant], [order], [group], [select], [payload]) SELECT [tenant], [order], [group], COALESCE(CONVERT(int, @p1), [select]), [payload] FROM [My "Jobs" [1]]] WHERE [tenant] = @p2 AND [order] = @p3;
-- binds: restore, id[0], id[1]

-- move to table
DELETE FROM [My "Jobs" [1]]] WHERE [tenant] = @p1 AND [order] = @p2;
-- binds: id[0], id[1]

-- claim of all groups
SELECT TOP (@p1) CONVERT(nvarchar(max), [tenant]), CONVERT(nvarchar(max), [order]), CONVERT(nvarchar(max), [select]), CONVERT(nvarchar(max), [group]), [payload] FROM [My "Jobs" [1]]] WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE [group] NOT IN (@p2, @p3) ORDER BY [tenant], [order];
-- binds: limit, except[0], except[1]
-- answers: id[0], id[1], attempt, group, payload
