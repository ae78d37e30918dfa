import { revokeDnsToken } from '@corral/auth';
import { clusterLimits } from '@corral/contracts';
import { type HostedNameRefusal, refusalOfHostedName } from '@corral/domain';
import { recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import type { Transaction } from '../changes/team-changes.js';
import { type ClusterRecord, findCluster } from '../clusters/store.js';
import { withCurrentRole } from '../dns/store.js';
import { found, invalidField, Problem } from '../problem.js';
import type { Services } from '../services.js';
import {
  deleteHostedName,
  findHostedName,
  type HostedNameRecord,
  insertHostedName,
  listHostedNames,
  requestRemoval,
} from './store.js';

interface WantedName {
  readonly cluster: string;
  readonly name: string;
}

/**
 * Puts a name of the team on a cluster. The reconciler installs what it needs.
 *
 * @throws Problem `not_found`, `validation_failed`, `name_taken`, `quota_exceeded`, `cluster_deleting`
 */
export async function addHostedName(
  { changeTeam, wake }: Services,
  by: PersonCaller,
  wanted: WantedName,
): Promise<HostedNameRecord> {
  const added = await changeTeam(by, async (tx, now) => {
    const caller = await withCurrentRole(tx, by);
    const { id: clusterId, name: cluster } = await clusterForName(tx, caller, wanted);
    const { team, userId } = caller;
    const { name } = wanted;
    const inserted = await insertHostedName(tx, {
      teamId: team.id,
      clusterId,
      name,
      createdById: userId,
      createdAt: now,
    });
    const target = { kind: 'Cluster', id: clusterId, name: cluster };
    await recordAudit(tx, caller, { action: 'cluster.add_name', target, detail: { name } }, now);
    return inserted;
  });
  wake.names();
  return added;
}

/** What `addHostedName` would add, if it were asked now. @throws Problem as it does */
export async function planHostedName(
  { prisma }: Services,
  caller: PersonCaller,
  wanted: WantedName,
  now: Date,
): Promise<HostedNameRecord> {
  await clusterForName(prisma, caller, wanted);
  const unknown = { id: '', dnsTokenId: null, creator: null, removalRequestedAt: null, checkedAt: null };
  return { ...wanted, ...unknown, state: 'Pending', message: '', createdAt: now };
}

async function clusterForName(
  db: Transaction,
  { team }: PersonCaller,
  { cluster: clusterName, name }: WantedName,
): Promise<ClusterRecord> {
  const cluster = found(await findCluster(db, team.id, clusterName));
  const taken = await listHostedNames(db, team.id);
  const refusal = refusalOfHostedName(name, team.slug, taken);
  if (refusal !== null) throw problemOf(refusal, team.slug);
  if (cluster.deletionRequestedAt !== null) {
    throw new Problem('cluster_deleting', `Cluster ${clusterName} is being deleted. Put the name on another cluster.`);
  }
  const most = clusterLimits.hostedNamesPerCluster;
  if (taken.filter((each) => each.cluster === clusterName).length >= most) {
    throw new Problem(
      'quota_exceeded',
      `Cluster ${clusterName} has ${most} names, which is the limit. Remove one first.`,
    );
  }
  return cluster;
}

function problemOf(refusal: HostedNameRefusal, slug: string): Problem {
  if (refusal.kind === 'foreign') {
    return invalidField('validation_failed', '/name', `must be "${slug}" or a name below it`);
  }
  const { name, cluster } = refusal.by;
  return new Problem(
    'name_taken',
    `The name overlaps with ${name} on cluster ${cluster}. Remove that first, and wait until it is gone.`,
    {
      errors: [{ pointer: '/name', message: `overlaps with ${name} on cluster ${cluster}` }],
    },
  );
}

/**
 * Takes a name off a cluster. Its DNS token ends with the request; the reconciler removes the objects. Repeating it changes nothing.
 *
 * @throws Problem `not_found`
 */
export async function removeHostedName(
  { changeTeam, wake }: Services,
  by: PersonCaller,
  { cluster, name }: WantedName,
): Promise<HostedNameRecord> {
  const removed = await changeTeam(by, async (tx, now) => {
    const caller = await withCurrentRole(tx, by);
    const { team } = caller;
    const known = found(await findHostedName(tx, team.id, cluster, name));
    if (known.removalRequestedAt !== null) return known;
    // The row first: a pass that replaces the token locks it before the token.
    const removing = await requestRemoval(tx, team.id, known, now);
    if (removing.dnsTokenId !== null) await revokeDnsToken(tx, team, removing.dnsTokenId, caller);
    // Nothing is put into a cluster before there is a token.
    else if (removing.checkedAt === null) await deleteHostedName(tx, team.id, removing);
    const { id } = found(await findCluster(tx, team.id, cluster));
    const target = { kind: 'Cluster', id, name: cluster };
    await recordAudit(tx, caller, { action: 'cluster.remove_name', target, detail: { name } }, now);
    return removing;
  });
  wake.names();
  return removed;
}
