import type { NodePoolSpec, PoolSource } from '@corral/contracts';
import { type Columns, jsonOf } from './columns.js';

export interface NodePoolRow {
  readonly name: string;
  readonly source: string;
  readonly machineType: string;
  readonly image: unknown;
  readonly minimum: number;
  readonly maximum: number;
  readonly publicIp: boolean;
  /** Name of the worker pool on the garden. */
  readonly workerName: string;
  /** Pools with higher values grow first. */
  readonly autoscalerPriority: number;
}

export const nodePoolColumns = {
  name: 'name',
  source: 'source',
  machineType: 'machine_type',
  image: 'image',
  minimum: 'minimum',
  maximum: 'maximum',
  publicIp: 'public_ip',
  workerName: 'worker_name',
  autoscalerPriority: 'autoscaler_priority',
} as const satisfies Columns<NodePoolRow>;

/** With the number of its servers that are ready nodes. */
export interface BackedPoolRow extends NodePoolRow {
  readonly backingReady: number;
}

/** SQL expression beside a row of `cluster`: its pools as JSON, an ordered list of `NodePoolRow`. */
export const poolsOfCluster = poolsAs(jsonOf('pool', nodePoolColumns));

/** The same for `BackedPoolRow`. */
export const backedPoolsOfCluster = poolsAs(
  jsonOf('pool', nodePoolColumns, {
    backingReady: `(SELECT count(*) FROM adopted_server AS server
                    WHERE server.node_pool_id = pool.id AND server.node_ready)`,
  }),
);

function poolsAs(json: string): string {
  return `
    (SELECT coalesce(json_agg(${json} ORDER BY pool.position, pool.name), '[]')
     FROM node_pool AS pool WHERE pool.cluster_id = cluster.id)`;
}

export function poolSpecOf(row: NodePoolRow): NodePoolSpec {
  return {
    name: row.name,
    source: row.source as PoolSource,
    machineType: row.machineType,
    image: row.image as NodePoolSpec['image'],
    minimum: row.minimum,
    maximum: row.maximum,
    publicIP: row.publicIp,
  };
}
