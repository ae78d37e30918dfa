import { randomUUID } from 'node:crypto';
import type { OperationRecord } from '@corral/cluster-data';
import { asOperationId } from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { registerKey } from '../changes/idempotency-keys.js';
import { findOperation } from '../operations/store.js';
import { found } from '../problem.js';
import type { Services } from '../services.js';
import { beginVerification, findVerification, lockConnectionOf } from './store.js';
import type { ConnectionRecord } from './view.js';

type VerificationAsked =
  /** A verification is already running, or the first request with this key met one. */
  | { readonly kind: 'under way'; readonly connection: ConnectionRecord; readonly operation: OperationRecord | null }
  | { readonly kind: 'accepted'; readonly connection: ConnectionRecord; readonly operation: OperationRecord };

/**
 * Starts a verification of the stored token. Requests during a running verification share it.
 *
 * @throws Problem `not_found`, `idempotency_key_reused`
 */
export async function verifyConnection(
  services: Services,
  caller: Caller,
  ref: string,
  request: KeyedRequest | null,
): Promise<VerificationAsked> {
  const asked = await services.changeTeam(caller, async (tx, now): Promise<VerificationAsked> => {
    const change = { tx, caller, now };
    const connection = found(await lockConnectionOf(change, ref));
    const operationId = asOperationId(randomUUID());
    const firstId = await registerKey(tx, caller, request, operationId);
    const first = firstId && (await findOperation(tx, caller.team.id, firstId));
    if (first) return { kind: 'accepted', connection, operation: first };
    const open = await findVerification(change, connection.id);
    if (firstId !== null || open !== null) return { kind: 'under way', connection, operation: open };
    return { kind: 'accepted', connection, operation: await beginVerification(change, connection, operationId) };
  });
  services.wake.connections();
  return asked;
}
