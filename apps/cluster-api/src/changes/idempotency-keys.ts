import { Problem } from '../problem.js';
import type { Caller, KeyedRequest } from './caller.js';
import type { Transaction } from './team-changes.js';

/** Keys of each person and service account are separate. */
function ownerIdOf({ userId, account }: Caller): string {
  const id = userId ?? account?.id;
  if (id === undefined) throw new Error('Only people and service accounts have idempotency keys');
  return id;
}

/**
 * Stores, in the transaction of a change, which resource it creates, so that a repeated request finds it. A concurrent
 * request with the same key waits here until the first one has ended.
 *
 * @param resourceId the id of the resource that the change is about to create
 * @returns null when the request is new, else the resource id of the first request: change nothing and answer with it
 * @throws Problem `idempotency_key_reused`
 */
export async function registerKey<Id extends string>(
  tx: Transaction,
  caller: Caller,
  request: KeyedRequest | null,
  resourceId: Id,
): Promise<Id | null> {
  if (request === null) return null;
  const key = { teamId: caller.team.id, userId: ownerIdOf(caller), key: request.key };
  const requestHash = new Uint8Array(request.requestHash);
  const { count } = await tx.idempotencyKey.createMany({
    data: [{ ...key, requestHash, resourceId }],
    skipDuplicates: true,
  });
  if (count === 1) return null;
  const first = await readKey(tx, caller, request);
  // Keys are kept for two days. This one was deleted between the two statements, so the request counts as new.
  if (first === null) return registerKey(tx, caller, request, resourceId);
  return resourceIdOf(first, request) as Id;
}

/**
 * Finds the resource id of the first request with this key, without claiming the key.
 *
 * @returns null when there is none
 * @throws Problem `idempotency_key_reused`
 */
export async function findKey(db: Transaction, caller: Caller, request: KeyedRequest): Promise<string | null> {
  const first = await readKey(db, caller, request);
  return first === null ? null : resourceIdOf(first, request);
}

interface KeyRow {
  readonly requestHash: Uint8Array;
  readonly resourceId: string;
}

const readKey = (db: Transaction, caller: Caller, { key }: KeyedRequest): Promise<KeyRow | null> =>
  db.idempotencyKey.findUnique({
    where: { teamId_userId_key: { teamId: caller.team.id, userId: ownerIdOf(caller), key } },
    select: { requestHash: true, resourceId: true },
  });

function resourceIdOf({ requestHash, resourceId }: KeyRow, request: KeyedRequest): string {
  if (!request.requestHash.equals(requestHash)) {
    throw new Problem(
      'idempotency_key_reused',
      'The Idempotency-Key was already used for another request. Use a new one.',
    );
  }
  return resourceId;
}
