/** How long data is stored. The days of the audit log are the default of the configuration; the others are fixed. */
export const retentionLimits = {
  /** Both logs, and everything their entries refer to: actions, ended demos and their tokens. */
  auditDays: 400,
  /**
   * Size of one body in the audit log, in UTF-8 bytes. Longer bodies are truncated; their length and SHA-256 stay.
   */
  auditBodyBytes: 16_384,
  /** How long bodies are stored whole after the write's outcome, so that a repeated request gets the same answer. */
  auditBodyWholeSeconds: 600,
  /** How long a client's retry is recognised. */
  replaySeconds: 60,
  /** Lower bound, because kubeconfigs, join commands and a team's mails are counted in the log over an hour. */
  auditDaysMin: 1,
  auditDaysMax: 3_650,
  /** Days after the end of a session, for questions about who was signed in. */
  sessionDays: 30,
  /** Days after the deletion of a team in which no other team gets its slug. */
  teamSlugDays: 30,
  /** Days after the end of the codes of a sign-in without a browser. */
  deviceSignInDays: 1,
  /** Days after acceptance, revocation or expiry. */
  invitationDays: 30,
  /** Days after the end of an operation, or of the last one of a deleted cluster, server or connection. */
  operationDays: 90,
  /** The newest of each kind that an existing cluster, server or connection keeps at any age. */
  operationsOfKindKept: 20,
  /** Days after the end of a DNS token of a session, unless the audit log refers to it. */
  sessionTokenDays: 1,
  /** Longer than anything is announced again. */
  notificationDays: 90,
  syncRunDays: 30,
  /** A request repeated after this time is a new one. */
  idempotencyKeyHours: 48,
  /** Events older than this are not expected again, and would be older than the known state. */
  billingEventDays: 90,
  /** Answers cover the last sixty minutes; the usage of an hour can be added up late. */
  requestCountMinutes: 300,
  /** Hourly usage of teams. */
  usageDays: 90,
  /** How late the requests and writes of an hour are still added up. Their sources are stored for at least a day. */
  usageCatchUpHours: 23,
  /** How long after its end an hour may get further requests and writes, because gateways write their counts late. */
  usageDelaySeconds: 180,
} as const;
