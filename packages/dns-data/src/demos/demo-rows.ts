import type { TeamId } from '@corral/contracts';
import { rowClock } from '@corral/database';
import type { RrsetOwner } from '../writes/rrset-write.js';

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

/** A demo is live until it is ended or expires, whichever comes first, by Postgres' clock. */
export const isLive = `demo.ended_at IS NULL AND demo.expires_at > ${rowClock}`;

/** The ended demo has no mirrored record and no pending write. */
export const isClear = `
  NOT EXISTS (SELECT 1 FROM dns_rrset WHERE zone_id = demo.zone_id AND owner_label = demo.label)
  AND NOT EXISTS (SELECT 1 FROM dns_audit_entry
                  WHERE coalesce(demo_id, team_id) = demo.id AND state = 'pending')`;

/** The columns of a `DemoRecord`, from `demo` joined with its `zone`. */
export const demoColumns = `
  demo.id, demo.team_id AS "teamId", demo.zone_id AS "zoneId", zone.name AS "zoneName", demo.label, demo.name,
  demo.ttl_seconds AS "ttlSeconds", demo.created_at AS "createdAt", demo.expires_at AS "expiresAt",
  (SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset
   WHERE zone_id = demo.zone_id AND owner_label = demo.label) AS records`;

/**
 * Parts of a statement that revoke the tokens of the demos in its part `from`, which has `id` and `ended_at`. Tokens
 * are locked in order of id everywhere, to avoid deadlocks.
 */
export const revokeTokens = (from: string) => `held_tokens AS MATERIALIZED (
    SELECT token.id, ${from}.ended_at FROM dns_token AS token JOIN ${from} ON token.demo_id = ${from}.id
    ORDER BY token.id FOR NO KEY UPDATE OF token
  ), revoked AS (
    UPDATE dns_token SET revoked_at = held_tokens.ended_at FROM held_tokens WHERE dns_token.id = held_tokens.id
  )`;

/** SQL expressions for an audit entry about demos. */
interface DemoNote {
  readonly actor: string;
  readonly tokenId: string;
  readonly operation: string;
  /** The request body. */
  readonly request: string;
  /** Absent when no request caused the change. */
  readonly requestId?: string;
  readonly from: string;
}

/** Identifies the token and request behind a change, for the audit log. */
export interface DemoAsking {
  readonly tokenId: string;
  /** Identifies the request in the log. */
  readonly requestId: string;
}

/**
 * Writes an audit entry about demos themselves, for the rows of a statement's part `from`, which has `id`, `team_id`,
 * `zone_id` and `label`. `DEMO` is not a record type, so the entry cannot be mistaken for one about a set.
 */
export const noteDemo = (of: DemoNote) => `
  INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, state, request_body,
                               request_id, created_at, completed_at)
  SELECT team_id, id, ${of.actor}, ${of.tokenId}, zone_id, label, 'DEMO', ${of.operation}, 'completed', ${of.request},
         ${of.requestId ?? 'NULL'}, clock_timestamp(), clock_timestamp() FROM ${of.from}`;

export function ownerOfDemo({ id, teamId }: { readonly id: string; readonly teamId: TeamId | null }): RrsetOwner {
  return { kind: 'demo', id, teamId };
}
