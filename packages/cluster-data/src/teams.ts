import { asTeamId, type TeamId } from '@corral/contracts';
import type { Columns } from './columns.js';

export interface TeamNamesRow {
  readonly id: string;
  /** Number of the team in answers and paths of the team endpoints. */
  readonly number: number;
  readonly slug: string;
  /** Empty if the team has no name. */
  readonly name: string;
}

/** The team's Project on the garden. */
export interface TeamProjectRow {
  readonly slug: string;
  readonly projectName: string;
  /** Null until the Project is ready. */
  readonly projectNamespace: string | null;
}

/** Quotas of the team; null for the installation's default. */
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
  /** The slug if the team has no name. */
  readonly name: string;
}

export const teamNamesOf = ({ id, number, slug, name }: TeamNamesRow): TeamNames => ({
  id: asTeamId(id),
  number,
  slug,
  name: name === '' ? slug : name,
});
