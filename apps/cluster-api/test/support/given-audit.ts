import { randomUUID } from 'node:crypto';
import { dnsTokenStore } from '@corral/auth';
import type { Prisma } from '@corral/database';
import type { TestClusterApi, TestTeam } from './start-cluster-api.js';

export const ZONE_ID = 7001;
export const ZONE = 'example.test';

type DnsRow = NonNullable<Awaited<ReturnType<Prisma['dnsAuditEntry']['findFirst']>>>;
type ApiRow = NonNullable<Awaited<ReturnType<Prisma['auditEntry']['findFirst']>>>;
export type DnsEntry = Partial<DnsRow> & Pick<DnsRow, 'tokenId'>;
export type ApiEntry = Partial<Pick<ApiRow, 'action' | 'userId' | 'operator' | 'requestId' | 'createdAt'>> & {
  readonly name?: string;
  readonly detail?: object;
};

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
export async function givenDnsEntry({ db }: TestClusterApi, team: TestTeam, entry: DnsEntry): Promise<string> {
  const { id } = await db.dnsAuditEntry.create({
    data: {
      teamId: team.id,
      actor: entry.tokenId === null ? 'upstream' : 'token',
      zoneId: ZONE_ID,
      name: `www.${team.slug}`,
      type: 'A',
      operation: 'create',
      state: 'completed',
      leaseUntil: new Date(),
      ...entry,
    },
    select: { id: true },
  });
  return `dns-${id}`;
}

/** Creates an entry of this API. Without a user it is one of the service itself. @returns its id in the API */
export async function givenApiEntry({ db }: TestClusterApi, team: TestTeam, entry: ApiEntry = {}): Promise<string> {
  const { name: targetName = 'web', detail = {}, action = 'cluster.declare', ...more } = entry;
  const target = { targetKind: 'Cluster', targetId: randomUUID(), targetName };
  const { id } = await db.auditEntry.create({ data: { teamId: team.id, action, detail, ...target, ...more } });
  return `api-${id}`;
}
