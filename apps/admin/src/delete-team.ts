import type { TeamRecord } from '@corral/auth';
import { listAddresses, removeConnection } from '@corral/cluster-data';
import { asConnectionId, clusterLimits } from '@corral/contracts';
import { lockRows, lockTeamChanges, readClock, type Transaction } from '@corral/database';
import { endDemosOfTeam, listPointingSets } from '@corral/dns-data';
import { addressesOfSets, type PointingSet, setsPointingTo } from '@corral/domain';
import { OperatorError } from './operator-error.js';

/** How much a team has, in the order in which people read it. */
export interface TeamPossessions {
  readonly clusters: number;
  readonly adoptedServers: number;
  readonly recordSets: number;
  /** DNS writes whose outcome is open: they may create a record set. */
  readonly openWrites: number;
  readonly demos: number;
  readonly dnsTokens: number;
  readonly connections: number;
  readonly serviceAccounts: number;
  readonly webhooks: number;
  readonly members: number;
  readonly invitations: number;
}

/** Counts what a team has. */
export async function countPossessions(db: Transaction, { id: teamId, slug }: TeamRecord): Promise<TeamPossessions> {
  const now = await readClock(db);
  const where = { teamId };
  return {
    clusters: await db.cluster.count({ where }),
    adoptedServers: await db.adoptedServer.count({ where }),
    recordSets: await db.dnsRrset.count({ where: { ownerLabel: slug, zone: { ofDemos: false } } }),
    openWrites: await db.dnsAuditEntry.count({ where: { teamId, demoId: null, state: 'pending' } }),
    demos: await db.demo.count({ where: { teamId, endedAt: null, expiresAt: { gt: now } } }),
    dnsTokens: await db.dnsToken.count({ where: { teamId, revokedAt: null } }),
    connections: await db.connection.count({ where }),
    serviceAccounts: await db.serviceAccount.count({ where }),
    webhooks: await db.webhook.count({ where }),
    members: await db.membership.count({ where }),
    invitations: await db.invitation.count({ where: { teamId, acceptedAt: null, revokedAt: null } }),
  };
}

/** The record sets of a team that lead to addresses which its clusters and servers have, or had. */
export async function listLeadingSets(db: Transaction, { id: teamId, slug }: TeamRecord): Promise<PointingSet[]> {
  const sets = await listPointingSets(db, slug);
  const known = await listAddresses(db, teamId, { addresses: addressesOfSets(sets) });
  const leading = setsPointingTo(sets, new Set(known.map(({ address }) => address)));
  return leading.slice(0, clusterLimits.pointingRecordSetsShown);
}

/** Why a team cannot be deleted yet: one sentence for each reason. */
export function obstaclesOf(
  { slug, suspendedAt }: TeamRecord,
  { clusters, adoptedServers, recordSets, openWrites }: TeamPossessions,
  keepRecords: boolean,
): string[] {
  const isSuspended = suspendedAt !== null;
  const first = isSuspended ? `run \`team resume ${slug}\` and ` : '';
  return [
    ...(isSuspended ? [] : [`Team ${slug} is not suspended: run \`team suspend ${slug}\`.`]),
    ...(clusters === 0 ? [] : [`It has clusters (${clusters}): ${first}let the team delete them.`]),
    ...(adoptedServers === 0
      ? []
      : [`It has adopted servers (${adoptedServers}): ${first}let the team deregister them.`]),
    ...(recordSets === 0 || keepRecords
      ? []
      : [`It has record sets (${recordSets}): ${first}let the team delete them, or leave them with --keep-records.`]),
    ...(openWrites === 0
      ? []
      : [`The outcome of DNS writes is open (${openWrites}): wait until a reconciler has settled them.`]),
  ];
}

export interface DeletedTeam {
  readonly had: TeamPossessions;
  readonly deletedAt: Date;
}

/**
 * Deletes a team: its access ends, and its slug is held. The row stays, because the logs refer to it.
 *
 * @throws OperatorError when the team still has something that this command does not delete, or is not suspended
 */
export async function deleteTeam(tx: Transaction, team: TeamRecord, keepRecords: boolean): Promise<DeletedTeam> {
  const teamId = team.id;
  const now = await lockTeamChanges(tx, teamId);
  // Waits for a DNS write that is about to begin. Later ones are refused, because the team is suspended.
  const { count } = await tx.team.updateMany({ where: { id: teamId, deletedAt: null }, data: { deletedAt: now } });
  const { suspendedAt, deletedAt } = await tx.team.findUniqueOrThrow({ where: { id: teamId } });
  if (count === 0) throw new OperatorError(`Team ${team.slug} was deleted on ${deletedAt?.toISOString()}.`);
  const had = await countPossessions(tx, team);
  const obstacles = obstaclesOf({ ...team, suspendedAt }, had, keepRecords);
  if (obstacles.length > 0) throw new OperatorError(obstacles.join(' '));
  await endDemosOfTeam(tx, teamId);
  await lockRows(tx, 'dns_token', { team_id: teamId, revoked_at: null });
  await tx.dnsToken.updateMany({ where: { teamId, revokedAt: null }, data: { revokedAt: now } });
  await tx.serviceAccount.deleteMany({ where: { teamId } });
  await tx.teamAddress.deleteMany({ where: { teamId } });
  await tx.webhook.deleteMany({ where: { teamId } });
  await tx.notification.deleteMany({ where: { teamId } });
  await tx.membership.deleteMany({ where: { teamId } });
  await tx.invitation.updateMany({ where: { teamId, revokedAt: null }, data: { revokedAt: now, mailDueAt: null } });
  const connections = await tx.connection.findMany({ where: { teamId }, orderBy: { id: 'asc' }, select: { id: true } });
  for (const { id } of connections) await removeConnection(tx, { teamId, id: asConnectionId(id), now });
  return { had, deletedAt: now };
}
