import { randomUUID } from 'node:crypto';
import { dnsTokenStore } from '@corral/auth';
import type { TestClusterApi, TestTeam } from './start-cluster-api.js';

export const ZONE_ID = 7001;
export const ZONE = 'example.test';

/** A row of the DNS audit log. */
export interface DnsEntry {
  readonly name: string;
  readonly type: string;
  readonly operation: string;
  readonly state: string;
  readonly actor: string;
  /** Null when no token was used. */
  readonly tokenId: string | null;
  readonly requestBody: string | null;
  readonly upstreamStatus: number | null;
  readonly upstreamBody: string | null;
  readonly foundBody: string | null;
  readonly beforeBody: string | null;
  readonly afterBody: string | null;
  readonly foundApplied: boolean | null;
  readonly count: number;
  readonly refusalCode: string | null;
  readonly requestId: string | null;
  readonly createdAt: Date;
}

export interface ApiEntry {
  readonly action: string;
  readonly name: string;
  /** Null for the service itself. */
  readonly userId: string | null;
  readonly detail: object;
  readonly requestId: string | null;
  readonly createdAt: Date;
}

const DEMO_ZONE_ID = 7002;
const DEMO_ZONE = 'demos.test';

/** Creates the zone of demos, to which it moves an entry. */
export async function moveToDemo({ pool }: TestClusterApi, entry: string): Promise<void> {
  await pool.query(
    `INSERT INTO dns_zone (id, name, body, synced_at, of_demos) VALUES ($1, $2, '{}', now(), true) ON CONFLICT DO NOTHING`,
    [DEMO_ZONE_ID, DEMO_ZONE],
  );
  await pool.query('UPDATE dns_audit_entry SET zone_id = $2 WHERE id = $1', [entry.replace('dns-', ''), DEMO_ZONE_ID]);
}

/** Creates the zone of the entries. */
export async function givenZone({ pool }: TestClusterApi): Promise<void> {
  await pool.query(
    `INSERT INTO dns_zone (id, name, body, synced_at) VALUES ($1, $2, '{}', now()) ON CONFLICT DO NOTHING`,
    [ZONE_ID, ZONE],
  );
}

export async function givenToken({ db }: TestClusterApi, team: TestTeam, name: string): Promise<string> {
  return (await dnsTokenStore(db).issueToken(team, { name })).record.id;
}

/** Creates an entry of the DNS gateway. @returns its id in the API */
export async function givenDnsEntry(
  { pool }: TestClusterApi,
  team: TestTeam,
  entry: Partial<DnsEntry> & Pick<DnsEntry, 'tokenId'>,
): Promise<string> {
  const { name = `www.${team.slug}`, type = 'A', operation = 'create', state = 'completed', tokenId } = entry;
  const { actor = tokenId === null ? 'upstream' : 'token', createdAt = new Date() } = entry;
  const { requestBody = null, upstreamStatus = null, upstreamBody = null, foundBody = null, beforeBody = null } = entry;
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, request_body,
                                  upstream_status, upstream_body, found_body, found_applied, lease_until, created_at,
                                  count, refusal_code, before_body, request_id, after_body)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, now(), $14, $15, $16, $17, $18, $19) RETURNING id`,
    [
      team.id,
      actor,
      tokenId,
      ZONE_ID,
      name,
      type,
      operation,
      state,
      requestBody,
      upstreamStatus,
      upstreamBody,
      foundBody,
      entry.foundApplied ?? null,
      createdAt,
      entry.count ?? 1,
      entry.refusalCode ?? null,
      beforeBody,
      entry.requestId ?? null,
      entry.afterBody ?? null,
    ],
  );
  return `dns-${rows[0]?.id}`;
}

/** Creates an entry of this API. @returns its id in the API */
export async function givenApiEntry(
  { db }: TestClusterApi,
  team: TestTeam,
  entry: Partial<ApiEntry> = {},
): Promise<string> {
  const { action = 'cluster.declare', name = 'web', userId = null, detail = {}, requestId = null, createdAt } = entry;
  const target = { targetKind: 'Cluster', targetId: randomUUID(), targetName: name };
  const { id } = await db.auditEntry.create({
    data: { teamId: team.id, userId, action, detail, requestId, ...target, ...(createdAt && { createdAt }) },
  });
  return `api-${id}`;
}
