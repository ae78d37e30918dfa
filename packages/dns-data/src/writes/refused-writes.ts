import { type DnsErrorCode, storableText } from '@corral/contracts';
import type { Transaction } from '@corral/database';
import type { RrsetKey, RrsetOwner, RrsetWriteKind } from '../rrset.js';

/** A write refused before it was sent upstream or recorded in the ledger. */
export interface RefusedWrite {
  readonly owner: RrsetOwner;
  readonly tokenId: string;
  /** The key as requested, which need not be valid. */
  readonly key: RrsetKey;
  readonly operation: RrsetWriteKind;
  readonly code: DnsErrorCode;
  readonly requestId: string;
}

/** Longer than any valid name or type. */
const NAME_CHARACTERS = 255;
const TYPE_CHARACTERS = 16;

/** A write that was never sent. */
export interface UnsentWrite extends Omit<RefusedWrite, 'tokenId' | 'operation' | 'requestId'> {
  /** Null for a deletion by Corral itself. */
  readonly tokenId: string | null;
  readonly operation: string;
  readonly requestId: string | null;
}

/**
 * Counts a write that was never sent upstream: one entry per minute, token, name, type, operation and code. Safe with any number of
 * processes. No body is kept, so the size of an entry is bounded.
 */
export async function countUnsent(
  db: Transaction,
  { owner, tokenId, key, operation, code, requestId }: UnsentWrite,
  times = 1,
): Promise<void> {
  const demoId = owner.kind === 'demo' ? owner.id : null;
  const actor = tokenId === null ? 'service' : 'token';
  await db.$executeRaw`
    INSERT INTO dns_audit_entry AS known (team_id, demo_id, actor, token_id, zone_id, name, type, operation, refusal_code,
                                          request_id, state, count, minute, created_at, completed_at)
    VALUES (${owner.teamId}::uuid, ${demoId}::uuid, ${actor}::dns_actor, ${tokenId}::uuid, ${key.zoneId}, ${key.name}, ${key.type},
            ${operation}, ${code}, ${requestId}, 'unsent', ${times}, date_trunc('minute', clock_timestamp()), clock_timestamp(),
            clock_timestamp())
    ON CONFLICT (token_id, zone_id, name, type, operation, refusal_code, minute) WHERE minute IS NOT NULL
    DO UPDATE SET count = known.count + excluded.count, request_id = excluded.request_id,
                  completed_at = greatest(known.completed_at, excluded.completed_at)`;
}

/** Writes that one statement counts together. */
interface Batch {
  times: number;
  latest: RefusedWrite;
  /** Its statement was sent, so nothing can join it. */
  isSent: boolean;
  counted: Promise<void>;
}

/**
 * Audit entries for writes that never reached the ledger. Those that an entry counts together are counted by one statement after the
 * other, each with all that came meanwhile: a flood must not take the connections that the writes of other teams need.
 */
export const refusedWrites = (prisma: Transaction) => {
  /** The newest batch of each entry that is being counted. */
  const newest = new Map<string, Batch>();

  const begin = (entry: string, latest: RefusedWrite): Batch => {
    const before = newest.get(entry)?.counted.catch(() => undefined) ?? Promise.resolve();
    const batch: Batch = { times: 0, latest, isSent: false, counted: Promise.resolve() };
    batch.counted = before
      .then(() => {
        batch.isSent = true;
        return countUnsent(prisma, batch.latest, batch.times);
      })
      .finally(() => newest.get(entry) === batch && newest.delete(entry));
    newest.set(entry, batch);
    return batch;
  };

  return {
    async count({ key, ...write }: RefusedWrite): Promise<void> {
      const name = storableText(key.name, NAME_CHARACTERS, '\ufffd');
      const type = storableText(key.type, TYPE_CHARACTERS, '\ufffd');
      const latest = { ...write, key: { ...key, name, type } };
      const entry = [write.tokenId, key.zoneId, name, type, write.operation, write.code].join('\0');
      const found = newest.get(entry);
      const batch = found === undefined || found.isSent ? begin(entry, latest) : found;
      batch.times += 1;
      batch.latest = latest;
      await batch.counted;
    },
  };
};
export type RefusedWrites = ReturnType<typeof refusedWrites>;
