import { isDeepStrictEqual } from 'node:util';
import { isManaged, nodeRangeOf } from '@corral/cluster-data';
import type {
  ChangeEffect,
  ClusterEffect,
  ClusterSpec,
  Condition,
  FieldChange,
  NodePoolSpec,
  PoolEffect,
} from '@corral/contracts';
import semver from 'semver';
import { hasWorkers, type PoolPointers } from '../../node-pools/rules.js';
import type { ClusterRecord } from '../store.js';
import { driftIn } from './declaration.js';
import { differencesOf, poolDifferencesOf } from './specification.js';

export interface EffectContext {
  /** The full version after the change. Null when it is not known yet. */
  readonly version: string | null;
  readonly pointers: PoolPointers;
}

/** The parts of a cluster that decide about its nodes, before or after a change. */
interface State {
  readonly spec: ClusterSpec;
  readonly version: string | null;
}

/**
 * Tells what an accepted specification does to a cluster and its nodes. The present state is the one that was declared
 * last, which a pass may still be working on.
 *
 * The garden replaces all nodes of a worker pool when its machine type, image or provider settings change, or the minor
 * version of Kubernetes. A patch version restarts the kubelets. (gardener: docs/usage/shoot-operations/shoot_updates.md)
 *
 * @param current null for a new cluster
 * @returns nothing when nothing changes
 */
export function effectsOf(
  current: ClusterRecord | null,
  desired: ClusterSpec,
  { version, pointers }: EffectContext,
): ChangeEffect[] {
  const after: State = { spec: desired, version };
  if (current === null) return [created(after), ...poolEffects(null, after, pointers)];
  const before: State = { spec: current.spec, version: presentVersionOf(current) };
  const repairs = driftIn(current).map((drift) => repaired(before, drift));
  if (differencesOf(current.spec, desired).length === 0) return repairs;
  return [
    ...clusterEffects(current, before, after, pointers),
    ...repairs,
    ...poolEffects({ ...before, current }, after, pointers),
  ];
}

/** Tells what the deletion of a cluster does. */
export function effectsOfDeletion(current: ClusterRecord): ChangeEffect[] {
  const deleted: ClusterEffect = {
    target: 'cluster',
    kind: 'deleted',
    kubernetesVersion: { before: presentVersionOf(current), after: null },
    fields: [],
    reason:
      current.startedAt === null
        ? 'The draft is deleted. It has no control plane.'
        : 'The control plane is deleted, with all volumes and load balancers of the cluster.',
  };
  return [deleted, ...current.spec.nodePools.map((pool) => removed(pool, current, []))];
}

/** The full version of a cluster: maintenance may have raised it above the pinned one. */
export function presentVersionOf({ pinnedVersion, observed }: ClusterRecord): string | null {
  const running = observed?.kubernetes?.version ?? null;
  if (pinnedVersion === null || running === null) return pinnedVersion ?? running;
  return semver.gt(running, pinnedVersion) ? running : pinnedVersion;
}

function created({ spec, version }: State): ClusterEffect {
  const kubernetesVersion = { before: null, after: version };
  return { target: 'cluster', kind: 'created', kubernetesVersion, fields: ['/spec'], reason: reasonToCreate(spec) };
}

function reasonToCreate(spec: ClusterSpec): string {
  if (!hasWorkers(spec)) return 'It is stored as a draft, which starts with its first managed nodes.';
  return spec.hibernated
    ? 'It is created hibernated, without managed nodes.'
    : 'Its control plane and its nodes are created.';
}

const repaired = ({ version }: State, { message }: Condition): ClusterEffect => ({
  target: 'cluster',
  kind: 'repaired',
  kubernetesVersion: { before: version, after: version },
  fields: [],
  reason: `${message} That is set back, and which nodes it replaces is not known here.`,
});

function clusterEffects(
  { startedAt }: ClusterRecord,
  before: State,
  after: State,
  { pools }: PoolPointers,
): ClusterEffect[] {
  const versions = { before: before.version, after: after.version };
  const effect = (kind: ClusterEffect['kind'], fields: string[], reason: string): ClusterEffect => ({
    target: 'cluster',
    kind,
    kubernetesVersion: versions,
    fields,
    reason,
  });
  const starts = startedAt === null && !hasWorkers(before.spec) && hasWorkers(after.spec);
  const started = effect(
    'started',
    [pools],
    'The draft gets its first managed nodes, so its control plane is created.',
  );
  const changes = differencesOf(before.spec, after.spec).filter(isOfCluster);
  return [
    ...(starts ? [started] : []),
    ...changes.map((change) => {
      const { kind, reason } = clusterEffectOf(change, { isStarted: startedAt !== null, versions });
      return effect(kind, [change.pointer], reason);
    }),
  ];
}

/** A new order of the pools concerns the cluster, everything else below `nodePools` one pool. */
const isOfCluster = ({ pointer }: FieldChange): boolean => !pointer.startsWith('/spec/nodePools/');

function clusterEffectOf(
  { pointer, to }: FieldChange,
  { isStarted, versions }: { isStarted: boolean; versions: ClusterEffect['kubernetesVersion'] },
): { kind: ClusterEffect['kind']; reason: string } {
  const updated = (reason: string) => ({ kind: 'updated', reason }) as const;
  if (pointer === '/spec/hibernated') {
    const later = isStarted ? '' : ' This takes effect when it starts.';
    return to === true
      ? { kind: 'hibernated', reason: `Control plane and managed nodes are shut down. Volumes stay.${later}` }
      : { kind: 'resumed', reason: `Control plane and managed nodes are created again.${later}` };
  }
  if (pointer === '/spec/kubernetesVersion') {
    if (!isStarted) return updated('The cluster will start with this version.');
    if (versions.before === versions.after) return updated('The version in use stays the same.');
    return isMinorUpgrade(versions)
      ? { kind: 'upgraded', reason: 'The control plane is upgraded first, then all managed nodes are replaced.' }
      : { kind: 'upgraded', reason: 'A patch version: the control plane is upgraded, and no node is replaced.' };
  }
  if (pointer === '/spec/plan') return updated('The plan changes. Control plane and nodes stay.');
  if (pointer === '/spec/deletionProtection') {
    return updated(to === true ? 'The cluster cannot be deleted.' : 'The cluster can be deleted.');
  }
  if (pointer === '/spec/hibernationSchedule') {
    return updated(
      to === null
        ? 'The cluster stays as it is until somebody hibernates or resumes it.'
        : 'The cluster hibernates and resumes at the times of the schedule, the first time at the next of them.',
    );
  }
  if (pointer === '/spec/nodePools') return updated('The order of the node pools changes. Their nodes stay.');
  if (!isStarted) return updated('This takes effect when the cluster starts.');
  return pointer === '/spec/controlPlaneHA'
    ? updated('The control plane becomes highly available. This cannot be undone.')
    : updated('The declaration changes. Control plane and nodes stay.');
}

/** An unknown version counts as another minor version: a plan must not promise that nodes stay. */
function isMinorUpgrade({ before, after }: ClusterEffect['kubernetesVersion']): boolean {
  if (before === after) return false;
  if (before === null || after === null) return true;
  return semver.major(before) !== semver.major(after) || semver.minor(before) !== semver.minor(after);
}

type Before = State & { readonly current: ClusterRecord };

function poolEffects(before: Before | null, after: State, pointers: PoolPointers): PoolEffect[] {
  const oldPools = before?.spec.nodePools ?? [];
  const effects = after.spec.nodePools.map((pool, index) => {
    const place = pointers.pool(index);
    const old = oldPools.find(({ name }) => name === pool.name);
    if (before === null || old === undefined) return added(pool, after.spec, place);
    return changed(old, pool, { before, after, place });
  });
  const gone = [...oldPools.entries()].filter(([, old]) => after.spec.nodePools.every(({ name }) => name !== old.name));
  return [...effects, ...gone.map(([index, old]) => removed(old, (before as Before).current, [pointers.pool(index)]))];
}

function added(pool: NodePoolSpec, spec: ClusterSpec, place: string): PoolEffect {
  const nodes = { before: null, after: rangeOf(pool, spec) };
  return {
    target: 'nodePool',
    pool: pool.name,
    kind: 'added',
    nodes,
    fields: [place],
    reason: reasonToAdd(pool, spec),
  };
}

function reasonToAdd(pool: NodePoolSpec, { hibernated }: ClusterSpec): string {
  if (pool.maximum === 0) return 'A maximum of 0 gives the pool no nodes.';
  if (!isManaged(pool)) return 'Adopted servers join the cluster.';
  return hibernated ? 'Its nodes are created when the cluster resumes.' : 'New nodes are created.';
}

function removed(pool: NodePoolSpec, { spec, startedAt }: ClusterRecord, fields: string[]): PoolEffect {
  const nodes = { before: rangeOf(pool, spec), after: null };
  const reason = reasonToRemove(pool, nodes.before, startedAt !== null);
  return { target: 'nodePool', pool: pool.name, kind: 'removed', nodes, fields, reason };
}

function reasonToRemove(pool: NodePoolSpec, { maximum }: Range, isStarted: boolean): string {
  if (!isStarted || maximum === 0) return 'It has no nodes now.';
  return isManaged(pool)
    ? 'Its nodes are drained and deleted, with all data on their disks.'
    : 'Its adopted servers are drained and leave the cluster. Pooled servers are rebuilt: the data on their disks is lost.';
}

interface PoolChange {
  readonly before: Before;
  readonly after: State;
  /** JSON pointer to the pool. */
  readonly place: string;
}

function changed(old: NodePoolSpec, pool: NodePoolSpec, { before, after, place }: PoolChange): PoolEffect {
  const nodes = { before: rangeOf(old, before.spec), after: rangeOf(pool, after.spec) };
  const own = poolDifferencesOf(old, pool).map(({ pointer }) => `${place}${pointer.slice('/spec'.length)}`);
  const hibernation = isManaged(pool) && before.spec.hibernated !== after.spec.hibernated ? ['/spec/hibernated'] : [];
  const replacing = causesOfReplacement(old, pool, { before, after, place });
  const upgrade = isManaged(pool) && upgradesNodes(before, after) ? ['/spec/kubernetesVersion'] : [];
  const scales = !isSameRange(nodes.before, nodes.after);
  // Before the first pass, while hibernated and below a maximum of one there are no nodes to replace or update.
  const staysUp = before.current.startedAt !== null && Math.min(nodes.before.maximum, nodes.after.maximum) > 0;
  const effect = (kind: PoolEffect['kind'], fields: readonly string[], reason: string): PoolEffect => ({
    target: 'nodePool',
    pool: pool.name,
    kind,
    nodes,
    fields: [...new Set(fields)],
    reason,
  });
  if (staysUp && replacing.length > 0) {
    return effect('replaced', [...own, ...replacing], 'A rolling update replaces every node. Each is drained first.');
  }
  const causes = [...own, ...(scales ? hibernation : []), ...(staysUp ? upgrade : [])];
  if (scales) return effect('scaled', causes, reasonToScale(pool, nodes, hibernation.length > 0));
  if (staysUp && upgrade.length > 0)
    return effect('updated', causes, 'Each kubelet restarts with the new patch version.');
  if (causes.length > 0) return effect('updated', causes, staysUp ? 'The nodes stay.' : 'It has no nodes now.');
  return effect('kept', [], isManaged(pool) ? 'Nothing changes.' : 'The garden does not replace adopted servers.');
}

const upgradesNodes = (before: State, after: State): boolean =>
  before.spec.kubernetesVersion !== after.spec.kubernetesVersion && before.version !== after.version;

/** JSON pointers to the fields whose change makes the garden replace every node of the pool. */
function causesOfReplacement(old: NodePoolSpec, pool: NodePoolSpec, { before, after, place }: PoolChange): string[] {
  if (!isManaged(pool)) return [];
  const versions = { before: before.version, after: after.version };
  const seen = before.current.observed?.nodePools?.find(({ name }) => name === pool.name)?.image ?? null;
  return [
    ...(old.machineType === pool.machineType ? [] : [`${place}/machineType`]),
    ...(imageReplacesNodes(old.image, pool.image, seen) ? [`${place}/image`] : []),
    ...(old.publicIP === pool.publicIP ? [] : [`${place}/publicIP`]),
    ...(upgradesNodes(before, after) && isMinorUpgrade(versions) ? ['/spec/kubernetesVersion'] : []),
  ];
}

type Range = NonNullable<PoolEffect['nodes']['before']>;

function reasonToScale(
  pool: NodePoolSpec,
  { before, after }: { readonly before: Range; readonly after: Range },
  isHibernation: boolean,
): string {
  if (!isManaged(pool)) {
    return after.maximum > before.maximum
      ? 'More adopted servers join the cluster.'
      : 'Some adopted servers are drained and leave the cluster. Pooled servers are rebuilt: the data on their disks is lost.';
  }
  if (after.maximum === 0) {
    return isHibernation
      ? 'Its nodes are deleted until the cluster resumes.'
      : 'Its nodes are drained and deleted, with all data on their disks.';
  }
  if (before.maximum === 0) return 'Its nodes are created.';
  return 'The autoscaler keeps the number of nodes within the new range.';
}

function rangeOf(pool: NodePoolSpec, spec: ClusterSpec): Range {
  const [minimum, maximum] = nodeRangeOf(pool, spec.hibernated);
  return { minimum, maximum };
}

const isSameRange = (one: Range, other: Range): boolean =>
  one.minimum === other.minimum && one.maximum === other.maximum;

/** The image that the garden reports for the nodes of a pool. */
interface SeenImage {
  readonly name: string;
  readonly version: string;
}

/**
 * Whether another declared image replaces nodes. The garden keeps the image in use when the declaration names none, and
 * its version when the declaration names the same image without a version.
 *
 * @param seen null when the garden has not reported the image. Then what the old declaration leaves open is unknown, and
 *   a new value counts as another one: a plan must not promise that nodes stay
 */
function imageReplacesNodes(
  old: NodePoolSpec['image'],
  desired: NodePoolSpec['image'],
  seen: SeenImage | null,
): boolean {
  if (isDeepStrictEqual(old, desired)) return false;
  // Image options go to the provider's extension as they are, which may include them in its hash of the pool.
  if (!isDeepStrictEqual(optionsOf(old), optionsOf(desired))) return true;
  const name = seen?.name ?? old.name;
  const version = seen?.version ?? old.version;
  if (desired.name === undefined) return false;
  if (desired.name !== name) return true;
  return desired.version !== undefined && desired.version !== version;
}

function optionsOf({ name: _name, version: _version, ...options }: NodePoolSpec['image']): object {
  return options;
}
