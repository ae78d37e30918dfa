import type { ClusterOperations, QueryOf } from '@corral/client';
import type { UsageStep } from '@corral/contracts';
import { queryOptions } from '@tanstack/react-query';
import { bodyOf, corral } from './corral.js';
import { dnsOf } from './dns-client.js';

/*
 * What pages read, one entry per resource. All keys of a team begin with `['team', slug]`. Live changes update the entries
 * (`live-cache.ts`), so none of them becomes stale by time.
 */

/** The filters of the audit log. */
export type AuditQuery = QueryOf<ClusterOperations['listAudit']>;

export const teamKey = (team: string) => ['team', team] as const;

export const meQuery = () =>
  queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => bodyOf(corral.getMe({}, { signal })), retry: false });

/** What the person gets mails about. */
export const notificationsQuery = () =>
  queryOptions({
    queryKey: ['notifications'],
    queryFn: ({ signal }) => bodyOf(corral.getNotifications({}, { signal })),
  });

export const sessionsQuery = () =>
  queryOptions({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => corral.listAll('listSessions', {}, { signal }),
  });

export const receivedInvitationQuery = (id: string) =>
  queryOptions({
    queryKey: ['invitation', id],
    queryFn: ({ signal }) => bodyOf(corral.getReceivedInvitation({ id }, { signal })),
    retry: false,
  });

/** Those to the address of the person. No event announces one. */
export const receivedInvitationsQuery = () =>
  queryOptions({
    queryKey: ['invitations'],
    queryFn: ({ signal }) => corral.listAll('listReceivedInvitations', {}, { signal }),
    staleTime: 5_000,
    refetchInterval: 15_000,
  });

export const clustersQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'clusters'],
    queryFn: ({ signal }) => corral.listAll('listClusters', { team }, { signal }),
  });

export const clusterQuery = (team: string, name: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'cluster', name],
    queryFn: ({ signal }) => bodyOf(corral.getCluster({ team, name }, { signal })),
  });

/** The newest operations; of one target when it is given by name or id. */
export const operationsQuery = (team: string, target?: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'operations', target ?? null],
    queryFn: async ({ signal }) => {
      const query = { limit: 50, target };
      return (await bodyOf(corral.listOperations({ team }, { query, signal }))).items;
    },
  });

export const operationQuery = (team: string, id: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'operation', id],
    queryFn: ({ signal }) => bodyOf(corral.getOperation({ team, id }, { signal })),
  });

/** @param connection its prices are shown; without it all prices are null */
export const catalogueQuery = (team: string, connection?: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'catalogue', connection ?? null],
    queryFn: ({ signal }) => bodyOf(corral.getCatalogue({ team }, { query: { connection }, signal })),
    // No event announces a change of it.
    staleTime: 60_000,
  });

export const connectionsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'connections'],
    queryFn: ({ signal }) => corral.listAll('listConnections', { team }, { signal }),
  });

export const connectionQuery = (team: string, ref: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'connection', ref],
    queryFn: ({ signal }) => bodyOf(corral.getConnection({ team, ref }, { signal })),
  });

export const serversQuery = (team: string, ref: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'servers', ref],
    queryFn: ({ signal }) => corral.listAll('listAdoptedServers', { team, ref }, { signal }),
  });

/** What the provider has now: no event announces a change of it. */
export const projectServersQuery = (team: string, ref: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'project-servers', ref],
    queryFn: async ({ signal }) => (await bodyOf(corral.listProjectServers({ team, ref }, { signal }))).items,
    staleTime: 0,
  });

/** One of them, also beyond those that are listed. @param number as typed */
export const projectServerQuery = (team: string, ref: string, number: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'project-servers', ref, number],
    queryFn: ({ signal }) => bodyOf(corral.getProjectServer({ team, ref, server_id: Number(number) }, { signal })),
    staleTime: 0,
    retry: false,
  });

export const dnsTokensQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dns-tokens'],
    queryFn: ({ signal }) => corral.listAll('listDnsTokens', { team }, { signal }),
  });

export const dnsUsageQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dns-usage'],
    queryFn: ({ signal }) => bodyOf(corral.getDnsUsage({ team }, { signal })),
    staleTime: 30_000,
  });

/** The record sets that lead to an address which is gone. */
export const danglingQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dangling-record-sets'],
    queryFn: ({ signal }) => bodyOf(corral.listDanglingRecordSets({ team }, { signal })),
    staleTime: 30_000,
  });

/** The last change of each record set. */
export const recordSetChangesQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'record-set-changes'],
    queryFn: async ({ signal }) => (await bodyOf(corral.listRecordSetChanges({ team }, { signal }))).items,
  });

/** The usage over time. @param id of the time shown; @param rangeOf its parameters when it is loaded */
export const usageQuery = (
  team: string,
  id: string,
  rangeOf: () => { readonly step: UsageStep; readonly from: string },
) =>
  queryOptions({
    queryKey: [...teamKey(team), 'usage', id],
    queryFn: ({ signal }) => bodyOf(corral.getUsage({ team }, { query: rangeOf(), signal })),
    // No event announces a new record, which comes every five minutes.
    staleTime: 60_000,
    refetchInterval: 300_000,
  });

/** Endpoint and zone; the token is not part of it. */
export const dnsZoneQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dns-zone'],
    queryFn: async () => {
      const { endpoint, zone } = await dnsOf(team);
      return { endpoint, zone };
    },
  });

/** The zone with its default TTL in seconds. */
export const zoneQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'zone'],
    queryFn: async ({ signal }) => {
      const { client, zone } = await dnsOf(team);
      const { body } = await client.getZone({ zone }, { signal });
      return { name: body.zone.name, ttl: body.zone.ttl };
    },
    // No event announces a change of it.
    staleTime: 60_000,
  });

export const rrsetsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'rrsets'],
    queryFn: async ({ signal }) => {
      const { client, zone } = await dnsOf(team);
      return client.listAll('listRrsets', { zone }, { signal });
    },
  });

/** Live demos. */
export const demosQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'demos'],
    queryFn: async ({ signal }) => (await dnsOf(team)).client.listAll('listDemos', {}, { signal }),
    // No event announces their records and ends.
    refetchInterval: 15_000,
  });

export const membersQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'members'],
    queryFn: ({ signal }) => corral.listAll('listMembers', { team_slug: team }, { signal }),
  });

export const invitationsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'invitations'],
    queryFn: ({ signal }) => corral.listAll('listInvitations', { team_slug: team }, { signal }),
    // No event announces that a mail was sent, or that an invitation was declined.
    staleTime: 10_000,
    refetchInterval: ({ state }) => (state.data?.some(({ mail_sent_at: sentAt }) => sentAt === null) ? 3_000 : false),
  });

export const accountsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'service-accounts'],
    queryFn: async ({ signal }) => (await bodyOf(corral.listServiceAccounts({ team }, { signal }))).items,
    // No event announces a change of it.
    staleTime: 10_000,
  });

export const accountTokensQuery = (team: string, account: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'service-accounts', account, 'tokens'],
    queryFn: async ({ signal }) => (await bodyOf(corral.listAccountTokens({ team, account }, { signal }))).items,
    staleTime: 10_000,
  });

/** How they are doing changes without an event. */
export const webhooksQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'webhooks'],
    queryFn: async ({ signal }) => (await bodyOf(corral.listWebhooks({ team }, { signal }))).items,
    refetchInterval: 5_000,
  });

export const issuersQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'trusted-issuers'],
    queryFn: async ({ signal }) => (await bodyOf(corral.listTrustedIssuers({ team }, { signal }))).items,
    staleTime: 10_000,
  });

/** The team with its subscription. @param id its number, which `me` shows */
export const teamQuery = (team: string, id: number) =>
  queryOptions({
    queryKey: [...teamKey(team), 'details'],
    queryFn: ({ signal }) => bodyOf(corral.getTeam({ team_id: id }, { signal })),
  });

/** The newest entries of the audit log, for administrators. */
export const auditQuery = (team: string, query: AuditQuery) =>
  queryOptions({
    queryKey: [...teamKey(team), 'audit', query],
    queryFn: ({ signal }) => bodyOf(corral.listAudit({ team }, { query, signal })),
    // No event announces a new entry.
    staleTime: 10_000,
  });
