import type { DnsCaller } from '@corral/auth';
import type { RefusedWrite, RefusedWrites } from '@corral/dns-data';
import { DnsError } from '../dns-error.js';
import { ownerOf } from './access.js';

/** A write as requested. Its name and type may be invalid. */
export interface AskedWrite extends Pick<RefusedWrite, 'key' | 'operation'> {
  readonly caller: DnsCaller;
  readonly requestId: string;
}

/**
 * Counts a write that is refused before it is sent in the audit log, and rethrows its error.
 *
 * @throws always the given error. Only a DnsError is counted
 */
export type NoteRefused = (asked: AskedWrite, error: unknown) => Promise<never>;

/** @param onError called when a write could not be counted. It is refused regardless */
export const noteRefused =
  (refused: RefusedWrites, onError: (error: Error) => void): NoteRefused =>
  async ({ caller, key, operation, requestId }, error) => {
    if (error instanceof DnsError) {
      const refusal = { owner: ownerOf(caller), tokenId: caller.tokenId, key, operation, code: error.code, requestId };
      await refused.count(refusal).catch(onError);
    }
    throw error;
  };
