import pg from 'pg';
import { atRate, bearer, percentile, type WriteLoad, type WriteResult } from '../load/load.js';
import { type DnsRig, ZONE } from './dns-rig.js';

/**
 * What a write cannot do without: its call to the upstream, between two durable commits of the rows that it changes, on warm
 * connections with prepared statements.
 */
export async function writeFloor(rig: DnsRig, load: Omit<WriteLoad, 'urls' | 'headers'>): Promise<WriteResult> {
  const pool = new pg.Pool({ connectionString: rig.base.databaseUrl, max: CONNECTIONS });
  try {
    const { rows } = await pool.query<{ id: string }>(
      `SELECT id FROM dns_audit_entry WHERE state = 'completed' ORDER BY id DESC LIMIT 1`,
    );
    const [template] = rows;
    if (template === undefined) throw new Error('There is no write to copy the rows of');
    const copy = `INSERT INTO dns_audit_entry (${COPIED}) SELECT ${COPIED} FROM dns_audit_entry WHERE id = $1 RETURNING id`;
    const durations = await atRate(load.perSecond, load.seconds, async (index) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const entered = await client.query({ name: 'enter', text: copy, values: [template.id] });
        await client.query('COMMIT');
        const response = await fetch(`${rig.cloudUrl}${load.pathOf(index)}`, {
          method: 'POST',
          headers: { ...bearer(rig.cloudToken), 'content-type': 'application/json' },
          body: load.bodyOf(index),
        });
        const body = await response.text();
        if (response.status !== 201) throw new Error(`A write was answered ${response.status}: ${body}`);
        await client.query('BEGIN');
        await client.query({ name: 'complete', text: complete, values: [entered.rows[0].id, body] });
        await client.query({ name: 'mirror', text: mirror, values: [nameIn(load.pathOf(index))] });
        await client.query('COMMIT');
      } finally {
        client.release();
      }
    });
    return { writes: durations.length, p50Ms: percentile(durations, 0.5), p99Ms: percentile(durations, 0.99) };
  } finally {
    await pool.end();
  }
}

/** As many as the gateway has for changes. */
const CONNECTIONS = 5;
/** The columns that a write fills when it begins. */
const COPIED =
  'team_id, actor, token_id, zone_id, name, type, operation, state, request_body, request_id, request_hash, count';
const complete =
  'UPDATE dns_audit_entry SET upstream_status = 201, upstream_body = $2, completed_at = now(), answered = true WHERE id = $1';
const mirror = `UPDATE dns_rrset SET body = body, updated_at = now() WHERE name = $1 AND type = 'A'`;

const nameIn = (path: string): string => {
  const [, name] = new RegExp(`/zones/${ZONE}/rrsets/([^/]+)/`).exec(path) ?? [];
  if (name === undefined) throw new Error(`${path} names no record set`);
  return name;
};
