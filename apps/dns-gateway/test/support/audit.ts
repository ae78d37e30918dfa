import type { TestGateway } from './start-gateway.js';

export interface AuditRow {
  operation: string;
  state: string;
  upstream_status: number | null;
  upstream_body: string | null;
  reserved_records: number;
  answered: boolean;
}

/** The audit entries of one record-set name, with the oldest first. */
export async function auditOf({ pool }: TestGateway, name: string): Promise<AuditRow[]> {
  const { rows } = await pool.query<AuditRow>(
    `SELECT operation, state, upstream_status, upstream_body, reserved_records, answered
     FROM dns_audit_entry WHERE name = $1 ORDER BY id`,
    [name],
  );
  return rows;
}

/** The number of records that the upstream holds at and below the name of a team. */
export function upstreamRecords({ cloud }: TestGateway, slug: string): number {
  const rrsets = cloud.admin.zones().flatMap((zone) => zone.rrsets);
  const own = rrsets.filter(({ name }) => name === slug || name.endsWith(`.${slug}`));
  return own.reduce((sum, { records }) => sum + records.length, 0);
}

export async function mirroredRecords({ pool }: TestGateway, slug: string): Promise<number> {
  const { rows } = await pool.query<{ records: number }>(
    'SELECT coalesce(sum(record_count), 0)::int AS records FROM dns_rrset WHERE owner_label = $1',
    [slug],
  );
  return rows[0]?.records ?? -1;
}
