import { type ClusterErrorCode, connectionMessages, connectionStandings, type TokenVerdict } from '@corral/contracts';
import type { Log } from '@corral/service';
import { aboutADayMs, backoffMs, spreadMs } from '../loop/backoff.js';
import { inBatches } from '../loop/in-batches.js';
import { type OpenToken, openOrTell } from '../loop/provider-token.js';
import type { WakeUps } from '../loop/wake-ups.js';
import type { NewsStore } from './news-store.js';
import type { DueVerification, Verification, VerificationStore } from './verification-store.js';

export interface VerifyDeps {
  readonly store: VerificationStore;
  readonly news: Pick<NewsStore, 'markUsersOf'>;
  readonly wakeUps: Pick<WakeUps, 'wakeAll'>;
  /** @throws when the token cannot be read: the key that sealed it is not there */
  readonly openToken: OpenToken;
  /** What the provider says of a token. No refusal counts that came only once. */
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  readonly onVerified: (outcome: TokenVerdict | 'unreadable') => void;
  readonly log: Log;
  readonly random?: () => number;
}

const BATCH = 20;
/** Longer than one verification takes, its confirmation included. */
const CLAIM_MS = 60_000;
const retry = { firstMs: 10_000, maxMs: 3_600_000 };
/** Belongs to no phase of a connection: it may be any. */
const UNREADABLE = 'The stored token cannot be decrypted. Enter it in the connection again.';

/**
 * Asks the provider about tokens that are new, that it gave no usable answer about, or that were last shown to it a day
 * ago. A change wakes the clusters that use the connection.
 *
 * @returns how many were asked about
 */
export const verifyConnections =
  (deps: VerifyDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due) => verifyOne(deps, due), size: BATCH }, signal);
  };

async function verifyOne(deps: VerifyDeps, due: DueVerification): Promise<void> {
  const { store, news, wakeUps, onVerified, log, random = Math.random } = deps;
  const verdict = await verdictOn(deps, due);
  onVerified(verdict);
  const hasChanged = await store.record(due, verificationOf(verdict, due.failures, random()));
  if (!hasChanged) return;
  log.info('connection stands differently', { connectionId: due.connectionId, verdict });
  await wakeUps.wakeAll(await news.markUsersOf(due.connectionId));
}

async function verdictOn(deps: VerifyDeps, due: DueVerification) {
  const token = openOrTell(deps, due);
  return token === null ? 'unreadable' : deps.verifyToken(token);
}

/** @param random from 0 to 1: connections that were made together are not asked about together for ever */
export function verificationOf(verdict: TokenVerdict | 'unreadable', failures: number, random: number): Verification {
  const told = toldOf(verdict);
  if (verdict !== 'unknown' && verdict !== 'unreadable') {
    return { ...told, standing: connectionStandings[verdict], remark: null, againMs: aboutADayMs(random) };
  }
  const againMs = spreadMs(backoffMs(failures, retry), random);
  return { ...told, standing: null, remark: verdict === 'unreadable' ? UNREADABLE : null, againMs };
}

/** For whoever asked for the verification. */
function toldOf(verdict: TokenVerdict | 'unreadable'): Pick<Verification, 'operation' | 'waiting'> {
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
        waiting: { reason: 'ProviderUnavailable', message: 'The provider gave no usable answer. The service retries.' },
      };
  }
}

const failed = (code: ClusterErrorCode, message: string) => ({ to: 'failed', code, message }) as const;
