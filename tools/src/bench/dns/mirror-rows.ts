import { bearer } from '../load/load.js';
import { type DnsRig, ZONE } from './dns-rig.js';

/** Writes the rows that a zone sync would leave: `count` record sets of an owner. */
export async function fillMirror({ pool, zoneId }: DnsRig, owner: string, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     SELECT $1, name, 'A', $2, 1,
            json_build_object('id', name || '/A', 'name', name, 'type', 'A', 'ttl', 300, 'labels', json_build_object(),
                              'protection', json_build_object('change', false),
                              'records', json_build_array(json_build_object('value', '192.0.2.1', 'comment', '')),
                              'zone', $1::bigint)::text
     FROM (SELECT 's' || n || '.' || $2 AS name FROM generate_series(0, $3::int - 1) AS n) AS names
     ON CONFLICT DO NOTHING`,
    [zoneId, owner, count],
  );
  // In production, autovacuum does this.
  await pool.query('VACUUM ANALYZE dns_rrset');
}

/** Creates a record set through the gateway. */
export async function createSet({ gatewayUrl, token }: DnsRig, name: string): Promise<void> {
  const response = await fetch(`${gatewayUrl}/zones/${ZONE}/rrsets`, {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify({ name, type: 'A', records: [{ value: '192.0.2.1' }] }),
  });
  if (response.status !== 201) throw new Error(`A set could not be created: ${await response.text()}`);
}

export async function fetchText({ gatewayUrl, token }: DnsRig, path: string): Promise<string> {
  const response = await fetch(`${gatewayUrl}${path}`, { headers: bearer(token) });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
  return response.text();
}
