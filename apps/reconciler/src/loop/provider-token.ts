import type { ConnectionToken } from '@corral/cluster-data';
import type { KeyRing } from '@corral/secrets';
import type { Log } from '@corral/service';

/** @throws when the token cannot be read: the key that sealed it is not there */
export type OpenToken = (token: ConnectionToken) => string;

export const tokenOpener =
  (keys: KeyRing): OpenToken =>
  ({ connectionId, keyId, bytes }) =>
    keys.open({ keyId, bytes }, connectionId);

/** Null when the token cannot be decrypted. Operators see that in the log and can restore the old key. */
export function openOrReport(
  { openToken, log }: { openToken: OpenToken; log: Log },
  token: ConnectionToken,
): string | null {
  try {
    return openToken(token);
  } catch (error) {
    log.error('provider token unreadable', { connectionId: token.connectionId, error });
    return null;
  }
}
