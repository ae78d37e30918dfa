import type { ClusterOperations, QueryOf } from '@corral/client';
import type { UsageStep } from '@corral/contracts';
import { queryOptions, type UseQueryOptions } from '@tanstack/react-query';
import { bodyOf, corral, itemsOf } from './corral.js';
import { dnsOf } from './dns-client.js';

/*
 * What pages read, one entry per resource. All keys of a team begin with `['team', slug]`. Live changes update the entries
 * (`live-cache.ts`), so none of them becomes stale by time.
 */

/** The filters of the audit log. */
export type AuditQuery = QueryOf<ClusterOperations['listAudit']>;

/** For what no event announces: it is loaded again when a page shows it after this time. */
const UNANNOUNCED_MS = 10_000;

export const teamKey = (team: string) => ['team', team] as const;

/** What is read of a team. @param key after that of the team */
export const ofTeam = <T>(
  team: string,
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<T>,
  more: Pick<UseQueryOptions<T>, 'staleTime' | 'refetchInterval' | 'retry' | 'gcTime'> = {},
) => queryOptions({ queryKey: [...teamKey(team), ...key], queryFn: ({ signal }) => read(signal), ...more });

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
  ofTeam(team, ['clusters'], (signal) => corral.listAll('listClusters', { team }, { signal }));

export const clusterQuery = (team: string, name: string) =>
  ofTeam(team, ['cluster', name], (signal) => bodyOf(corral.getCluster({ team, name }, { signal })));

/** The newest operations; of one target when it is given by name or id. */
export const operationsQuery = (team: string, target?: string) =>
  ofTeam(team, ['operations', target ?? null], (signal) =>
    itemsOf(corral.listOperations({ team }, { query: { limit: 50, target }, signal })),
  );

export const operationQuery = (team: string, id: string) =>
  ofTeam(team, ['operation', id], (signal) => bodyOf(corral.getOperation({ team, id }, { signal })));

/** @param connection its prices are shown; without it all prices are null */
export const catalogueQuery = (team: string, connection?: string) =>
  ofTeam(
    team,
    ['catalogue', connection ?? null],
    (signal) => bodyOf(corral.getCatalogue({ team }, { query: { connection }, signal })),
    { staleTime: 60_000 },
  );

export const connectionsQuery = (team: string) =>
  ofTeam(team, ['connections'], (signal) => corral.listAll('listConnections', { team }, { signal }));

export const connectionQuery = (team: string, ref: string) =>
  ofTeam(team, ['connection', ref], (signal) => bodyOf(corral.getConnection({ team, ref }, { signal })));

export const serversQuery = (team: string, ref: string) =>
  ofTeam(team, ['servers', ref], (signal) => corral.listAll('listAdoptedServers', { team, ref }, { signal }));

/** What the provider has now: no event announces a change of it. */
export const projectServersQuery = (team: string, ref: string) =>
  ofTeam(team, ['project-servers', ref], (signal) => itemsOf(corral.listProjectServers({ team, ref }, { signal })), {
    staleTime: 0,
  });

/** One of them, also beyond those that are listed. @param number as typed */
export const projectServerQuery = (team: string, ref: string, number: string) =>
  ofTeam(
    team,
    ['project-servers', ref, number],
    (signal) => bodyOf(corral.getProjectServer({ team, ref, server_id: Number(number) }, { signal })),
    { staleTime: 0, retry: false },
  );

export const dnsTokensQuery = (team: string) =>
  ofTeam(team, ['dns-tokens'], (signal) => corral.listAll('listDnsTokens', { team }, { signal }));

export const dnsUsageQuery = (team: string) =>
  ofTeam(team, ['dns-usage'], (signal) => bodyOf(corral.getDnsUsage({ team }, { signal })), { staleTime: 30_000 });

/** The record sets that lead to an address which is gone. */
export const danglingQuery = (team: string) =>
  ofTeam(team, ['dangling-record-sets'], (signal) => bodyOf(corral.listDanglingRecordSets({ team }, { signal })), {
    staleTime: 30_000,
  });

/** The last change of each record set. */
export const recordSetChangesQuery = (team: string) =>
  ofTeam(team, ['record-set-changes'], (signal) => itemsOf(corral.listRecordSetChanges({ team }, { signal })));

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
  ofTeam(team, ['demos'], async (signal) => (await dnsOf(team)).client.listAll('listDemos', {}, { signal }), {
    // No event announces their records and ends.
    refetchInterval: 15_000,
  });

export const membersQuery = (team: string) =>
  ofTeam(team, ['members'], (signal) => corral.listAll('listMembers', { team_slug: team }, { signal }));

export const invitationsQuery = (team: string) =>
  ofTeam(team, ['invitations'], (signal) => corral.listAll('listInvitations', { team_slug: team }, { signal }), {
    // No event announces that a mail was sent, or that an invitation was declined.
    staleTime: 10_000,
    refetchInterval: ({ state }) => (state.data?.some(({ mail_sent_at: sentAt }) => sentAt === null) ? 3_000 : false),
  });

export const accountsQuery = (team: string) =>
  ofTeam(team, ['service-accounts'], (signal) => itemsOf(corral.listServiceAccounts({ team }, { signal })), {
    staleTime: UNANNOUNCED_MS,
  });

export const accountTokensQuery = (team: string, account: string) =>
  ofTeam(
    team,
    ['service-accounts', account, 'tokens'],
    (signal) => itemsOf(corral.listAccountTokens({ team, account }, { signal })),
    { staleTime: UNANNOUNCED_MS },
  );

/** How they are doing changes without an event. */
export const webhooksQuery = (team: string) =>
  ofTeam(team, ['webhooks'], (signal) => itemsOf(corral.listWebhooks({ team }, { signal })), {
    refetchInterval: 5_000,
  });

export const issuersQuery = (team: string) =>
  ofTeam(team, ['trusted-issuers'], (signal) => itemsOf(corral.listTrustedIssuers({ team }, { signal })), {
    staleTime: UNANNOUNCED_MS,
  });

/** The team with its subscription. @param id its number, which `me` shows */
export const teamQuery = (team: string, id: number) =>
  ofTeam(team, ['details'], (signal) => bodyOf(corral.getTeam({ team_id: id }, { signal })));

/** The newest entries of the audit log, for administrators. */
export const auditQuery = (team: string, query: AuditQuery) =>
  ofTeam(team, ['audit', query], (signal) => bodyOf(corral.listAudit({ team }, { query, signal })), {
    staleTime: UNANNOUNCED_MS,
  });
