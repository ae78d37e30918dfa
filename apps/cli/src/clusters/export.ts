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
  const leaving = chosen.filter(isLeaving).map(({ metadata }) => metadata.name);
  if (leaving.length > 0) cli.note(`Left out, because they are being deleted: ${leaving.join(', ')}.`);
  const documents = chosen.filter((cluster) => !isLeaving(cluster)).map(documentOf);
  if (documents.length === 0) throw usageError('There is no cluster to export.');
  cli.result(documents, () => documents.map((document) => stringify(document)).join('---\n'));
}

const isLeaving = ({ status }: Cluster): boolean => status.phase === 'Deleting';

/** Without what changes by itself. With the team, so that another one does not get the cluster by mistake. */
const documentOf = ({ apiVersion, kind, metadata: { name, team }, spec }: Cluster) => ({
  apiVersion,
  kind,
  metadata: { name, team },
  spec,
});
