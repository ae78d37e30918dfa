import type { Caller } from '../domain/caller.js';
import type { KeyedRequest } from '../domain/keyed-request.js';
import { Problem } from '../problem.js';
import type { Transaction } from './team-changes.js';

/**
 * Notes in the transaction of a change which resource it makes, so that the same request finds it when it comes again.
 * A second request with the key waits here until the first has ended.
 *
 * @param resourceId what the change is about to make
 * @returns null when the request is new, else the id that its first copy made: change nothing, answer about that
 * @throws Problem `idempotency_key_reused`
 */
export async function claimKey(
  tx: Transaction,
  caller: Pick<Caller, 'team' | 'userId'>,
  request: KeyedRequest | null,
  resourceId: string,
): Promise<string | null> {
  if (request === null) return null;
  const id = { teamId: caller.team.id, userId: caller.userId, key: request.key };
  const requestHash = new Uint8Array(request.requestHash);
  const { count } = await tx.idempotencyKey.createMany({
    data: [{ ...id, requestHash, resourceId }],
    skipDuplicates: true,
  });
  if (count === 1) return null;
  const first = await tx.idempotencyKey.findUnique({ where: { teamId_userId_key: id } });
  // Keys are kept for two days: this one went between the two statements, and the request is a new one.
  if (first === null) return claimKey(tx, caller, request, resourceId);
  return resourceIdOf(first, request);
}

/**
 * What the first copy of a request made, without taking the key for this one.
 *
 * @returns null when there is none
 * @throws Problem `idempotency_key_reused`
 */
export async function findKey(db: Transaction, caller: Caller, request: KeyedRequest): Promise<string | null> {
  const id = { teamId: caller.team.id, userId: caller.userId, key: request.key };
  const first = await db.idempotencyKey.findUnique({ where: { teamId_userId_key: id } });
  return first === null ? null : resourceIdOf(first, request);
}

function resourceIdOf(
  { requestHash, resourceId }: { requestHash: Uint8Array; resourceId: string },
  request: KeyedRequest,
): string {
  if (!request.requestHash.equals(requestHash)) {
    throw new Problem(
      'idempotency_key_reused',
      'The Idempotency-Key was already used for another request. Use a new one.',
    );
  }
  return resourceId;
}
