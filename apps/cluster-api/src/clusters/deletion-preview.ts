import { isManaged, nodeRangeOf } from './complete-spec.js';
import type { ClusterRecord } from './record.js';

export interface DeletedThing {
  readonly kind: string;
  readonly name: string | null;
  /** Null when unknown. */
  readonly count: number | null;
  readonly note: string;
}

/** Lists what a deletion destroys, as far as the stored cluster tells. Empty for a cluster that was never started. */
export function deletionPreview({ spec, startedAt }: Pick<ClusterRecord, 'spec' | 'startedAt'>): DeletedThing[] {
  if (startedAt === null) return [];
  return [
    ...spec.nodePools.map((pool) => nodesOf(pool, spec.hibernated)),
    {
      kind: 'Volume',
      name: null,
      count: null,
      note: 'Volumes of persistent volume claims are deleted, unless their reclaim policy is Retain. Their number is not known here.',
    },
    {
      kind: 'LoadBalancer',
      name: null,
      count: null,
      note: 'Load balancers of services are deleted. Their number is not known here.',
    },
  ];
}

function nodesOf(pool: ClusterRecord['spec']['nodePools'][number], hibernated: boolean): DeletedThing {
  const [least, most] = nodeRangeOf(pool, { hibernated });
  if (!isManaged(pool)) {
    const leaving = `${most} adopted servers leave the cluster`;
    const note =
      pool.source === 'pooled'
        ? `${leaving} and are rebuilt: all data on their disks is lost. They stay adopted.`
        : `${leaving} and must be wiped by their owner. They stay adopted.`;
    return { kind: 'Node', name: pool.name, count: most, note };
  }
  return {
    kind: 'Node',
    name: pool.name,
    count: least === most ? least : null,
    note: hibernated
      ? 'The cluster is hibernated: its nodes are already deleted, or about to be deleted.'
      : `From ${least} to ${most} servers of the type ${pool.machineType}, with all data on their disks.`,
  };
}
