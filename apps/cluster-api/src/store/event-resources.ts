import type { Prisma } from '@corral/database';
import type { AdoptedServerRecord } from '../domain/adopted-server-record.js';
import type { ClusterRecord, OperationRecord } from '../domain/cluster-record.js';
import type { NodePoolRecord } from '../domain/node-pool-body.js';
import { serverRecordOf, withServerNames } from './adopted-servers.js';
import { type ClusterRow, clusterOf, operationOf, poolRecordOf, wholeClusters, withBacking } from './cluster-rows.js';

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

  async operations(teamId: string, ids: readonly string[]): Promise<ById<OperationRecord>> {
    const rows = await prisma.operation.findMany({ where: { teamId, id: { in: [...ids] } } });
    return new Map(rows.map((row) => [row.id, operationOf(row)]));
  },
});
