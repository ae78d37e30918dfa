import { isDeepStrictEqual } from 'node:util';
import { type ConnectionPhase, type ConnectionSpecInput, clusterLimits, connectionMessages } from '@corral/contracts';
import { invalidField } from '../problem.js';
import type { ConnectionRecord } from './connection-record.js';

/** What the provider says of a token: `unknown` when it gave no usable answer. */
export type TokenVerdict = 'valid' | 'rejected' | 'unknown';

/** What of a stored connection decides about a change of it. */
export type DeclaredConnection = Pick<ConnectionRecord, 'name' | 'provider' | 'providerConfig' | 'phase'>;

/** What is known of a token, as the connection states it from now on. */
export interface Standing {
  readonly phase: ConnectionPhase;
  readonly message: string;
  /** Until the provider is to be asked again. */
  readonly againMs: number;
}

const RETRY_MS = 10_000;
const DAY_MS = 86_400_000;

/**
 * Checks a specification against the connection that it is for.
 *
 * @param current the stored connection, or null when the team has none at that ref
 * @throws Problem `validation_failed`, `immutable_field`
 */
export function checkConnectionSpec(current: DeclaredConnection | null, spec: ConnectionSpecInput): void {
  if (current === null && spec.token === undefined) {
    throw invalidField('validation_failed', '/spec/token', 'is required for a new connection');
  }
  if (current !== null && current.provider !== spec.provider) {
    throw invalidField(
      'immutable_field',
      '/spec/provider',
      `is ${current.provider} and stays that. Make a new connection`,
    );
  }
  if (JSON.stringify(spec.providerConfig).length > clusterLimits.providerConfigCharacters) {
    throw invalidField(
      'validation_failed',
      '/spec/providerConfig',
      `may have ${clusterLimits.providerConfigCharacters} characters of JSON at the most`,
    );
  }
}

/** Whether a replacement would leave everything as it is; what its token is worth is another matter. */
export function isUnchanged(
  current: DeclaredConnection,
  { name, providerConfig }: Pick<ConnectionRecord, 'name' | 'providerConfig'>,
): boolean {
  return current.name === name && isDeepStrictEqual(current.providerConfig, providerConfig);
}

/**
 * What a connection says of its token after the provider was asked. An answer that proves nothing takes nothing from a
 * token that was known before.
 *
 * @param known the phase of this very token until now, null for a new one
 */
export function standingOf(verdict: TokenVerdict, known: ConnectionPhase | null): Standing {
  switch (verdict) {
    case 'valid':
      return { phase: 'Ready', message: connectionMessages.Ready, againMs: DAY_MS };
    case 'rejected':
      return { phase: 'Rejected', message: connectionMessages.Rejected, againMs: DAY_MS };
    case 'unknown': {
      const phase = known ?? 'Unverified';
      return { phase, message: connectionMessages[phase], againMs: RETRY_MS };
    }
  }
}
