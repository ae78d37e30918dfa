import { assertNever, type ConcludeDeps, concludeWrite, type WriteLedger } from '@corral/dns-mirror';
import type { UpstreamWrite, WriteOutcome } from '@corral/hcloud';
import type { LeftRrset } from './demo-ends.js';

export interface DeleteLeftDeps extends ConcludeDeps {
  readonly ledger: Pick<WriteLedger, 'begin' | 'finish' | 'release'>;
  readonly send: (write: UpstreamWrite) => Promise<WriteOutcome>;
}

export type Deletion =
  /** The set is gone upstream, or was already. */
  | { kind: 'deleted' }
  /** Another write to it is under way. */
  | { kind: 'busy' }
  /** The upstream refused, or failed at it: worth another try after a while. */
  | { kind: 'refused' }
  /** Nobody knows: a settlement finds out. */
  | { kind: 'uncertain' }
  /** The upstream has no budget just now: no other deletion would fare better. */
  | { kind: 'throttled'; retryAfterSeconds: number }
  /** The upstream cannot be reached, or refuses our own token: as above. */
  | { kind: 'away' };

/**
 * Deletes one record set of an ended demo, in the way of every write: recorded before it is sent, and with its outcome
 * after. So a crash in between leaves an entry that is settled, and two who try at the same time send one call.
 *
 * @param by token and request that asked for it, null for Corral itself, and on whose account the upstream call goes
 */
export async function deleteLeft(
  deps: DeleteLeftDeps,
  { owner, key }: LeftRrset,
  by: { readonly tokenId: string | null; readonly requestId: string | null; readonly account: string },
): Promise<Deletion> {
  const write = { operation: 'delete' } as const;
  const { tokenId, requestId } = by;
  const newWrite = { owner, tokenId, requestId, key, write, requestBody: null, requestHash: null };
  const begun = await deps.ledger.begin(newWrite, () => true);
  if (begun.kind !== 'begun') return { kind: 'busy' };
  const { lease } = begun;
  if (lease.current === null) {
    await deps.ledger.finish(lease, key, { state: 'unsent', code: 'not_found' });
    return { kind: 'deleted' };
  }
  const segments = ['zones', String(key.zoneId), 'rrsets', key.name, key.type];
  const outcome = await deps.send({ team: by.account, method: 'DELETE', segments, body: null });
  const concluded = await concludeWrite(deps, { key, write }, lease, outcome);
  switch (concluded.kind) {
    case 'accepted':
      return { kind: concluded.rrset === null ? 'deleted' : 'refused' };
    case 'refused':
      return { kind: 'refused' };
    case 'uncertain':
      return { kind: 'uncertain' };
    case 'unreached':
    case 'credentials_refused':
      return { kind: 'away' };
    case 'throttled':
      return { kind: 'throttled', retryAfterSeconds: concluded.retryAfterSeconds };
    default:
      return assertNever(concluded);
  }
}
