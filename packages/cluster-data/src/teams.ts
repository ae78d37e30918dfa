import { asTeamId, type TeamId } from '@corral/contracts';
import type { Columns } from './columns.js';

export interface TeamNamesRow {
  readonly id: string;
  /** What answers and paths of the team endpoints speak of. */
  readonly number: number;
  readonly slug: string;
  /** Empty where the team has not been named. */
  readonly name: string;
}

/** Where the team is on the garden. */
export interface TeamProjectRow {
  readonly slug: string;
  readonly projectName: string;
  /** Null until the Project has stated it. */
  readonly projectNamespace: string | null;
}

/** Quotas where they differ from the installation's; null where they do not. */
export interface TeamQuotasRow {
  readonly clustersMax: number | null;
  readonly poolsPerClusterMax: number | null;
  readonly nodesPerClusterMax: number | null;
  readonly adoptedServersMax: number | null;
}

export const teamColumns = {
  names: { id: 'id', number: 'number', slug: 'slug', name: 'name' } satisfies Columns<TeamNamesRow>,
  project: {
    slug: 'slug',
    projectName: 'project_name',
    projectNamespace: 'project_namespace',
  } satisfies Columns<TeamProjectRow>,
  quotas: {
    clustersMax: 'clusters_max',
    poolsPerClusterMax: 'pools_per_cluster_max',
    nodesPerClusterMax: 'nodes_per_cluster_max',
    adoptedServersMax: 'adopted_servers_max',
  } satisfies Columns<TeamQuotasRow>,
} as const;

export interface TeamNames {
  readonly id: TeamId;
  readonly number: number;
  readonly slug: string;
  /** The slug where the team has not been named. */
  readonly name: string;
}

export const teamNamesOf = ({ id, number, slug, name }: TeamNamesRow): TeamNames => ({
  id: asTeamId(id),
  number,
  slug,
  name: name === '' ? slug : name,
});
