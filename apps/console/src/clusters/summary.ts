import type { Cluster } from '@corral/contracts';

/** "2 of 3 ready"; "not known" while the API server of a started cluster was not read. */
export function nodesOf({ status: { nodePools, phase } }: Pick<Cluster, 'status'>): string {
  if (phase === 'Draft' || phase === 'Hibernated') return '0';
  const counts = nodePools.flatMap(({ nodes }) => (nodes === null ? [] : [nodes]));
  if (counts.length === 0) return 'not known';
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  return `${sum(counts.map(({ ready }) => ready))} of ${sum(counts.map(({ total }) => total))} ready`;
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
