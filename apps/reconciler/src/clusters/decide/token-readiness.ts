import type { ClusterErrorCode, ConditionReason } from '@corral/contracts';
import type { Desired } from '../model.js';

/**
 * With a token that the provider rejects, a run would fail and leave a working cluster `Failed`, so changes wait. They also
 * wait until a replaced token is verified: a token of another project would orphan all resources of the cluster.
 */
export function isOnHold({ connection }: Desired): boolean {
  if (connection.phase === 'Rejected') return true;
  return connection.phase !== 'Ready' && connection.gardenTokenVersion > 0 && hasNewToken(connection);
}

/** Why the provider refuses a token, or accepts it for reading only. */
export function tokenRefusal({ connection }: Desired): {
  readonly code: ClusterErrorCode;
  readonly reason: ConditionReason;
} {
  return connection.isReadOnly
    ? { code: 'provider_permission_denied', reason: 'ProviderTokenReadOnly' }
    : { code: 'provider_token_rejected', reason: 'ProviderTokenRejected' };
}

/** The first token is written even if unverified: nothing depends on it yet. */
export function isTokenDue({ connection }: Desired): boolean {
  const { phase, gardenTokenVersion } = connection;
  return hasNewToken(connection) && (phase === 'Ready' || (phase === 'Unverified' && gardenTokenVersion === 0));
}

function hasNewToken({ tokenVersion, gardenTokenVersion }: Desired['connection']): boolean {
  return gardenTokenVersion < tokenVersion;
}
