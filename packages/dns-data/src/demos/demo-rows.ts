import { dnsLimits, type TeamId } from '@corral/contracts';
import { lockRows, rowClock, type Sql, sqlText, type Transaction } from '@corral/database';
import type { RrsetOwner } from '../rrset.js';

/** A demo as its owner sees it. */
export interface DemoRecord {
  readonly id: string;
  /** Null for a demo created with a course code. */
  readonly teamId: TeamId | null;
  readonly zoneId: number;
  readonly zoneName: string;
  readonly label: string;
  readonly name: string;
  readonly ttlSeconds: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Current number of records in the mirror. */
  readonly records: number;
}

/** Condition: a demo is live until it is ended or expires, whichever comes first, by Postgres' clock. */
export const isLiveAt = (now: Date) => ({ endedAt: null, expiresAt: { gt: now } }) as const;

/**
 * Frees the labels of demos that ended an hour ago and have no mirrored record and no pending write.
 *
 * @param among SQL: a condition on `demo`
 * @returns how many
 */
export const releaseLabels = (db: Transaction, among: Sql): Promise<number> => db.$executeRaw`
  UPDATE demo SET released_at = clock_timestamp() WHERE id IN (
    SELECT id FROM demo WHERE ended_at IS NOT NULL AND released_at IS NULL AND ${among}
      AND ended_at <= ${sqlText(rowClock)} - make_interval(secs => ${dnsLimits.demoLabelHeldSeconds})
      AND NOT EXISTS (SELECT FROM dns_rrset WHERE zone_id = demo.zone_id AND owner_label = demo.label)
      AND NOT EXISTS (SELECT FROM dns_audit_entry WHERE coalesce(demo_id, team_id) = demo.id AND state = 'pending')
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)`;

/** What an audit entry about a demo refers to. */
export const noted = { id: true, teamId: true, zoneId: true, label: true } as const;

export interface NotedDemo {
  readonly id: string;
  readonly teamId: string | null;
  readonly zoneId: bigint | number;
  readonly label: string;
}

/** The one who changed a demo, and how. */
export interface DemoNote {
  readonly actor: 'token' | 'course' | 'service';
  readonly tokenId: string | null;
  readonly operation: 'create' | 'extend' | 'delete' | 'expire';
  readonly requestBody: string | null;
  /** Null when no request caused the change. */
  readonly requestId: string | null;
}

/** Nobody asked for the change: a lifetime is over, or an operator ended many at once. */
export const byService = { actor: 'service', tokenId: null, requestBody: null, requestId: null } as const;

/** Identifies the token and request behind a change, for the audit log. */
export interface DemoAsking {
  readonly tokenId: string;
  /** Identifies the request in the log. */
  readonly requestId: string;
}

/** Writes audit entries about demos themselves. `DEMO` is not a record type, so they cannot be mistaken for some about a set. */
export async function noteDemos(
  tx: Transaction,
  demos: readonly NotedDemo[],
  note: DemoNote,
  now: Date,
): Promise<void> {
  const change = { ...note, type: 'DEMO', state: 'completed', createdAt: now, completedAt: now } as const;
  await tx.dnsAuditEntry.createMany({
    data: demos.map(({ id, teamId, zoneId, label }) => ({ teamId, demoId: id, zoneId, name: label, ...change })),
  });
}

/** What follows from the end of demos, in the transaction that ended them: their tokens are revoked, and the log says so. */
export async function concludeEnds(
  tx: Transaction,
  ended: readonly NotedDemo[],
  note: DemoNote,
  now: Date,
): Promise<void> {
  const ids = ended.map(({ id }) => id);
  await lockRows(tx, 'dns_token', { demo_id: ids });
  await tx.$executeRaw`
    UPDATE dns_token SET revoked_at = demo.ended_at FROM demo
    WHERE demo.id = dns_token.demo_id AND demo.id = ANY(${ids}::uuid[])`;
  await noteDemos(tx, ended, note, now);
}

export function ownerOfDemo({ id, teamId }: { readonly id: string; readonly teamId: TeamId | null }): RrsetOwner {
  return { kind: 'demo', id, teamId };
}
