import { isDeepStrictEqual } from 'node:util';
import {
  type ConnectionSpecInput,
  connectionMessages,
  connectionStandings,
  type TokenVerdict,
} from '@corral/contracts';
import { invalidField } from '../problem.js';
import type { ConnectionRecord } from './view.js';

/** What the status of a connection shows about its token. */
export interface ShownToken {
  readonly phase: ConnectionRecord['phase'];
  readonly message: string;
  readonly project: ConnectionRecord['project'];
}

/** What is known about a token. */
export interface TokenStatus extends ShownToken {
  /** Whether the provider has just accepted the token. */
  readonly isVerified: boolean;
  /** Time until the next verification, in ms. */
  readonly againMs: number;
}

const RETRY_MS = 10_000;
const DAY_MS = 86_400_000;

/**
 * Checks a specification against the stored connection.
 *
 * @param current the stored connection, or null when the team has none with that ref
 * @throws Problem `validation_failed`, `immutable_field`
 */
export function checkConnectionSpec(current: ConnectionRecord | null, spec: ConnectionSpecInput): void {
  if (current === null && spec.token === undefined) {
    throw invalidField('validation_failed', '/spec/token', 'is required for a new connection');
  }
  if (current !== null && current.provider !== spec.provider) {
    throw invalidField(
      'immutable_field',
      '/spec/provider',
      `is ${current.provider} and cannot change. Create a new connection`,
    );
  }
}

/** Whether a replacement changes neither name nor provider settings. Does not consider the token. */
export function isUnchanged(
  current: ConnectionRecord,
  name: string,
  providerConfig: ConnectionRecord['providerConfig'],
): boolean {
  return current.name === name && isDeepStrictEqual(current.providerConfig, providerConfig);
}

/**
 * Decides the status of a token after a verification. An inconclusive answer keeps the known status.
 *
 * @param known the status of this token so far, or null for a new token
 * @param random from 0 to 1, spreads the next verifications of connections that were created together
 */
export function tokenStatusOf(verdict: TokenVerdict, known: ShownToken | null, random: number): TokenStatus {
  if (verdict === 'unknown') {
    const { phase, message, project } = known ?? unverified;
    return { phase, message, project, isVerified: false, againMs: RETRY_MS };
  }
  const againMs = Math.round(DAY_MS * (0.9 + 0.2 * random));
  return { ...connectionStandings[verdict], isVerified: verdict === 'valid', againMs };
}

const unverified = { phase: 'Unverified', message: connectionMessages.Unverified, project: null } as const;
