import pg from 'pg';
import { bearer } from '../load/load.js';
import { type DnsRig, ZONE } from './dns-rig.js';

export interface FloorTargets extends Pick<DnsRig, 'cloudUrl' | 'cloudToken'> {
  readonly databaseUrl: string;
}

/** A write without Corral: see `openWriteFloor`. */
export interface WriteFloor {
  /** @returns the upstream's answer. @throws Error unless it is 201 */
  write(path: string, body: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * What a write cannot do without: its call to the upstream, between two durable commits of the rows that it changes, on warm
 * connections with prepared statements. It locks no team, counts no quota and looks for no earlier copy.
 */
export async function openWriteFloor({ databaseUrl, cloudUrl, cloudToken }: FloorTargets): Promise<WriteFloor> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS, idleTimeoutMillis: 0 });
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM dns_audit_entry WHERE state = 'completed' ORDER BY id DESC LIMIT 1`,
  );
  const [template] = rows;
  if (template === undefined) throw new Error('There is no write to copy the rows of');
  return {
    async write(path, sent) {
      const client = await pool.connect();
      try {
        const name = nameIn(path);
        await client.query('BEGIN');
        const entered = await client.query({ name: 'enter', text: enter, values: [template.id, name, sent] });
        await client.query('COMMIT');
        const response = await fetch(`${cloudUrl}${path}`, {
          method: 'POST',
          headers: { ...bearer(cloudToken), 'content-type': 'application/json' },
          body: sent,
        });
        const body = await response.text();
        if (response.status !== 201) throw new Error(`A write was answered ${response.status}: ${body}`);
        const { action } = JSON.parse(body) as { action: { id: number; status: string } };
        const { records } = JSON.parse(sent) as { records: object[] };
        const { id, before } = entered.rows[0] as { id: string; before: string };
        const after = JSON.stringify({ ...JSON.parse(before), records });
        await client.query('BEGIN');
        await client.query({ name: 'complete', text: complete, values: [id, body, after] });
        await client.query({ name: 'mirror', text: mirror, values: [name, after] });
        await client.query({
          name: 'action',
          text: follow,
          values: [action.id, action.status, JSON.stringify(action), id],
        });
        await client.query('COMMIT');
        return body;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

/** As many as the gateway has for changes. */
const CONNECTIONS = 5;
/** The columns that are the same for each write. */
const COPIED = 'team_id, actor, token_id, zone_id, type, operation, request_id, request_hash';

const enter = `
  INSERT INTO dns_audit_entry (${COPIED}, name, state, request_body, reserved_records, lease_until, lease_fence,
                               created_at, before_body)
  SELECT ${COPIED.split(', ')
    .map((column) => `entry.${column}`)
    .join(', ')}, rrset.name, 'pending', $3, 0, now() + interval '1 minute', 1, now(), rrset.body
  FROM dns_audit_entry AS entry
  JOIN dns_rrset AS rrset ON rrset.zone_id = entry.zone_id AND rrset.name = $2 AND rrset.type = entry.type
  WHERE entry.id = $1
  RETURNING id, before_body AS before`;

const complete = `
  UPDATE dns_audit_entry
  SET state = 'completed', upstream_status = 201, upstream_body = $2, after_body = $3, lease_until = NULL,
      completed_at = now(), answered = true
  WHERE id = $1`;

const mirror = `UPDATE dns_rrset SET body = $2, updated_at = now() WHERE name = $1 AND type = 'A'`;

const follow = `
  INSERT INTO dns_action (id, team_id, audit_entry_id, status, body)
  SELECT $1::bigint, team_id, id, $2, $3 FROM dns_audit_entry WHERE id = $4`;

const nameIn = (path: string): string => {
  const [, name] = new RegExp(`/zones/${ZONE}/rrsets/([^/]+)/`).exec(path) ?? [];
  if (name === undefined) throw new Error(`${path} names no record set`);
  return name;
};
