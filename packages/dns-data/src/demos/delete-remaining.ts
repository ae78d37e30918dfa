import { assertNever } from '@corral/contracts';
import type { UpstreamWrite, WriteOutcome } from '@corral/hcloud';
import { type PerformedWrite, type PerformWriteDeps, performWrite } from '../writes/perform-write.js';
import type { RemainingRrset } from './demo-ends.js';

export interface DeleteRemainingDeps extends PerformWriteDeps {
  readonly send: (write: UpstreamWrite) => Promise<WriteOutcome>;
}

export type Deletion =
  /** The set is absent upstream now. */
  | { kind: 'deleted' }
  /** Another write to the set is in progress. */
  | { kind: 'busy' }
  /** The upstream refused or failed. Retry later. */
  | { kind: 'refused' }
  /** The outcome is unknown until a settlement finds it. */
  | { kind: 'uncertain' }
  /** The upstream budget is used up, for other deletions as well. */
  | { kind: 'throttled'; retryAfterSeconds: number }
  /** The upstream is unreachable or refuses our token, for other deletions as well. */
  | { kind: 'away' };

/**
 * Deletes one record set that has ended, or whose demo has, through the write ledger: recorded before it is sent, and again with its
 * outcome. A crash in between leaves an entry that is settled later, and concurrent callers send one call.
 *
 * @param by token and request that asked for the deletion, null for Corral itself, and the account charged for the
 *   upstream call
 */
export async function deleteRemaining(
  deps: DeleteRemainingDeps,
  { owner, key, body }: RemainingRrset,
  by: { readonly tokenId: string | null; readonly requestId: string | null; readonly account: string },
): Promise<Deletion> {
  const write = { operation: 'delete' } as const;
  const { tokenId, requestId } = by;
  const newWrite = { owner, tokenId, requestId, key, write, requestBody: null, requestHash: null };
  const segments = ['zones', String(key.zoneId), 'rrsets', key.name, key.type];
  const performed = await performWrite(
    deps,
    { key, write },
    {
      begin: () => deps.ledger.begin(newWrite, () => true),
      send: async ({ current }) =>
        current === null || (body !== undefined && current !== body)
          ? null
          : deps.send({ team: by.account, method: 'DELETE', segments, body: null }),
    },
  );
  return performed.kind === 'performed' ? deletionOf(performed.result) : { kind: 'busy' };
}

function deletionOf(result: PerformedWrite): Deletion {
  switch (result.kind) {
    case 'unnecessary':
      return { kind: 'deleted' };
    case 'accepted':
      return { kind: result.rrset === null ? 'deleted' : 'refused' };
    case 'refused':
      return { kind: 'refused' };
    case 'unreached':
    case 'credentials_refused':
    case 'no_account':
      return { kind: 'away' };
    case 'throttled':
      return { kind: 'throttled', retryAfterSeconds: result.retryAfterSeconds };
    case 'uncertain':
    case 'settled':
    case 'void':
      return { kind: 'uncertain' };
    default:
      return assertNever(result);
  }
}
