import { stringify } from 'yaml';
import type { Cli } from '../cli.js';
import { usageError } from '../exit-codes.js';
import { type Cluster, connectTeam, listClustersOf, noCluster } from './team-api.js';

/** Prints what is declared, as `apply` takes it. @param names of clusters; empty: all of the team */
export async function exportClusters(cli: Cli, names: readonly string[]): Promise<void> {
  const api = await connectTeam(cli);
  const clusters = await listClustersOf(api);
  const chosen =
    names.length === 0
      ? clusters
      : names.map((name) => {
          const cluster = clusters.find(({ metadata }) => metadata.name === name);
          if (cluster === undefined) throw noCluster(api, name);
          return cluster;
        });
  const documents = declaredClusters(cli, chosen);
  if (documents.length === 0) throw usageError('There is no cluster to export.');
  cli.result(documents, () => documentsText(documents));
}

/** Documents in YAML that files of `apply` have. */
export const documentsText = (documents: readonly object[]): string =>
  documents.map((document) => stringify(document, { lineWidth: 0 })).join('---\n');

/** What is declared of clusters. Those that are being deleted are left out, with a note. */
export function declaredClusters(cli: Cli, clusters: readonly Cluster[]): object[] {
  const leaving = clusters.filter(isLeaving).map(({ metadata }) => metadata.name);
  if (leaving.length > 0) cli.note(`Left out, because they are being deleted: ${leaving.join(', ')}.`);
  return clusters.filter((cluster) => !isLeaving(cluster)).map(documentOf);
}

const isLeaving = ({ status }: Cluster): boolean => status.phase === 'Deleting';

/** The document of a resource, without what changes by itself. It names its team, so that another one does not get it by mistake. */
export const documentOf = ({ apiVersion, kind, metadata: { name, team }, spec }: Declared) => ({
  apiVersion,
  kind,
  metadata: { name, team },
  spec,
});

interface Declared {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly team: string };
  readonly spec: object;
}
