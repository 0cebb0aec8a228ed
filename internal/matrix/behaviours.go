package main

// formNames are the sections of the page.
var formNames = [...]string{"Lease", "Row lock", "Advisory lock"}

// behaviour is a row of the page.
type behaviour struct {
	name  string
	forms [len(formNames)]cell // in the order of formNames
}

// cell is what is known of a behaviour in one form.
type cell struct {
	// tests are patterns, as record.find has them.
	tests []string
	// whole is the reason why there are none on any database, but those on which the form is not.
	whole string
	// but is the reason on some databases.
	but map[string]string
}

func by(tests ...string) cell { return cell{tests: tests} }
func none(reason string) cell { return cell{whole: reason} }
func (c cell) except(reason string, databases ...string) cell {
	but := map[string]string{}
	for d, r := range c.but {
		but[d] = r
	}
	for _, d := range databases {
		but[d] = reason
	}
	c.but = but
	return c
}

// reason is why the cell has no tests on a database; empty where it has.
func (c cell) reason(form, database string) string {
	if r := c.but[database]; r != "" {
		return r
	}
	if form == "Row lock" && database == "sqlite" {
		return "no row locks: refused"
	}
	return c.whole
}

// onPostgres is a behaviour that concerns PostgreSQL alone.
func onPostgres(reason string, tests ...string) cell {
	return by(tests...).except(reason, "mariadb", "mysql", "sqlite")
}

const (
	noPooler    = "PgBouncer is PostgreSQL's"
	noListen    = "no notifications"
	ordered     = "the key keeps the order"
	sharedCode  = "the rows are read by the lease form's code"
	otherPlans  = "not so: its planner sorts the leases of each group, and the test finds it"
	noProcesses = "the tests of whole processes run on MariaDB"
	noServer    = "no server that could fail"
)

// behaviours are the rows.
var behaviours = []behaviour{
	{"statements as written, parsed by the server", [...]cell{
		by(`forms.TestGoldens/\w+/(minimal|counted|grouped|every-role|two-keys|fifo)`),
		by(`forms.TestGoldens/\w+/row-lock-.*`),
		by(`forms.TestAdvisoryGoldens`),
	}},
	{"claims in order", [...]cell{
		by(`forms.TestClaimOrder`, `forms.TestClaimOrderOfNumericKeys`),
		by(`forms.TestRowLockClaimsInOrderAndSkipsLockedRows`),
		by(`forms.TestAdvisoryCrowd`),
	}},
	{"claims what is claimable alone", [...]cell{
		by(`forms.TestClaimPassesOver`, `forms.TestClaimTakesARowWhenItsTimeHasCome`, `forms.TestLockedRow`),
		by(`forms.TestRowLockClaimsInOrderAndSkipsLockedRows`),
		by(`forms.TestAdvisoryRowsThatAreGone`, `forms.TestAdvisoryLockedRow`),
	}},
	{"each row once under concurrency", [...]cell{
		by(`forms.TestConcurrentClaimers`, `forms.TestConcurrentInserts`),
		by(`host.TestRowLockTakesEachRowOnce`),
		by(`forms.TestAdvisoryCrowd`),
	}},
	{"outcomes", [...]cell{
		by(`host.TestOutcomesSettleTheirRows`, `forms.TestReturn`),
		by(`host.TestRowLockOutcomes`, `forms.TestRowLockOutcomes`),
		by(`forms.TestAdvisoryOutcomes`),
	}},
	{"finished rows are marked", [...]cell{
		by(`forms.TestFinishMarksTheRow`),
		by(`forms.TestRowLockMarksFinishedRows`),
		by(`forms.TestAdvisoryWithoutAttempts`),
	}},
	{"attempts", [...]cell{
		by(`forms.TestAttempt`, `forms.TestAttemptSaturates`, `forms.TestAttemptThatIsNull`),
		by(`forms.TestRowLockAttempt`, `forms.TestRowLockAttemptThatIsNull`),
		by(`forms.TestAdvisoryOutcomes`, `forms.TestAdvisoryCrash`),
	}},
	{"a row above its cap is moved unhandled", [...]cell{
		by(`host.TestCase07_ARowAboveItsCapIsMovedBeforeTheHandlerRuns`, `host.TestSpentRowsInFrontOfAGoodOne/lease`),
		by(`host.TestRowLockBuriesARowAboveItsCap`, `host.TestSpentRowsInFrontOfAGoodOne/row_lock`),
		by(`host.TestSpentRowsInFrontOfAGoodOne/advisory`),
	}},
	{"dead letters to a group", [...]cell{
		by(`forms.TestMoveToGroup`, `forms.TestMovedRowCanBeMovedAgain`),
		by(`forms.TestRowLockOutcomes`, `host.TestRowLockOutcomes`),
		by(`forms.TestAdvisoryOutcomes`),
	}},
	{"dead letters to a table", [...]cell{
		by(`forms.TestMoveToTable\w*`, `forms.TestMoveOntoADuplicate`, `forms.TestMoveManyToTable`),
		by(`forms.TestRowLockOutcomes`, `host.TestRowLockOutcomes`),
		by(`forms.TestAdvisoryOutcomes`),
	}},
	{"FIFO groups", [...]cell{
		by(`forms.TestFIFO\w*/\w+/lease`),
		by(`forms.TestFIFO\w*/\w+/row_lock`),
		none(ordered),
	}},
	{"by_key", [...]cell{
		by(`host.TestByKey\w*/\w+/lease`),
		by(`host.TestByKey\w*/\w+/row_lock`),
		by(`host.TestByKey\w*/\w+/advisory`),
	}},
	{"batches", [...]cell{
		by(`host.TestBatchIsSettledByMessage/lease`, `host.TestBrokenBatchComesBackOneByOne/\w/lease`, `host.TestLastAttemptIsAlone/lease`),
		by(`host.TestBatchIsSettledByMessage/row_lock`, `host.TestBrokenBatchComesBackOneByOne/\w/row_lock`, `host.TestLastAttemptIsAlone/row_lock`,
			`host.TestRowLockBatch`, `forms.TestRowLockBatchTakesEffectTogether`, `forms.TestRowLockRollsABatchBack`),
		by(`host.TestBatchIsSettledByMessage/advisory`, `host.TestBrokenBatchComesBackOneByOne/\w/advisory`, `host.TestLastAttemptIsAlone/advisory`,
			`forms.TestAdvisoryOneRowOfAKey`, `forms.TestAdvisoryManyRowsOfFreeKeys`),
	}},
	{"transactional", [...]cell{
		by(`host.TestTransactional\w*/lease`),
		by(`host.TestTransactional\w*/row_lock`),
		by(`host.TestTransactional\w*/advisory_lock`),
	}},
	{"row mode", [...]cell{
		by(`forms.TestRowMode\w*`, `host.TestRowModeHandsTheRowToTheGuest`),
		none(sharedCode), none(sharedCode),
	}},
	{"ids of every type", [...]cell{
		by(`forms.TestKeys`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestKeyOfEveryID`, `forms.TestEveryForm/\w+/advisory`),
	}},
	{"names that need quotes", [...]cell{
		by(`forms.TestNamesThatNeedQuotes`, `forms.TestTableOfAnotherSchema`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestEveryForm/\w+/advisory`, `forms.TestKeyOfAnyText`),
	}},
	{"rows whose key names none are passed over", [...]cell{
		by(`forms.TestRowsWithoutAKey/(fifo_)?lease`),
		by(`forms.TestRowsWithoutAKey/row_lock`),
		by(`forms.TestRowsWithoutAKey/advisory`),
	}},
	{"times, their zones and precision", [...]cell{
		by(`forms.TestTimesAreUTC`, `forms.TestToken`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestEveryForm/\w+/advisory`),
	}},
	{"payloads", [...]cell{
		by(`forms.TestPayload`, `forms.TestPayloadOf16MiB`, `host.TestPayloadsReachTheGuest`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestEveryForm/\w+/advisory`),
	}},
	{"headers", [...]cell{
		by(`forms.TestHeaders`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestEveryForm/\w+/advisory`),
	}},
	{"priority", [...]cell{
		by(`forms.TestClaimOrder`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestEveryForm/\w+/advisory`),
	}},
	{"partition_key", [...]cell{
		by(`forms.TestClaimAnswersTheRow`),
		by(`forms.TestEveryForm/\w+/row_lock`),
		by(`forms.TestEveryForm/\w+/advisory`),
	}},
	{"clock = \"database\"", [...]cell{
		none("refused: the lease's expiry is the host's"),
		by(`forms.TestTheDatabaseClock\w*/\w+/row_lock`),
		by(`forms.TestTheDatabaseClock\w*/\w+/advisory`),
	}},
	{"isolation", [...]cell{
		none("nothing is open while a delivery is handled, but where it is transactional"),
		by(`forms.TestRowLockLevels`, `host.TestRowLockAtALevel`),
		none("nothing is open while a delivery is handled, but where it is transactional"),
	}},
	{"held keys starve nobody", [...]cell{
		none("no keys"), none("no keys"),
		by(`forms.TestAdvisoryHeldKeyStarvesNobody`),
	}},
	{"a lock of the user's own", [...]cell{
		none("no keys"), none("no keys"),
		by(`forms.TestOwnLock`, `forms.TestOwnLockSessions`).except("its locks are the process's", "sqlite"),
	}},
	{"a lost hold ends the delivery", [...]cell{
		by(`forms.TestLateHolder\w*`, `forms.TestHolderWhoseLeaseEndedUnseen`),
		by(`host.TestRowLockLostConnectionInterruptsItsGuest`),
		by(`host.TestAdvisoryLostSessionInterruptsItsGuest`).except("its locks are the process's", "sqlite"),
	}},
	{"killed at each step", [...]cell{
		by(`e2e.TestKilledRunsLoseAndRepeatNothing`, `e2e.TestOneOfTwoProcessesIsKilled`, `e2e.TestKilledMovesLoseAndRepeatNothing`).except(noProcesses, "mysql"),
		by(`forms.TestRowLockCrash`, `forms.TestRowLockSettlementOnADeadConnection`),
		by(`forms.TestAdvisoryCrash`, `forms.TestAdvisorySettlementOfLostSession`).except("its locks end with the process", "sqlite"),
	}},
	{"answers that get lost", [...]cell{
		by(`forms.TestUnanswered\w*`),
		by(`forms.TestRowLockSettlementOnADeadConnection`),
		by(`forms.TestAdvisoryUnconfirmedUnlock`).except("its locks are the process's", "sqlite"),
	}},
	{"the missing index is named", [...]cell{
		by(`forms.TestMissingIndexIsFoundAndItsRemedyHelps`, `forms.TestIndexInAnotherOrderDoesNotCount`, `forms.TestIndexAcrossGroups`, `forms.TestIndexHoldsNoProcessedRows`),
		none("the check looks at the table, as for a lease"),
		none("the check looks at the table, as for a lease"),
	}},
	{"few more rows are read than claimed, of a million", [...]cell{
		by(`forms.TestPlansOfAMillionRows/\w+/\w+/(fifo_)?lease(_of_every_group)?`).except(otherPlans, "mysql"),
		by(`forms.TestPlansOfAMillionRows/\w+/\w+/(fifo_)?row_lock(_of_every_group)?`).except(otherPlans, "mysql"),
		by(`forms.TestPlansOfAMillionRows/\w+/\w+/advisory(_of_every_group)?`).except(otherPlans, "mysql"),
	}},
	{"notifications", [...]cell{
		onPostgres(noListen, `host.TestARowOfAnotherProgramWakesAListener@postgres`, `host.TestAListenerReconnectsAndLooks@postgres`,
			`host.TestAHalfOpenConnectionIsNoticed@postgres`),
		onPostgres(noListen, `host.TestPoolerSessionModeServesEveryForm/row_lock@postgres`),
		onPostgres(noListen, `host.TestPoolerSessionModeServesEveryForm/advisory@postgres`),
	}},
	{"a pooler in session mode", [...]cell{
		onPostgres(noPooler, `host.TestPoolerSessionModeServesEveryForm/lease@postgres`, `forms.TestPoolerSessionModeServesEveryForm@postgres`),
		onPostgres(noPooler, `host.TestPoolerSessionModeServesEveryForm/row_lock@postgres`, `forms.TestPoolerSessionModeServesEveryForm@postgres`),
		onPostgres(noPooler, `host.TestPoolerSessionModeServesEveryForm/advisory@postgres`, `forms.TestPoolerSessionModeServesEveryForm@postgres`),
	}},
	{"a pooler in transaction mode: served, or refused", [...]cell{
		onPostgres(noPooler, `host.TestPoolerTransactionModeServesLeasesAndRowLocks/lease,.*@postgres`,
			`forms.TestPoolerTransactionModeServesEveryRoleSet/[^/]+/lease.*@postgres`, `forms.TestPoolerTransactionModeDeliversOnce/[^/]+/lease@postgres`),
		onPostgres(noPooler, `host.TestPoolerTransactionModeServesLeasesAndRowLocks/row_lock,.*@postgres`,
			`forms.TestPoolerTransactionModeServesEveryRoleSet/[^/]+/row_lock.*@postgres`, `forms.TestPoolerTransactionModeDeliversOnce/[^/]+/row_lock@postgres`),
		onPostgres(noPooler, `host.TestPoolerTransactionModeIsRefusedForLocksAndListeners/advisory@postgres`, `forms.TestPoolerIsFound@postgres`),
	}},
	{"a table altered under load", [...]cell{
		onPostgres("statements are not prepared", `forms.TestAlteredTableUnderLoad/[^/]+/lease@postgres`),
		onPostgres("statements are not prepared", `forms.TestAlteredTableUnderLoad/[^/]+/row_lock@postgres`),
		onPostgres("statements are not prepared", `forms.TestAlteredTableUnderLoad/[^/]+/advisory@postgres`),
	}},
	{"a server that becomes read-only", [...]cell{
		by(`host.TestReadOnlyPostgres\w+/lease@postgres`, `host.TestTheWriterIsFound/lease@postgres`, `host.TestReadOnlyMariaDBIsLeft/lease@mariadb`).
			except(noServer, "sqlite").except(privateServer, "mysql"),
		by(`host.TestReadOnlyPostgres\w+/row_lock@postgres`, `host.TestTheWriterIsFound/row_lock@postgres`, `host.TestReadOnlyMariaDBIsLeft/row_lock@mariadb`).
			except(privateServer, "mysql"),
		by(`host.TestReadOnlyPostgres\w+/advisory@postgres`, `host.TestTheWriterIsFound/advisory@postgres`, `host.TestReadOnlyMariaDBIsLeft/advisory@mariadb`).
			except(noServer, "sqlite").except(privateServer, "mysql"),
	}},
}

// privateServer is why a test that starts a server of its own says nothing of MySQL.
const privateServer = "the test starts a MariaDB of its own"
