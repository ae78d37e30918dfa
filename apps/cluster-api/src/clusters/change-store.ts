import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { cancelOperations, lockCluster, type OperationRecord } from '@corral/cluster-data';
import {
  type AuditAction,
  asClusterId,
  type ClusterId,
  type ClusterSpec,
  type ConnectionId,
  type FieldChange,
  type OperationId,
  sleepsAt,
} from '@corral/contracts';
import { isUniqueViolation } from '@corral/database';
import { type AuditDetail, recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { type Claims, claimsDetail } from '../node-pools/claim-servers.js';
import { releaseServers } from '../node-pools/store.js';
import { beginOperation } from '../operations/store.js';
import type { Services } from '../services.js';
import type { AcceptedDeclaration, AcceptedStatus } from './rules/declaration.js';
import { deletionOf } from './rules/specification.js';
import { type ClusterRecord, type ClusterView, findCluster, viewCluster } from './store.js';

/** Attempts before a collision of generated names is reported. One collision is already unlikely. */
const ATTEMPTS_MAX = 3;

/**
 * Runs `work` in one transaction that locks the team's changes, then the cluster. Changes of one team are serialized,
 * so quotas and unique names hold. An error rolls everything back. `work` may run again after a collision of
 * generated names, so it must not make outside calls.
 */
export async function changeCluster<T>(
  { changeTeam }: Services,
  caller: Caller,
  name: string,
  work: (locked: ClusterView) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await changeTeam(caller, async (tx, now) => {
        await lockCluster(tx, caller.team.id, name);
        return work({ ...(await viewCluster(tx, caller, name)), now, isLocked: true });
      });
    } catch (error) {
      // The team's lock excludes other changes of its names, so only generated names can collide. A retry generates
      // new ones.
      if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
    }
  }
}

export interface AcceptedChange {
  readonly operationId: OperationId;
  /** Its operation, generation and hash. */
  readonly declaration: Omit<AcceptedDeclaration, 'kind'>;
  readonly effect: Effect;
  /** The status shown until a pass observes the cluster. */
  readonly shown: AcceptedStatus;
  /** The adopted servers that the change claims and releases. */
  readonly claims: Claims;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** What the change does to the declaration, for the audit log. */
  readonly changes: readonly FieldChange[] | null;
  readonly detail?: AuditDetail | undefined;
}

type Effect =
  | {
      readonly kind: 'declare';
      readonly spec: ClusterSpec;
      /** Autoscaler priorities of the node pools, by name. */
      readonly priorities: ReadonlyMap<string, number>;
      readonly connectionId: ConnectionId;
    }
  /** Tries the unchanged specification again. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'delete' };

type Declared = Extract<Effect, { kind: 'declare' }>;

/** A cluster after an accepted change, and the operation that carries it out. */
export interface Accepted {
  readonly cluster: ClusterRecord;
  readonly operation: OperationRecord;
}

/** Writes an accepted change, its operation and the audit entry, and ends superseded operations. */
export async function acceptChange(locked: ClusterView, accepted: AcceptedChange): Promise<Accepted> {
  const { db, caller, name, current, now } = locked;
  const { operationId: id, declaration, effect, claims, action, changes, detail } = accepted;
  if (current === null && effect.kind !== 'declare') {
    throw new Error(`A cluster that does not exist cannot be changed: ${effect.kind}`);
  }
  const clusterId = current?.id ?? asClusterId(randomUUID());
  await writeCluster(locked, clusterId, accepted);
  await releaseServers(db, { teamId: caller.team.id, now }, claims.released);
  if (effect.kind === 'declare') await writePools(locked, clusterId, effect, claims);
  const { operation: kind, generation, desiredHash, isDraft: isDone } = declaration;
  const operation = await beginOperation(
    db,
    caller,
    { id, kind, generation, desiredHash, isDone, now, supersedes: current !== null },
    {
      action,
      target: { kind: 'Cluster', id: clusterId, name },
      changes,
      detail: { ...claimsDetail(claims), ...detail },
    },
  );
  const cluster = await findCluster(db, caller.team.id, name);
  return { cluster: cluster as ClusterRecord, operation };
}

/** Writes its row. `due_at` is the outbox: the sweep finds the cluster by it even when the wake-up is lost. */
async function writeCluster(
  { db, caller: { team }, name, current, now }: ClusterView,
  id: ClusterId,
  { declaration: { generation, desiredHash, isDraft }, effect, shown: { phase, conditions } }: AcceptedChange,
): Promise<void> {
  const row = {
    generation,
    desiredHash,
    phase,
    conditions: conditions as object,
    dueAt: isDraft ? null : now,
    updatedAt: now,
  };
  if (effect.kind === 'declare' && current === null) {
    const { spec, connectionId } = effect;
    const data = {
      ...row,
      id,
      teamId: team.id,
      name,
      connectionId,
      spec: storedSpec(spec),
      ...asleepOf(null, spec, now),
      createdAt: now,
    };
    await db.cluster.create({ data, select: { id: true } });
    return;
  }
  await db.cluster.update({
    where: { id, teamId: team.id },
    data: {
      ...row,
      revision: { increment: 1 },
      ...(effect.kind === 'declare' && { spec: storedSpec(effect.spec), ...asleepOf(current, effect.spec, now) }),
      ...(effect.kind === 'delete' && { deletionRequestedAt: now }),
    },
    select: { id: true },
  });
}

/**
 * What the schedule has now, so that what the team declares holds until its next time. Not for a change of anything else, which must not
 * swallow a time that has just come.
 */
function asleepOf(current: ClusterRecord | null, { hibernated, hibernationSchedule }: ClusterSpec, now: Date) {
  const { spec } = current ?? {};
  const isSame = spec?.hibernated === hibernated && isDeepStrictEqual(spec.hibernationSchedule, hibernationSchedule);
  if (isSame) return {};
  return { asleepBySchedule: hibernationSchedule === undefined ? null : sleepsAt(hibernationSchedule, now) };
}

/** Node pools have their own rows. */
const storedSpec = ({ nodePools: _, ...spec }: ClusterSpec): object => spec;

/** Writes its pools and assigns claimed servers to them. A remaining pool keeps its row and with it its name on the garden. */
async function writePools(
  { db, caller: { team }, now }: ClusterView,
  clusterId: ClusterId,
  { spec: { nodePools }, priorities }: Declared,
  { claimed }: Claims,
): Promise<void> {
  const teamId = team.id;
  await db.nodePool.deleteMany({ where: { teamId, clusterId, name: { notIn: nodePools.map(({ name }) => name) } } });
  for (const [position, { name, image, publicIP: publicIp, ...pool }] of nodePools.entries()) {
    const autoscalerPriority = priorities.get(name) ?? 0;
    const columns = { ...pool, image: image as object, publicIp, position, autoscalerPriority, updatedAt: now };
    const { id: nodePoolId } = await db.nodePool.upsert({
      where: { clusterId_name: { clusterId, name } },
      create: { teamId, clusterId, name, createdAt: now, ...columns },
      update: columns,
      select: { id: true },
    });
    const servers = claimed.filter(({ nodePool }) => nodePool === name).map(({ server }) => server.id);
    if (servers.length === 0) continue;
    const claim = { nodePoolId, dueAt: now, updatedAt: now };
    await db.adoptedServer.updateMany({ where: { teamId, id: { in: servers } }, data: claim });
  }
}

/** Deletes a cluster that the garden does not know, and cancels its operations. */
export async function removeDraft(
  { db, caller, now }: ClusterView,
  draft: ClusterRecord,
  claims: Claims,
): Promise<void> {
  const { id: clusterId, name } = draft;
  const teamId = caller.team.id;
  await cancelOperations(db, { teamId, targetId: clusterId, now });
  await releaseServers(db, { teamId, now }, claims.released);
  await db.cluster.delete({ where: { id: clusterId, teamId }, select: { id: true } });
  await recordAudit(db, caller, {
    action: 'cluster.delete',
    target: { kind: 'Cluster', id: clusterId, name },
    changes: deletionOf(draft),
    detail: { draft: true, ...claimsDetail(claims) },
  });
}
