import type { KeyRing } from '@corral/secrets';
import type { Log } from '@corral/service';

/** The token of a connection as it is kept: only who uses it opens it. */
export interface SealedToken {
  readonly connectionId: string;
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** @throws when the token cannot be read: the key that sealed it is not there */
export type OpenToken = (token: SealedToken) => string;

export const tokenOpener =
  (keys: Pick<KeyRing, 'open'>): OpenToken =>
  ({ connectionId, keyId, sealed }) =>
    keys.open({ keyId, bytes: sealed }, connectionId);

/** Null when the token cannot be read, which operators are told: they can put the old key back. */
export function openOrTell({ openToken, log }: { openToken: OpenToken; log: Log }, token: SealedToken): string | null {
  try {
    return openToken(token);
  } catch (error) {
    log.error('provider token unreadable', { connectionId: token.connectionId, error });
    return null;
  }
}
