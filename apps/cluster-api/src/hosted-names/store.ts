import { type CreatorRow, includeCreator } from '@corral/cluster-data';
import type { HostedNameState, TeamId } from '@corral/contracts';
import { lockRows } from '@corral/database';
import { removalDueAt } from '@corral/domain';
import type { Transaction } from '../changes/team-changes.js';

export interface HostedNameRecord {
  readonly id: string;
  readonly name: string;
  /** Name of the cluster. */
  readonly cluster: string;
  readonly state: HostedNameState;
  readonly message: string;
  readonly dnsTokenId: string | null;
  readonly createdAt: Date;
  readonly creator: CreatorRow | null;
  readonly removalRequestedAt: Date | null;
  readonly checkedAt: Date | null;
}

const select = {
  id: true,
  name: true,
  state: true,
  message: true,
  dnsTokenId: true,
  createdAt: true,
  removalRequestedAt: true,
  checkedAt: true,
  cluster: { select: { name: true } },
  ...includeCreator,
} as const;

const recordOf = ({ cluster, state, ...row }: HostedNameRow): HostedNameRecord => ({
  ...row,
  cluster: cluster.name,
  state: state as HostedNameState,
});
type HostedNameRow = Omit<HostedNameRecord, 'cluster' | 'state'> & { cluster: { name: string }; state: string };

/** The names on the clusters of a team, by name. @param cluster name of the only cluster */
export async function listHostedNames(db: Transaction, teamId: TeamId, cluster?: string): Promise<HostedNameRecord[]> {
  const where = { teamId, ...(cluster === undefined ? {} : { cluster: { name: cluster } }) };
  return (await db.hostedName.findMany({ where, orderBy: { name: 'asc' }, select })).map(recordOf);
}

/** @returns null when the name is not on the cluster of that name */
export async function findHostedName(
  db: Transaction,
  teamId: TeamId,
  cluster: string,
  name: string,
): Promise<HostedNameRecord | null> {
  const row = await db.hostedName.findFirst({ where: { teamId, name, cluster: { name: cluster } }, select });
  return row && recordOf(row);
}

interface NewHostedName {
  readonly teamId: TeamId;
  readonly clusterId: string;
  readonly name: string;
  readonly createdById: string;
  readonly createdAt: Date;
}

/** It is due immediately. */
export async function insertHostedName(tx: Transaction, wanted: NewHostedName): Promise<HostedNameRecord> {
  return recordOf(await tx.hostedName.create({ data: { ...wanted, dueAt: wanted.createdAt }, select }));
}

/** Has its objects removed. The row goes with the last of them. */
export async function requestRemoval(
  tx: Transaction,
  teamId: TeamId,
  { id }: HostedNameRecord,
  now: Date,
): Promise<HostedNameRecord> {
  const where = { id, teamId };
  await lockRows(tx, 'hosted_name', { id, team_id: teamId });
  const { dueAt } = await tx.hostedName.findUniqueOrThrow({ where, select: { dueAt: true } });
  const data = {
    state: 'Removing',
    message: '',
    removalRequestedAt: now,
    dueAt: removalDueAt(dueAt, now),
    failures: 0,
  };
  return recordOf(await tx.hostedName.update({ where, data, select }));
}

/** Forgets a name of which nothing is in the cluster. */
export async function deleteHostedName(tx: Transaction, teamId: TeamId, { id }: HostedNameRecord): Promise<void> {
  await tx.hostedName.delete({ where: { id, teamId }, select: { id: true } });
}
