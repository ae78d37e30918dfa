import {
  type ConnectionToken,
  connectionTokenOf,
  isOpenIn,
  makeUsersDue,
  type OperationVerdict,
  operationValues,
  verdictAssignments,
} from '@corral/cluster-data';
import {
  asTeamId,
  type ClusterErrorCode,
  type ClusterId,
  type ConnectionStanding,
  connectionMessages,
  connectionStandings,
  type OperationWaiting,
  type ServerId,
  type ServerWaitReason,
  type TeamId,
  type TokenVerdict,
} from '@corral/contracts';
import { type Prisma, rowClock } from '@corral/database';
import { aroundMs, backoffMs, type Log, spreadMs } from '@corral/service';
import { claimRows, retry } from '../loop/claim.js';
import { type OpenToken, openOrReport } from '../loop/provider-token.js';
import type { RowJobs } from '../loop/sweep.js';
import { inBatches } from '../loop/work.js';
import type { Database } from '../services.js';

interface VerifyDeps {
  readonly store: VerificationStore;
  readonly prisma: Prisma;
  readonly wakeClusters: RowJobs<ClusterId>['wake'];
  readonly wakeServers: RowJobs<ServerId>['wake'];
  /** @throws when the token cannot be read: the key that sealed it is not there */
  readonly openToken: OpenToken;
  /** Asks the provider whether a token is valid. Must confirm a refusal before it reports one. */
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  readonly onVerified: (outcome: TokenVerdict | 'unreadable') => void;
  readonly log: Log;
}

const BATCH = 20;
/** Longer than a verification including its confirmation. */
const CLAIM_MS = 60_000;
const DAY_MS = 86_400_000;
/** Independent of the connection's phase. */
const UNREADABLE = 'The stored token cannot be decrypted. Enter it in the connection again.';

/**
 * Verifies tokens that are new, that got no usable answer, or that were last verified a day ago. A change wakes the clusters
 * and servers that use the connection.
 *
 * @returns the number of verifications
 */
export const verifyConnections =
  (deps: VerifyDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due) => verifyOne(deps, due), size: BATCH }, signal);
  };

async function verifyOne(deps: VerifyDeps, due: DueVerification): Promise<void> {
  const { store, prisma, wakeClusters, wakeServers, onVerified, log } = deps;
  const verdict = await verdictOn(deps, due);
  onVerified(verdict);
  const hasChanged = await store.record(due, verificationOf(verdict, due.failures, Math.random()));
  if (!hasChanged) return;
  log.info('connection stands differently', { connectionId: due.connectionId, verdict });
  const { clusters, servers } = await makeUsersDue(prisma, due.teamId, due.connectionId);
  await Promise.all([wakeClusters(clusters), wakeServers(servers)]);
}

async function verdictOn(deps: VerifyDeps, due: DueVerification) {
  const token = openOrReport(deps, due);
  return token === null ? 'unreadable' : deps.verifyToken(token);
}

/** @param random in [0, 1], so that connections created together are not verified together */
export function verificationOf(verdict: TokenVerdict | 'unreadable', failures: number, random: number): Verification {
  const outcome = operationOutcomeOf(verdict);
  if (verdict !== 'unknown' && verdict !== 'unreadable') {
    return { ...outcome, standing: connectionStandings[verdict], remark: null, againMs: aroundMs(DAY_MS, random) };
  }
  const againMs = spreadMs(backoffMs(failures, retry), random);
  return { ...outcome, standing: null, remark: verdict === 'unreadable' ? UNREADABLE : null, againMs };
}

/** The outcome of the operation that requested the verification. */
function operationOutcomeOf(verdict: TokenVerdict | 'unreadable'): Pick<Verification, 'operation' | 'waiting'> {
  switch (verdict) {
    case 'valid':
      return { operation: { to: 'succeeded' }, waiting: null };
    case 'read-only':
      return { operation: failed('provider_permission_denied', connectionMessages.ReadOnly), waiting: null };
    case 'rejected':
      return { operation: failed('provider_token_rejected', connectionMessages.Rejected), waiting: null };
    case 'unreadable':
      return { operation: failed('provider_token_rejected', UNREADABLE), waiting: null };
    case 'unknown':
      return {
        operation: { to: 'running', progress: 0 },
        waiting: {
          reason: 'ProviderUnavailable' satisfies ServerWaitReason,
          message: 'The provider gave no usable answer. The service retries.',
        },
      };
  }
}

const failed = (code: ClusterErrorCode, message: string) => ({ to: 'failed', code, message }) as const;

/** A connection whose token is to be shown to the provider. */
interface DueVerification extends ConnectionToken {
  readonly teamId: TeamId;
  readonly tokenVersion: number;
  /** Number of consecutive verifications without a usable answer. */
  readonly failures: number;
}

interface Verification {
  /** Null when nothing was learned, and the standing stays. */
  readonly standing: ConnectionStanding | null;
  /** Replaces the message of the standing. Null for none. */
  readonly remark: string | null;
  readonly againMs: number;
  /** Outcome of the operation that requested the verification. */
  readonly operation: OperationVerdict<ClusterErrorCode>;
  /** Why the operation makes no progress, or null. */
  readonly waiting: Omit<OperationWaiting, 'since'> | null;
}

/** Parameters of the statement that records a verification. What was in the way before has been there since then. */
const operationParameters = {
  state: '$8',
  progress: '$9',
  error: '$10',
  isFinal: '$11',
  waiting: `CASE WHEN waiting->>'reason' = $12::jsonb->>'reason' THEN waiting
                 ELSE $12::jsonb || jsonb_build_object('since', to_char(
                   clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END`,
} as const;

export const verificationStore = ({ pool, prisma }: Database) => ({
  /** Claims connections with a due verification. They are due again after `retryMs` unless an outcome is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueVerification[]> {
    const claimed = await claimRows(prisma, { table: 'connection', due: 'verify_at' }, { limit, retryMs });
    if (claimed.size === 0) return [];
    const rows = await prisma.connection.findMany({ where: { id: { in: [...claimed.keys()] } } });
    return rows.map((row) => ({
      ...connectionTokenOf({ ...row, connectionId: row.id }),
      teamId: asTeamId(row.teamId),
      tokenVersion: row.tokenVersion,
      failures: row.verifyFailures,
    }));
  },

  /**
   * Records the provider's verdict on a token. Nothing is recorded for a replaced token. A waiting operation ends with the verdict,
   * and a request during the verification is answered by the next one. The prices of a connection that became ready are due.
   *
   * @returns whether the standing has changed
   */
  async record(due: DueVerification, verification: Verification): Promise<boolean> {
    const { standing, remark, againMs, operation, waiting } = verification;
    const message = remark ?? standing?.message ?? null;
    const { rows } = await pool.query<{ has_changed: boolean }>(
      `WITH recorded AS (
         UPDATE connection
         SET phase = coalesce($3::connection_phase, phase), message = said, project = coalesce($7::jsonb, project),
             verified_at = CASE WHEN $3 = 'Ready' THEN clock_timestamp() ELSE verified_at END,
             verify_failures = CASE WHEN $3 IS NULL THEN verify_failures + 1 ELSE 0 END,
             verify_at = CASE WHEN asked_at <= ${rowClock} THEN asked_at
                              ELSE clock_timestamp() + make_interval(secs => $5::float8 / 1000) END,
             updated_at = CASE WHEN has_changed OR message <> said THEN clock_timestamp() ELSE updated_at END
         FROM (SELECT id AS verified_id, verify_at AS asked_at,
                      coalesce($4, CASE phase WHEN 'Unverified' THEN $6 ELSE message END) AS said,
                      phase <> coalesce($3::connection_phase, phase)
                        OR ($7::jsonb IS NOT NULL AND coalesce(project->>'readOnly', 'false')
                            <> coalesce($7::jsonb->>'readOnly', 'false')) AS has_changed
               FROM connection WHERE id = $1 AND token_version = $2 FOR NO KEY UPDATE) before
         WHERE id = verified_id
         RETURNING has_changed
       ), operated AS (
         UPDATE operation SET ${verdictAssignments(operationParameters)}
         FROM recorded
         WHERE target_kind = 'Connection' AND target_id = $1 AND ${isOpenIn('operation')}
       ), priced AS (
         UPDATE price_list SET due_at = clock_timestamp()
         WHERE connection_id = $1 AND $3 = 'Ready' AND (SELECT has_changed FROM recorded)
       )
       SELECT has_changed FROM recorded`,
      [
        due.connectionId,
        due.tokenVersion,
        standing?.phase ?? null,
        message,
        againMs,
        connectionMessages.Unverified,
        standing && JSON.stringify(standing.project),
        ...operationValues(operation),
        waiting && JSON.stringify(waiting),
      ],
    );
    return rows[0]?.has_changed ?? false;
  },
});
type VerificationStore = ReturnType<typeof verificationStore>;
