package metrics

// What handlers do with their rows.
var (
	Deliveries = declare(Counter, "deliveries_total", "deliveries",
		"Deliveries whose settlement took effect, by what they came to: acked, dropped, dead_lettered, retried, delayed, snoozed, released (given back unstarted), interrupted (by a stop).",
		"handler", "outcome")
	HandlerTime = timing("handler_duration_seconds",
		"Time in the guest and its host functions, a call. A call of a batch handler has several messages.")
	ClaimTime = timing("claim_duration_seconds",
		"Time until a claim was answered. Where a claim travels with the settlement before it, the time of both.")
	ClaimErrors = declare(Counter, "claim_errors_total", "claims",
		"Claims that failed.", "handler")
	ClaimedRows = declare(Counter, "claimed_rows_total", "rows",
		"Rows that claims took.", "handler")
	SettlementTime = timing("settlement_duration_seconds",
		"Time from the end of a delivery's call to the answer of its settlement.")
	SettlementsFailed = declare(Counter, "settlements_failed_total", "deliveries",
		"Deliveries whose settlement was refused or not answered: their rows come again unless it took effect unanswered.", "handler")
	LeasesLost = declare(Counter, "leases_lost_total", "deliveries",
		"Deliveries that ended after another claim had their row, or after the session that held it: they settled nothing.", "handler")
	InWork = declare(Gauge, "in_work", "rows",
		"Rows that this process has claimed and not settled yet, with those that wait for a thread.", "handler")
	Threads = declare(Gauge, "threads", "threads",
		"Threads of the handler in this process.", "handler")
	Paused = declare(Gauge, "paused", "boolean",
		"1 while the handler is paused in this process, else 0.", "handler")
)

// What waits in the tables.
var (
	QueueRows = declare(Gauge, "queue_rows", "rows",
		"Rows of a table and group by state, whoever works on them: due, delayed, in_work (in the lease form, elsewhere they count as due), dead, processed. Counted every 10 s at most, and less often where counting takes long; absent where the last count failed. Beyond 200 groups of a table the rest is one, (other groups).",
		"table", "group", "state")
	QueueOldestAge = declare(Gauge, "queue_oldest_age_seconds", "seconds",
		"For how long the oldest row has been due that is neither processed nor dead, by retry_after, else by created_at; 0 where none is due. Counted with queue_rows.",
		"table", "group")
)

// The guests.
var (
	InstancesCreated = declare(Counter, "instances_created_total", "instances",
		"Instances that were made for threads.", "handler")
	InstancesDiscarded = declare(Counter, "instances_discarded_total", "instances",
		"Instances that were given up, by cause: trap, exit, timeout, interrupted, memory (a growth was refused), fresh (instance = \"fresh\"), recycle_after, recycle_memory, reload, stop.",
		"handler", "cause")
	GuestTicks = declare(Counter, "guest_ticks_total", "ticks",
		"Ticks of the meter that guests have run, about one an instruction.", "handler")
	GuestMemory = declare(Gauge, "guest_memory_bytes", "bytes",
		"Linear memory of the handler's largest instance, as of its last call.", "handler")
	CompileTime = declare(Gauge, "module_compile_seconds", "seconds",
		"Time that the handler's module took to compile, or to be read from the cache.", "handler")
)

// The process.
var (
	PoolConnections = declare(Gauge, "pool_connections", "connections",
		"Connections by state (in_use, idle), of the pool of the service or of the handler's threads (handlers.NAME).", "pool", "state")
	PoolConnectionsMax = declare(Gauge, "pool_connections_max", "connections",
		"The most connections that the pool opens.", "pool")
	Ready = declare(Gauge, "ready", "boolean",
		"1 while the service is ready, else 0: /readyz says why.")
	BuildInfo = declare(Gauge, "build_info", "boolean",
		"1, with the program's version and commit, the engine and the contract with guests.", "version", "commit", "engine", "abi")
)
