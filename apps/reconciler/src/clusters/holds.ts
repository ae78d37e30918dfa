import type { ClusterErrorCode } from '@corral/contracts';
import type { Desired } from './model.js';

/**
 * Nothing is changed with a token that the provider rejects: the run would fail, and leave a working cluster `Failed`.
 * Nor while a replaced token waits to be verified: one of another project would orphan all that the cluster has.
 */
export function isOnHold({ connection }: Desired): boolean {
  if (connection.phase === 'Rejected') return true;
  return connection.phase !== 'Ready' && connection.gardenTokenVersion > 0 && hasNewToken(connection);
}

/** What is wrong with a token that the provider does not take, or not for writing. */
export function tokenRefusal({ connection }: Desired): { readonly code: ClusterErrorCode; readonly reason: string } {
  return connection.isReadOnly
    ? { code: 'provider_permission_denied', reason: 'ProviderTokenReadOnly' }
    : { code: 'provider_token_rejected', reason: 'ProviderTokenRejected' };
}

/** The first token is handed over as it is: there is nothing yet that it could break. */
export function isTokenDue({ connection }: Desired): boolean {
  const { phase, gardenTokenVersion } = connection;
  return hasNewToken(connection) && (phase === 'Ready' || (phase === 'Unverified' && gardenTokenVersion === 0));
}

function hasNewToken({ tokenVersion, gardenTokenVersion }: Desired['connection']): boolean {
  return gardenTokenVersion < tokenVersion;
}
