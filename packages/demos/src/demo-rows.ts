import { rowClock } from '@corral/database';
import type { RrsetOwner } from '@corral/dns-mirror';

/** A demo, as its makers see it. */
export interface DemoRecord {
  readonly id: string;
  /** Null for one made with a course code. */
  readonly teamId: string | null;
  readonly zoneId: number;
  readonly zoneName: string;
  readonly label: string;
  readonly name: string;
  readonly ttlSeconds: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** In the mirror just now. */
  readonly records: number;
}

/** A demo lives until it was ended or its time is over, whichever comes first. By Postgres' clock. */
export const isLive = `demo.ended_at IS NULL AND demo.expires_at > ${rowClock}`;

/** Nothing of an ended demo is left, as far as anybody knows: in the zone, or on its way there. */
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
 * Parts of a statement that revoke the tokens of the demos in its part `from`, which has `id` and `ended_at`. In the order of
 * their ids, as everybody takes many of them: two orders could wait for each other for ever.
 */
export const revokeTokens = (from: string) => `held_tokens AS MATERIALIZED (
    SELECT token.id, ${from}.ended_at FROM dns_token AS token JOIN ${from} ON token.demo_id = ${from}.id
    ORDER BY token.id FOR NO KEY UPDATE OF token
  ), revoked AS (
    UPDATE dns_token SET revoked_at = held_tokens.ended_at FROM held_tokens WHERE dns_token.id = held_tokens.id
  )`;

/** Of a note about demos, in SQL. */
interface DemoNote {
  readonly actor: string;
  readonly tokenId: string;
  readonly operation: string;
  /** The body. */
  readonly request: string;
  /** Absent for what no request asked for. */
  readonly requestId?: string;
  readonly from: string;
}

/** Who asks for a change of a demo, as the audit log names it. */
export interface DemoAsking {
  readonly tokenId: string;
  /** By which the request is known in the log. */
  readonly requestId: string;
}

/**
 * An entry of the audit log about demos themselves, for the rows of a statement's part `from`: which has `id`, `team_id`,
 * `zone_id` and `label`. The type `DEMO` is no record type, so it is never taken for an entry about a set.
 */
export const noteDemo = (of: DemoNote) => `
  INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, state, request_body,
                               request_id, created_at, completed_at)
  SELECT team_id, id, ${of.actor}, ${of.tokenId}, zone_id, label, 'DEMO', ${of.operation}, 'completed', ${of.request},
         ${of.requestId ?? 'NULL'}, clock_timestamp(), clock_timestamp() FROM ${of.from}`;

export function ownerOfDemo({ id, teamId }: { readonly id: string; readonly teamId: string | null }): RrsetOwner {
  return { kind: 'demo', id, teamId };
}
