import { teamQuotaMax } from '@corral/contracts';
import { entriesOfOthers, type Fill, ownEntries, ownSets, setsOfOthers } from './fill-records.js';
import { clustersOfOthers, otherTeams, ownClusters } from './fill-teams.js';

/** What grows, alone. All sizes below are those of the rows that grow; nothing else differs between the two installations. */
export interface Dimension {
  /** Names its plot. */
  readonly key: string;
  readonly what: string;
  /** Whose rows grow, and which rows come with each. */
  readonly of: string;
  /** How many of them the seed has. */
  readonly seeded: number;
  /** The first is that of the small installation. */
  readonly sizes: readonly number[];
  /** The large size of the quick form, which leaves out dimensions without one. */
  readonly quick?: number;
  readonly fill: Fill;
  /** The tables that grow, the largest first. Their indexes are made after they are filled. */
  readonly tables: readonly string[];
}

const OWN_SETS = 25;

/** In the order of the table. */
export const dimensions: readonly Dimension[] = [
  {
    key: 'record-sets-of-others',
    what: 'record sets',
    of: 'of a thousand other teams, in the same zone',
    seeded: 1_000,
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    quick: 200_000,
    fill: setsOfOthers,
    tables: ['dns_rrset'],
  },
  {
    key: 'record-sets-of-the-team',
    what: 'own record sets',
    of: 'of the measured team, up to the highest quota',
    seeded: OWN_SETS,
    sizes: [1_000, 10_000, teamQuotaMax.dnsRecords],
    fill: ownSets,
    tables: ['dns_rrset'],
  },
  {
    key: 'clusters-of-others',
    what: 'clusters',
    of: 'of ten other teams, with two pools, five operations and five events each',
    seeded: 10,
    sizes: [10, 100, 1_000, 10_000],
    quick: 10_000,
    fill: clustersOfOthers,
    tables: ['operation', 'team_event', 'node_pool', 'cluster'],
  },
  {
    key: 'clusters-of-the-team',
    what: 'own clusters',
    of: 'of the measured team, up to the highest quota, with the same rows',
    seeded: 0,
    // Pages of lists have 50: with fewer clusters, shorter pages would be compared with longer ones.
    sizes: [60, 200, teamQuotaMax.clusters - 60],
    fill: ownClusters,
    tables: ['operation', 'team_event', 'node_pool', 'cluster'],
  },
  {
    key: 'audit-entries-of-others',
    what: 'audit entries',
    of: 'of one other team, half of them of DNS writes, with an action for every fifth of these',
    seeded: 10_000,
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    fill: entriesOfOthers,
    tables: ['dns_audit_entry', 'audit_entry', 'dns_action'],
  },
  {
    key: 'audit-entries-of-the-team',
    what: 'own audit entries',
    of: 'of the measured team, the same rows',
    seeded: 10_000,
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    quick: 1_000_000,
    fill: ownEntries,
    tables: ['dns_audit_entry', 'audit_entry', 'dns_action'],
  },
  {
    key: 'teams',
    what: 'teams',
    of: 'with three people, a connection, tokens, a service account, events and a day of usage each',
    seeded: 10,
    sizes: [10, 100, 1_000, 10_000],
    quick: 10_000,
    fill: otherTeams,
    tables: ['usage_hour', 'team_event', 'dns_request_count', 'app_user', 'membership'],
  },
];
