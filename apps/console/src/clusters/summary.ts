import type { CatalogueBody, Cluster } from '@corral/contracts';

/** How many nodes are ready: "2 of 3"; "not known" while the API server of a started cluster was not read. */
export function nodesOf({ status: { nodePools, phase } }: Pick<Cluster, 'status'>): string {
  if (phase === 'Draft' || phase === 'Hibernated') return '0';
  const counts = nodePools.flatMap(({ nodes }) => (nodes === null ? [] : [nodes]));
  if (counts.length === 0) return 'not known';
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  return `${sum(counts.map(({ ready }) => ready))} of ${sum(counts.map(({ total }) => total))}`;
}

export interface WaitingPool {
  readonly pool: string;
  /** Machines that it has not got yet. */
  readonly missing: number;
}

/** Pools on adopted servers that wait for machines: no condition of the cluster speaks of them. */
export function waitingPoolsOf({ spec, status }: Pick<Cluster, 'spec' | 'status'>): WaitingPool[] {
  if (spec.hibernated || status.phase === 'Draft' || status.phase === 'Deleting') return [];
  return spec.nodePools.flatMap(({ name, source, maximum }) => {
    const nodes = status.nodePools.find((pool) => pool.name === name)?.nodes ?? null;
    if (source === 'managed' || nodes === null || nodes.ready >= maximum) return [];
    return [{ pool: name, missing: maximum - nodes.ready }];
  });
}

/** A newer version of Kubernetes that the cluster can be upgraded to. */
export interface Upgrade {
  /** The declared minor version, such as `1.35`. */
  readonly version: string;
  readonly isMinor: boolean;
}

/**
 * The next minor version, as versions cannot be skipped, or else a newer patch of the present one.
 *
 * @param present the full version in use, or the one that is declared
 */
export function upgradeOf(present: string, offered: CatalogueBody['kubernetesVersions']): Upgrade | null {
  const [major = 0, minor = 0, patch = 0] = present.split('.').map(Number);
  const newest = (wanted: number) =>
    offered.find(({ newestOf, classification }) => newestOf === `${major}.${wanted}` && classification !== 'preview');
  if (newest(minor + 1) !== undefined) return { version: `${major}.${minor + 1}`, isMinor: true };
  const same = newest(minor);
  const isNewer = same !== undefined && Number(same.version.split('.')[2]) > patch;
  return isNewer ? { version: `${major}.${minor}`, isMinor: false } : null;
}

/** Whether all words of the filter occur in what the list shows of a cluster. */
export function isMatch({ metadata, spec, status }: Cluster, filter: string): boolean {
  const shown = [metadata.name, status.phase, spec.kubernetesVersion, spec.region, spec.connectionRef]
    .join(' ')
    .toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => shown.includes(word));
}
