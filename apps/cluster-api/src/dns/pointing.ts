import { type AddressRecord, listAddresses } from '@corral/cluster-data';
import {
  type ChangeEffect,
  clusterLimits,
  type DanglingRecordSetListBody,
  isNarrowedToClusters,
  type PointingRecordSet,
} from '@corral/contracts';
import { listPointingSets } from '@corral/dns-data';
import {
  addressesOfSets,
  type DanglingSet,
  danglingSets,
  lostAddresses,
  type PointingSet,
  readableSets,
  setsPointingTo,
} from '@corral/domain';
import type { Caller } from '../changes/caller.js';
import type { Services } from '../services.js';

/* Finds the record sets that lead to the clusters and servers of the team. Callers see those that they may read. */

const most = clusterLimits.pointingRecordSetsShown;

/** The record sets that lead to addresses which a change takes from a cluster. @param cluster null for a new one */
export async function recordSetsLostBy(
  services: Services,
  caller: Caller,
  cluster: { readonly id: string } | null,
  effects: readonly ChangeEffect[],
): Promise<PointingRecordSet[]> {
  if (cluster === null || effects.length === 0) return [];
  const addresses = await listAddresses(services.prisma, caller.team.id, { clusterId: cluster.id });
  return setsLeadingTo(services, caller, lostAddresses(effects, addresses));
}

export async function recordSetsOfServer(
  services: Services,
  caller: Caller,
  server: { readonly id: string },
): Promise<PointingRecordSet[]> {
  return setsLeadingTo(services, caller, await listAddresses(services.prisma, caller.team.id, { serverId: server.id }));
}

/** The record sets that lead to an address which a cluster or a server had and which is gone. */
export async function listDanglingSets(services: Services, caller: Caller): Promise<DanglingRecordSetListBody> {
  const sets = await readSets(services, caller);
  const known = await listAddresses(services.prisma, caller.team.id, { addresses: addressesOfSets(sets) });
  return { items: danglingSets(sets, known).slice(0, most).map(danglingBody) };
}

async function setsLeadingTo(
  services: Services,
  caller: Caller,
  addresses: readonly AddressRecord[],
): Promise<PointingRecordSet[]> {
  if (addresses.length === 0) return [];
  const texts = new Set(addresses.map(({ address }) => address));
  return setsPointingTo(await readSets(services, caller), texts)
    .slice(0, most)
    .map(pointingBody);
}

/** An account that is narrowed to clusters reads only the names to which it is narrowed as well. */
async function readSets({ prisma }: Services, { team, account }: Caller): Promise<PointingSet[]> {
  const withinName = account?.dns.withinName ?? null;
  if (account !== null && withinName === null && isNarrowedToClusters(account)) return [];
  return readableSets(await listPointingSets(prisma, team.slug), { ownerLabel: team.slug, withinName });
}

const pointingBody = ({ zone, name, type, values }: PointingSet): PointingRecordSet => ({
  zone,
  name,
  type: type as PointingRecordSet['type'],
  values: [...values],
});

function danglingBody({ set, values }: DanglingSet<AddressRecord>): DanglingRecordSetListBody['items'][number] {
  const times = values.map(({ was }) => was.goneAt?.getTime() ?? 0);
  return {
    ...pointingBody({ ...set, values: values.map(({ value }) => value) }),
    goneAt: new Date(Math.max(...times)).toISOString(),
    reason: values.map(({ value, was }) => `${value} was ${wordsOf(was)} until ${dayOf(was)}.`).join(' '),
  };
}

function wordsOf({ kind, name, ownerName }: AddressRecord): string {
  switch (kind) {
    case 'node':
      return `the node ${name} of cluster ${ownerName}`;
    case 'loadBalancer':
      return `the load balancer ${name} of cluster ${ownerName}`;
    case 'server':
      return `server ${ownerName}`;
  }
}

const dayOf = ({ goneAt }: AddressRecord): string => goneAt?.toISOString().slice(0, 10) ?? '';
