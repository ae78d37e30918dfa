import {
  type ClusterErrorCode,
  type ClusterId,
  connectionMessages,
  connectionStandings,
  type ServerWaitReason,
  type TokenVerdict,
} from '@corral/contracts';
import { aroundMs, backoffMs, type Log, spreadMs } from '@corral/service';
import type { DueStore } from '../garden/due-store.js';
import type { RowJobs } from '../loop/due-rows.js';
import { type OpenToken, openOrReport } from '../loop/provider-token.js';
import { inBatches } from '../loop/run-bounds.js';
import type { DueVerification, Verification, VerificationStore } from './verification-store.js';

export interface VerifyDeps {
  readonly store: VerificationStore;
  readonly dueTimes: Pick<DueStore, 'makeUsersDue'>;
  readonly wake: RowJobs<ClusterId>['wake'];
  /** @throws when the token cannot be read: the key that sealed it is not there */
  readonly openToken: OpenToken;
  /** Asks the provider whether a token is valid. Must confirm a refusal before it reports one. */
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  readonly onVerified: (outcome: TokenVerdict | 'unreadable') => void;
  readonly log: Log;
  readonly random?: () => number;
}

const BATCH = 20;
/** Longer than a verification including its confirmation. */
const CLAIM_MS = 60_000;
const DAY_MS = 86_400_000;
const retry = { firstMs: 10_000, maxMs: 3_600_000 };
/** Independent of the connection's phase. */
const UNREADABLE = 'The stored token cannot be decrypted. Enter it in the connection again.';

/**
 * Verifies tokens that are new, that got no usable answer, or that were last verified a day ago. A change wakes the clusters
 * that use the connection.
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
  const { store, dueTimes, wake, onVerified, log, random = Math.random } = deps;
  const verdict = await verdictOn(deps, due);
  onVerified(verdict);
  const hasChanged = await store.record(due, verificationOf(verdict, due.failures, random()));
  if (!hasChanged) return;
  log.info('connection stands differently', { connectionId: due.connectionId, verdict });
  await wake(await dueTimes.makeUsersDue(due.connectionId));
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
