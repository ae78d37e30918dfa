import { isDeepStrictEqual } from 'node:util';
import {
  type ConnectionSpecInput,
  connectionMessages,
  connectionStandings,
  type TokenVerdict,
} from '@corral/contracts';
import { invalidField } from '../problem.js';
import type { ConnectionRecord } from './connection-record.js';

/** What of a stored connection decides about a change of it. */
export type DeclaredConnection = Pick<ConnectionRecord, 'name' | 'provider' | 'providerConfig' | 'phase'>;

/** What is known of a token, as the connection states it from now on. */
export interface Standing extends Pick<ConnectionRecord, 'phase' | 'message' | 'project'> {
  /** The provider has accepted the token just now. */
  readonly isVerified: boolean;
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
      `is ${current.provider} and cannot change. Create a new connection`,
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
 * @param known how this very token stood until now, null for a new one
 * @param random from 0 to 1: connections that were made together are not asked about together for ever
 */
export function standingOf(
  verdict: TokenVerdict,
  known: Pick<ConnectionRecord, 'phase' | 'message' | 'project'> | null,
  random: number,
): Standing {
  if (verdict === 'unknown') {
    const { phase, message, project } = known ?? unverified;
    return { phase, message, project, isVerified: false, againMs: RETRY_MS };
  }
  const againMs = Math.round(DAY_MS * (0.9 + 0.2 * random));
  return { ...connectionStandings[verdict], isVerified: verdict === 'valid', againMs };
}

const unverified = { phase: 'Unverified', message: connectionMessages.Unverified, project: null } as const;
