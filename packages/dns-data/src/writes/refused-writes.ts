import { type DnsErrorCode, storableText } from '@corral/contracts';
import type { Pool } from '@corral/database';
import type { RrsetOwner, RrsetWriteKind } from './rrset-write.js';

/** A write refused before it was sent upstream or recorded in the ledger. */
export interface RefusedWrite {
  readonly owner: RrsetOwner;
  readonly tokenId: string;
  /** As requested; not necessarily valid names. */
  readonly key: { readonly zoneId: number; readonly name: string; readonly type: string };
  readonly operation: RrsetWriteKind;
  readonly code: DnsErrorCode;
  readonly requestId: string;
}

/** Longer than any valid name or type. */
const NAME_CHARACTERS = 255;
const TYPE_CHARACTERS = 16;

/**
 * SQL that counts writes never sent upstream, as returned by the query `from`: one entry per minute, token, name, type,
 * operation and code. Safe with any number of processes. No body is kept, so the size of an entry is bounded.
 */
export const countUnsent = (from: string): string => `
  INSERT INTO dns_audit_entry AS known (team_id, demo_id, actor, token_id, zone_id, name, type, operation, refusal_code,
                                        request_id, state, minute, created_at, completed_at)
  SELECT team_id, demo_id, actor, token_id, zone_id, name, type, operation, refusal_code, request_id,
         'unsent', date_trunc('minute', clock_timestamp()), clock_timestamp(), clock_timestamp()
  FROM (${from}) AS refused
  ON CONFLICT (token_id, zone_id, name, type, operation, refusal_code, minute) WHERE minute IS NOT NULL
  DO UPDATE SET count = known.count + 1, request_id = excluded.request_id, completed_at = greatest(known.completed_at, excluded.completed_at)`;

const countRefused = {
  name: 'refused-write-count',
  text: countUnsent(`SELECT $1::uuid AS team_id, $2::uuid AS demo_id, 'token'::dns_actor AS actor, $3::uuid AS token_id,
                            $4::bigint AS zone_id, $5::text AS name, $6::text AS type, $7::text AS operation,
                            $8::text AS refusal_code, $9::text AS request_id`),
};

/** Audit entries for writes that never reached the ledger. */
export const refusedWrites = (pool: Pick<Pool, 'query'>) => ({
  async count({ owner, tokenId, key, operation, code, requestId }: RefusedWrite): Promise<void> {
    const demoId = owner.kind === 'demo' ? owner.id : null;
    const name = storableText(key.name, NAME_CHARACTERS, '\ufffd');
    const type = storableText(key.type, TYPE_CHARACTERS, '\ufffd');
    await pool.query({
      ...countRefused,
      values: [owner.teamId, demoId, tokenId, key.zoneId, name, type, operation, code, requestId],
    });
  },
});
export type RefusedWrites = ReturnType<typeof refusedWrites>;
