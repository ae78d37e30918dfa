import { type ClusterId, canonicalAddress, type ServerId, type TeamId } from '@corral/contracts';
import { readClock, type Transaction } from '@corral/database';

/* The addresses at which clusters and adopted servers of a team can be reached from outside, or could be. */

export type AddressKind = 'node' | 'loadBalancer' | 'server';

export interface FoundAddress {
  /** The address as the cluster or the provider states it. */
  readonly address: string;
  readonly kind: AddressKind;
  /** The name of the node; namespace and name of the Service or Ingress; the name of the server. */
  readonly name: string;
  /** The pool of a node; null for others. */
  readonly pool: string | null;
}

/** An address in canonical form, of a cluster or a server that may be gone itself. */
export interface AddressRecord extends FoundAddress {
  /** The name of the cluster or the server. */
  readonly ownerName: string;
  /** Null while it is there. */
  readonly goneAt: Date | null;
}

export type AddressOwner = {
  readonly teamId: TeamId;
  readonly name: string;
} & ({ readonly clusterId: ClusterId } | { readonly serverId: ServerId });

/**
 * Records all addresses that a cluster or a server has. Those that it had and that were not found are gone from then on.
 *
 * @param tx holds the row of the cluster or the server
 */
export async function recordAddresses(
  tx: Transaction,
  { teamId, name: ownerName, ...owner }: AddressOwner,
  found: readonly FoundAddress[],
): Promise<void> {
  const byAddress = new Map(
    found.flatMap(({ address: stated, ...of }) => {
      const address = canonicalAddress(stated);
      return address === null ? [] : [[address, { ...of, ownerName, goneAt: null }]];
    }),
  );
  const there = [...byAddress.keys()];
  const known = await tx.teamAddress.findMany({
    where: { teamId, ...owner, OR: [{ goneAt: null }, { address: { in: there } }] },
    select: { id: true, address: true, kind: true, name: true, pool: true, ownerName: true, goneAt: true },
  });
  const gone = known.filter(({ address }) => !byAddress.has(address)).map(({ id }) => id);
  if (gone.length > 0) await markGone(tx, { teamId, id: { in: gone } });
  for (const { id, address, ...before } of known) {
    const data = byAddress.get(address);
    byAddress.delete(address);
    if (data !== undefined && !isSame(before, data)) await tx.teamAddress.update({ where: { id, teamId }, data });
  }
  const added = [...byAddress].map(([address, data]) => ({ teamId, ...owner, address, ...data }));
  if (added.length > 0) await tx.teamAddress.createMany({ data: added, skipDuplicates: true });
}

type Shown = Omit<AddressRecord, 'address' | 'kind'> & { readonly kind: string };

const isSame = (a: Shown, b: Shown): boolean =>
  a.kind === b.kind &&
  a.name === b.name &&
  a.pool === b.pool &&
  a.ownerName === b.ownerName &&
  a.goneAt?.getTime() === b.goneAt?.getTime();

/** A cluster without its nodes keeps only its load balancers. */
export const endNodeAddresses = (db: Transaction, teamId: TeamId, clusterId: ClusterId): Promise<void> =>
  markGone(db, { teamId, clusterId, kind: 'node' });

/** Ends the addresses of a deleted cluster, in the transaction that has deleted it. */
export const endAddressesOfDeleted = (tx: Transaction, teamId: TeamId): Promise<void> =>
  markGone(tx, { teamId, clusterId: null, serverId: null });

type Where = NonNullable<Parameters<Transaction['teamAddress']['updateMany']>[0]>['where'];

async function markGone(db: Transaction, where: Where): Promise<void> {
  await db.teamAddress.updateMany({ where: { ...where, goneAt: null }, data: { goneAt: await readClock(db) } });
}

/** Selects the addresses of a team to list. */
export type AddressQuery =
  /** Those that a cluster or a server has. */
  | { readonly clusterId: string }
  | { readonly serverId: string }
  /** Those of the whole team among these, also gone ones. */
  | { readonly addresses: readonly string[] };

export async function listAddresses(db: Transaction, teamId: TeamId, query: AddressQuery): Promise<AddressRecord[]> {
  const where = 'addresses' in query ? { address: { in: [...query.addresses] } } : { ...query, goneAt: null };
  const rows = await db.teamAddress.findMany({
    where: { teamId, ...where },
    orderBy: { address: 'asc' },
    select: { address: true, kind: true, name: true, pool: true, ownerName: true, goneAt: true },
  });
  return rows.map((row) => ({ ...row, kind: row.kind as AddressKind }));
}
