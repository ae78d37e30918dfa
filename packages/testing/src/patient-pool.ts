/**
 * For pools of tests, whose statements share a machine with the rest of a run: the bounds of production are there so that
 * nobody is kept waiting, and a test that is about something else must not meet them.
 */
export const patientPool = { connectTimeoutMs: 30_000, statementTimeoutMs: 30_000 } as const;

/** The same for Prisma's transactions, which wait for each other's locks. */
export const patientTransactions = { maxWait: 30_000, timeout: 30_000 } as const;
