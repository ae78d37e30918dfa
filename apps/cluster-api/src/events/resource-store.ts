import { type DnsTokenRecord, dnsTokenRecordOf, shownOfDnsToken } from '@corral/auth';
import { includeCreator, type OperationRecord, operationOf } from '@corral/cluster-data';
import type { TeamId } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import type { ClusterRecord } from '../clusters/store.js';
import { type ClusterRow, clusterOf, wholeClusters } from '../clusters/store.js';
import { connectionRecordOf, shownOfConnection } from '../connections/store.js';
import type { ConnectionRecord } from '../connections/view.js';
import { type NodePoolRecord, poolRecordOf } from '../node-pools/view.js';
import { serverRecordOf, shownOfServer } from '../servers/store.js';
import type { AdoptedServerRecord } from '../servers/view.js';
import type { MemberRecord } from '../teams/record.js';
import { memberOf, shownOfMember } from '../teams/rows.js';

/** The existing resources of the team, by id. */
export type ById<T> = ReadonlyMap<string, T>;

/** Reads the resources of events in batches. */
export const eventResourceStore = (prisma: Prisma) => ({
  async clusters(teamId: TeamId, ids: readonly string[]): Promise<ById<ClusterRecord>> {
    const rows = await prisma.$queryRaw<ClusterRow[]>`
      ${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.id = ANY(${[...ids]}::uuid[])`;
    return new Map(rows.map((row) => [row.id, clusterOf(row)]));
  },

  async nodePools(teamId: TeamId, ids: readonly string[]): Promise<ById<NodePoolRecord>> {
    const rows = await prisma.nodePool.findMany({
      where: { teamId, id: { in: [...ids] } },
      include: { _count: { select: { claimedServers: { where: { nodeReady: true } } } } },
    });
    return new Map(rows.map((row) => [row.id, poolRecordOf(row, row._count.claimedServers)]));
  },

  async adoptedServers(teamId: TeamId, ids: readonly string[]): Promise<ById<AdoptedServerRecord>> {
    const where = { teamId, id: { in: [...ids] } };
    const rows = await prisma.adoptedServer.findMany({ where, select: shownOfServer });
    return new Map(rows.map((row) => [row.id, serverRecordOf(row)]));
  },

  async connections(teamId: TeamId, ids: readonly string[]): Promise<ById<ConnectionRecord>> {
    const where = { teamId, id: { in: [...ids] } };
    const rows = await prisma.connection.findMany({ where, select: shownOfConnection });
    return new Map(rows.map((row) => [row.id, connectionRecordOf(row)]));
  },

  /** By `name/type`, with the bodies of the DNS API. */
  async recordSets({ slug }: { readonly slug: string }, ids: readonly string[]): Promise<ById<object>> {
    const keys = ids.map((id) => {
      const end = id.lastIndexOf('/');
      return { name: id.slice(0, end), type: id.slice(end + 1) };
    });
    const rows = await prisma.dnsRrset.findMany({
      where: { ownerLabel: slug, zone: { ofDemos: false }, OR: keys },
      select: { name: true, type: true, body: true },
    });
    return new Map(rows.map(({ name, type, body }) => [`${name}/${type}`, JSON.parse(body) as object]));
  },

  async dnsTokens(teamId: TeamId, ids: readonly string[]): Promise<{ tokens: ById<DnsTokenRecord>; now: Date }> {
    const where = { teamId, id: { in: [...ids] } };
    const rows = await prisma.dnsToken.findMany({ where, select: shownOfDnsToken });
    return { tokens: new Map(rows.map((row) => [row.id, dnsTokenRecordOf(row)])), now: await readClock(prisma) };
  },

  /** By their numbers as strings. */
  async members(teamId: TeamId, ids: readonly string[]): Promise<ById<MemberRecord>> {
    const where = { teamId, number: { in: ids.map(Number) } };
    const rows = await prisma.membership.findMany({ where, select: shownOfMember });
    return new Map(rows.map((row) => [String(row.number), memberOf(row)]));
  },

  async operations(teamId: TeamId, ids: readonly string[]): Promise<ById<OperationRecord>> {
    const rows = await prisma.operation.findMany({
      where: { teamId, id: { in: [...ids] } },
      include: includeCreator,
    });
    return new Map(rows.map((row) => [row.id, operationOf(row)]));
  },
});
