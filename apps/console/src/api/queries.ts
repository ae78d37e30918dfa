import type { DemoBody, Rrset, UsageStep } from '@corral/contracts';
import { queryOptions } from '@tanstack/react-query';
import { type Query, read, readAll } from './client.js';
import { dnsClientOf } from './dns-client.js';

/*
 * What pages read, one entry per resource. All keys of a team begin with `['team', slug]`. Live changes update the entries
 * (`live-cache.ts`), so none of them becomes stale by time.
 */

export const teamKey = (team: string) => ['team', team] as const;

export const meQuery = () =>
  queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => read('/api/v1/me/', {}, { signal }), retry: false });

export const sessionsQuery = () =>
  queryOptions({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => readAll('/api/v1/me/sessions/', {}, { signal }),
  });

export const receivedInvitationQuery = (id: string) =>
  queryOptions({
    queryKey: ['invitation', id],
    queryFn: ({ signal }) => read('/invitations/{id}/', { id }, { signal }),
    retry: false,
  });

export const clustersQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'clusters'],
    queryFn: ({ signal }) => readAll('/api/v1/teams/{team}/clusters/', { team }, { signal }),
  });

export const clusterQuery = (team: string, name: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'cluster', name],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/clusters/{name}/', { team, name }, { signal }),
  });

/** The newest operations; of one target when it is given by name or id. */
export const operationsQuery = (team: string, target?: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'operations', target ?? null],
    queryFn: async ({ signal }) => {
      const query = { limit: 50, target };
      const { items } = await read('/api/v1/teams/{team}/operations/', { team }, { query, signal });
      return items;
    },
  });

export const operationQuery = (team: string, id: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'operation', id],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/operations/{id}/', { team, id }, { signal }),
  });

/** @param connection its prices are shown; without it all prices are null */
export const catalogueQuery = (team: string, connection?: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'catalogue', connection ?? null],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/catalogue/', { team }, { query: { connection }, signal }),
    // No event announces a change of it.
    staleTime: 60_000,
  });

export const connectionsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'connections'],
    queryFn: async ({ signal }) => {
      const [page] = await read('/api/v1/teams/{team}/connections/', { team }, { signal });
      return page?.items ?? [];
    },
  });

export const connectionQuery = (team: string, ref: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'connection', ref],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/connections/{ref}/', { team, ref }, { signal }),
  });

export const serversQuery = (team: string, ref: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'servers', ref],
    queryFn: async ({ signal }) => {
      const path = '/api/v1/teams/{team}/connections/{ref}/adopted-servers/';
      const [page] = await read(path, { team, ref }, { signal });
      return page?.items ?? [];
    },
  });

export const dnsTokensQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dns-tokens'],
    queryFn: ({ signal }) => readAll('/api/v1/teams/{team}/dns-tokens/', { team }, { signal }),
  });

export const dnsUsageQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dns-usage'],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/dns-usage/', { team }, { signal }),
    staleTime: 30_000,
  });

/** The usage over time. @param id of the time shown; @param rangeOf its parameters when it is loaded */
export const usageQuery = (
  team: string,
  id: string,
  rangeOf: () => { readonly step: UsageStep; readonly from: string },
) =>
  queryOptions({
    queryKey: [...teamKey(team), 'usage', id],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/usage/', { team }, { query: rangeOf(), signal }),
    // No event announces a new record, which comes every five minutes.
    staleTime: 60_000,
    refetchInterval: 300_000,
  });

/** Endpoint and zone; the token is not part of it. */
export const dnsZoneQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'dns-zone'],
    queryFn: async () => {
      const { endpoint, zone } = await dnsClientOf(team).session();
      return { endpoint, zone };
    },
  });

/** The zone with its default TTL in seconds. */
export const zoneQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'zone'],
    queryFn: async ({ signal }) => {
      type ZoneBody = { readonly zone: { readonly name: string; readonly ttl: number } };
      const { body } = await dnsClientOf(team).request<ZoneBody>('GET', '/zones/{zone}', { signal });
      return { name: body.zone.name, ttl: body.zone.ttl };
    },
    // No event announces a change of it.
    staleTime: 60_000,
  });

export const rrsetsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'rrsets'],
    queryFn: ({ signal }): Promise<Rrset[]> => dnsClientOf(team).listRrsets(signal),
  });

/** Live demos. A team has few, so that one page has all of them. */
export const demosQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'demos'],
    queryFn: async ({ signal }): Promise<DemoBody[]> => {
      const { body } = await dnsClientOf(team).request<{ demos: DemoBody[] }>('GET', '/demos?per_page=50', { signal });
      return body.demos;
    },
    // No event announces their records and ends.
    refetchInterval: 15_000,
  });

export const membersQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'members'],
    queryFn: ({ signal }) => readAll('/a/{team_slug}/team/api/members/', { team_slug: team }, { signal }),
  });

export const invitationsQuery = (team: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'invitations'],
    queryFn: ({ signal }) => readAll('/a/{team_slug}/team/api/invitations/', { team_slug: team }, { signal }),
  });

/** The team with its subscription. @param id its number, which `me` shows */
export const teamQuery = (team: string, id: number) =>
  queryOptions({
    queryKey: [...teamKey(team), 'details'],
    queryFn: ({ signal }) => read('/teams/api/teams/{team_id}/', { team_id: id }, { signal }),
  });

/** The newest entries of the audit log, for administrators. */
export const auditQuery = (team: string, query: Query) =>
  queryOptions({
    queryKey: [...teamKey(team), 'audit', query],
    queryFn: ({ signal }) => read('/api/v1/teams/{team}/audit/', { team }, { query, signal }),
    // No event announces a new entry.
    staleTime: 10_000,
  });
