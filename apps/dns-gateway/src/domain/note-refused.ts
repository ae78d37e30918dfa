import type { DnsCaller } from '@corral/auth';
import type { RefusedWrite, RefusedWrites } from '@corral/dns-mirror';
import { DnsError } from '../dns-error.js';
import { ownerOf } from './rrset-access.js';

/** A write as it was asked for: its name and type may be none. */
export interface AskedWrite extends Pick<RefusedWrite, 'key' | 'operation'> {
  readonly caller: DnsCaller;
  readonly requestId: string;
}

/**
 * Has a write counted in the audit log that is refused before it is sent, and goes on with its error.
 *
 * @throws the error, always; one that is no refusal is not counted
 */
export type NoteRefused = (asked: AskedWrite, error: unknown) => Promise<never>;

/** @param onError told when a write could not be counted: it is refused all the same */
export const noteRefused =
  (refused: RefusedWrites, onError: (error: Error) => void): NoteRefused =>
  async ({ caller, key, operation, requestId }, error) => {
    if (error instanceof DnsError) {
      const refusal = { owner: ownerOf(caller), tokenId: caller.tokenId, key, operation, code: error.code, requestId };
      await refused.count(refusal).catch(onError);
    }
    throw error;
  };
