/**
 * For how long what nobody will ask for any more is kept. The days of the audit log are the default of the configuration;
 * the others cannot be configured.
 */
export const retentionLimits = {
  /** Of both logs, and of whatever their entries refer to: actions, ended demos and their tokens. */
  auditDays: 400,
  /** Of one body in the audit log, in UTF-8. What is longer is cut, and known by its length and SHA-256. */
  auditBodyBytes: 16_384,
  /** Bodies are whole for so long after the outcome of their write: a request that is sent again gets the same answer. */
  auditBodyWholeSeconds: 600,
  /** How long a client's next try is known for one. */
  replaySeconds: 60,
  /** The rates of kubeconfigs and join commands and a team's mails are counted in the log, over an hour. */
  auditDaysMin: 1,
  auditDaysMax: 3_650,
  /** After their end, for questions about who was signed in. */
  sessionDays: 30,
  /** After they were accepted or revoked, or ran out. */
  invitationDays: 30,
  /** After the last one of a cluster, server or connection that is gone. */
  operationDays: 90,
  syncRunDays: 30,
  /** A request that is sent again after so long is a new one. */
  idempotencyKeyHours: 48,
  /** Nobody sends an event for so long; and if so, what it states is older than what is known. */
  billingEventDays: 90,
  /** Answers tell of the last sixty. */
  requestCountMinutes: 70,
} as const;
