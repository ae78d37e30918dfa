import { type DnsTokenRecord, dnsTokenRecordOf, shownOfDnsToken } from '@corral/auth';
import { type Prisma, readClock } from '@corral/database';
import type { AdoptedServerRecord } from '../domain/adopted-server-record.js';
import type { ClusterRecord, OperationRecord } from '../domain/cluster-record.js';
import type { ConnectionRecord } from '../domain/connection-record.js';
import type { NodePoolRecord } from '../domain/node-pool-body.js';
import type { MemberRecord } from '../domain/team-record.js';
import { serverRecordOf, withServerNames } from './adopted-servers.js';
import { type ClusterRow, clusterOf, operationOf, poolRecordOf, wholeClusters, withBacking } from './cluster-rows.js';
import { connectionRecordOf, shownOfConnection } from './connections.js';
import { memberOf, shownOfMember } from './team-rows.js';

/** Those that are there of the team's, by id. */
export type ById<T> = ReadonlyMap<string, T>;

/** What events are about, many at a time. */
export const eventResourceStore = (prisma: Prisma) => ({
  async clusters(teamId: string, ids: readonly string[]): Promise<ById<ClusterRecord>> {
    const rows = await prisma.$queryRaw<ClusterRow[]>`
      ${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.id = ANY(${[...ids]}::uuid[])`;
    return new Map(rows.map((row) => [row.id, clusterOf(row)]));
  },

  async nodePools(teamId: string, ids: readonly string[]): Promise<ById<NodePoolRecord>> {
    const rows = await prisma.nodePool.findMany({ where: { teamId, id: { in: [...ids] } }, include: withBacking });
    return new Map(rows.map((row) => [row.id, poolRecordOf(row)]));
  },

  async adoptedServers(teamId: string, ids: readonly string[]): Promise<ById<AdoptedServerRecord>> {
    const where = { teamId, id: { in: [...ids] } };
    const rows = await prisma.adoptedServer.findMany({ where, include: withServerNames });
    return new Map(rows.map((row) => [row.id, serverRecordOf(row)]));
  },

  async connections(teamId: string, ids: readonly string[]): Promise<ById<ConnectionRecord>> {
    const where = { teamId, id: { in: [...ids] } };
    const rows = await prisma.connection.findMany({ where, select: shownOfConnection });
    return new Map(rows.map((row) => [row.id, connectionRecordOf(row)]));
  },

  /** By `name/type`, as the DNS API answers them. */
  async recordSets({ slug }: { readonly slug: string }, ids: readonly string[]): Promise<ById<object>> {
    const rows = await prisma.$queryRaw<{ id: string; body: string }[]>`
      SELECT rrset.name || '/' || rrset.type AS id, rrset.body
      FROM dns_rrset AS rrset JOIN dns_zone ON dns_zone.id = rrset.zone_id
      WHERE rrset.owner_label = ${slug} AND NOT dns_zone.of_demos
        AND (rrset.name, rrset.type) IN (SELECT regexp_replace(id, '/[^/]*$', ''), regexp_replace(id, '^.*/', '')
                                         FROM unnest(${[...ids]}::text[]) AS id)`;
    return new Map(rows.map(({ id, body }) => [id, JSON.parse(body) as object]));
  },

  async dnsTokens(teamId: string, ids: readonly string[]): Promise<{ tokens: ById<DnsTokenRecord>; now: Date }> {
    const where = { teamId, id: { in: [...ids] } };
    const rows = await prisma.dnsToken.findMany({ where, select: shownOfDnsToken });
    return { tokens: new Map(rows.map((row) => [row.id, dnsTokenRecordOf(row)])), now: await readClock(prisma) };
  },

  /** By their numbers. */
  async members(teamId: string, ids: readonly string[]): Promise<ById<MemberRecord>> {
    const where = { teamId, number: { in: ids.map(Number) } };
    const rows = await prisma.membership.findMany({ where, select: shownOfMember });
    return new Map(rows.map((row) => [String(row.number), memberOf(row)]));
  },

  async operations(teamId: string, ids: readonly string[]): Promise<ById<OperationRecord>> {
    const rows = await prisma.operation.findMany({ where: { teamId, id: { in: [...ids] } } });
    return new Map(rows.map((row) => [row.id, operationOf(row)]));
  },
});
