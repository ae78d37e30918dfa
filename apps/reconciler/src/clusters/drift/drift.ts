import { cutText } from '@corral/contracts';
import { type FieldManager, otherManagersOf } from '@corral/garden';
import semver from 'semver';
import { isApplied } from '../decide/shoot-runs.js';
import type { Desired } from '../model.js';
import type { ShootFacts, WorkerFacts } from '../observe.js';
import { autoUpdate, imageOptions, renderedMinimum, renderedPools } from '../render.js';

/** A difference between the declaration and the Shoot after the declaration was applied. */
export interface Drift {
  readonly field: ApiField;
  /** The manager that owns the field now, or null when there is none or it is unknown. */
  readonly manager: string | null;
  readonly kind: DriftKind;
  readonly values?: Values | undefined;
}

/** What was declared, and what is there. */
interface Values {
  readonly wanted: Value;
  readonly present: Value;
}
type Value = string | number | boolean | null;

/**
 * `changed`: a declared field has another value; an operation waits for it, and a field without an owner is reverted.
 * `irreversible`: it cannot be reverted, so no operation waits. `added`: an undeclared pool, next to all declared ones.
 */
type DriftKind = 'changed' | 'irreversible' | 'added';

interface Difference {
  /** Field path as the garden writes it. */
  readonly path: string;
  readonly isFinal?: boolean;
  /** Absent where they mean nothing to the team. */
  readonly values?: Values;
}

/**
 * What other managers changed since the current declaration was applied. Values that the garden itself altered in that
 * write do not count, so an apply never triggers another one.
 */
export function driftOf(desired: Desired, facts: ShootFacts): Drift[] {
  if (!isApplied(desired, facts)) return [];
  const isNewer = facts.generation > (desired.known.appliedShootGeneration ?? 0);
  const changed = differences(desired, facts).flatMap(({ path, isFinal = false, values }): Drift[] => {
    const [holder] = otherManagersOf(facts.managers, path);
    if (holder === undefined && !isNewer) return [];
    const field = apiFieldOf(path, desired) ?? ownField(path);
    return [{ field, manager: managerOf(holder), kind: isFinal ? 'irreversible' : 'changed', values }];
  });
  return [...changed, ...addedPools(desired, facts)];
}

function addedPools({ pools }: Desired, { workers, managers }: ShootFacts): Drift[] {
  const declared = new Set(renderedPools(pools).map(({ workerName }) => workerName));
  return workers
    .filter(({ name }) => !declared.has(name))
    .map(({ name }) => ({ field: addedPool(name), manager: managerOf(adderOf(managers, name)), kind: 'added' }));
}

/** Field of a pool that exists only in the garden, by its name there. */
export const addedPool = (worker: string): ApiField => ({
  pointer: '/spec/nodePools',
  name: `node pool ${shownName(worker)}`,
});

/** Field path as the garden writes it. */
export const workerPath = (worker: string): string => `.spec.provider.workers[name="${worker}"]`;

/** The manager that added a pool, or undefined when it is unknown. */
export function adderOf(managers: readonly FieldManager[], worker: string): FieldManager | undefined {
  const path = workerPath(worker);
  return otherManagersOf(managers, `${path}.name`)[0] ?? otherManagersOf(managers, path).at(-1);
}

const managerOf = (holder: FieldManager | undefined): string | null =>
  holder === undefined ? null : shownName(holder.manager);

/** Drift without an owner: the manager released the field, or no manager is known. */
export const isUnowned = ({ manager, kind }: Drift): boolean => manager === null && kind === 'changed';

/** Drift that keeps an operation from succeeding. */
export const blocksOperation = ({ kind }: Drift): boolean => kind === 'changed';

/** Drift that the team's next declaration reverts. */
export const isRevertible = ({ kind }: Drift): boolean => kind !== 'irreversible';

export function driftSentence(drift: readonly Drift[]): string {
  const [changed, added] = [namesOf(drift.filter(({ kind }) => kind !== 'added')), namesOf(drift.filter(isAdded))];
  const said = [
    changed && `Another manager changed fields that are declared here: ${changed}.`,
    added && `Another manager added fields that are not declared here: ${added}.`,
  ];
  return said.filter((each) => each !== '').join(' ');
}

const isAdded = ({ kind }: Drift): boolean => kind === 'added';

function namesOf(drift: readonly Drift[]): string {
  const named = drift.map(({ field, manager, values }) => {
    const shown = values === undefined ? '' : ` is ${valueText(values.present)} instead of ${valueText(values.wanted)}`;
    return `${field.name}${shown}${manager === null ? '' : ` (${manager})`}`;
  });
  return [...new Set(named)].join(', ');
}

const valueText = (value: Value): string => (value === null ? 'absent' : shownName(String(value)));

/** Managers choose these names freely, and teams read them. */
export function shownName(name: string): string {
  return cutText(name.replace(/[^\x21-\x7e]/g, '?'), 64, '…');
}

function differences(desired: Desired, facts: ShootFacts): Difference[] {
  const { spec, pools } = desired;
  const { kubernetesVersion, maintenance } = facts;
  const wanted = autoUpdate(pools);
  const { existingNetwork = null } = spec.network;
  const found: (Difference | false)[] = [
    facts.hibernation.desired !== spec.hibernated &&
      difference('.spec.hibernation.enabled', spec.hibernated, facts.hibernation.desired),
    spec.controlPlaneHA &&
      !facts.isHighlyAvailable &&
      difference('.spec.controlPlane.highAvailability.failureTolerance.type', true, false),
    // Its name on the garden is none that teams know.
    facts.connection !== desired.connection.gardenName && { path: '.spec.credentialsBindingName' },
    facts.existingNetwork !== existingNetwork &&
      difference(
        '.spec.provider.infrastructureConfig.networks.existingNetwork',
        existingNetwork,
        facts.existingNetwork,
      ),
    kubernetesVersion !== null &&
      !semver.satisfies(kubernetesVersion, spec.kubernetesVersion) && {
        ...difference('.spec.kubernetes.version', spec.kubernetesVersion, kubernetesVersion),
        // The garden raises expired versions, and allows no downgrade.
        isFinal: semver.gtr(kubernetesVersion, spec.kubernetesVersion),
      },
    ...(['kubernetesVersion', 'machineImageVersion'] as const).map(
      (name) =>
        wanted[name] === false &&
        maintenance[name] !== false &&
        difference(`.spec.maintenance.autoUpdate.${name}`, false, maintenance[name]),
    ),
    maintenance.confined && difference('.spec.maintenance.confineSpecUpdateRollout', false, true),
    ...renderedPools(pools).flatMap((pool) => {
      const at = workerPath(pool.workerName);
      const worker = facts.workers.find(({ name }) => name === pool.workerName);
      return worker === undefined
        ? [difference(at, 'declared', null)]
        : poolDifferences(pool, worker).map((each) => ({ ...each, path: `${at}${each.path}` }));
    }),
  ];
  return found.filter((each) => each !== false);
}

const difference = (path: string, wanted: Value, present: Value): Difference => ({ path, values: { wanted, present } });

function poolDifferences(pool: Desired['pools'][number], worker: WorkerFacts): Difference[] {
  const { name, version } = pool.image;
  const differs = (path: string, wanted: Value, present: Value) =>
    present !== wanted && difference(path, wanted, present);
  const found: (Difference | false)[] = [
    differs('.machine.type', pool.machineType, worker.machineType),
    differs('.minimum', renderedMinimum(pool), worker.minimum),
    differs('.maximum', pool.maximum, worker.maximum),
    name !== undefined && differs('.machine.image.name', name, worker.image.name),
    version !== undefined &&
      !isVersionOf(String(version), worker.image.version) && {
        ...difference('.machine.image.version', String(version), worker.image.version),
        isFinal: pool.raisedImage !== undefined,
      },
    ...Object.entries(imageOptions(pool)).map(
      ([option, value]) =>
        worker.imageOptions[option] !== value && {
          path: `.machine.image.providerConfig.${option}`,
          values: optionValues(option, value, worker.imageOptions[option]),
        },
    ),
    differs('.providerConfig.publicIP', pool.publicIP, worker.publicIP),
  ];
  return found.filter((each) => each !== false);
}

/** The field of an option is the image as a whole. */
const optionValues = (option: string, wanted: unknown, present: unknown): Values => {
  const shown = (value: unknown): Value => (value === undefined ? null : `${option}=${JSON.stringify(value)}`);
  return { wanted: shown(wanted), present: shown(present) };
};

/** The garden completes a partial version. */
function isVersionOf(declared: string, actual: string | null): boolean {
  return actual === declared || actual?.startsWith(`${declared}.`) === true;
}

/** The API field that a field of the Shoot was rendered from. */
export interface ApiField {
  /** JSON pointer into the body of a PUT, e.g. `/spec/nodePools/0/machineType`. */
  readonly pointer: string;
  /** Name for messages, e.g. `machineType of node pool general`. */
  readonly name: string;
}

/**
 * Finds the API field behind a field of the Shoot.
 *
 * @param path as the garden writes it: `spec.provider.workers[0].machine.type` when it refuses a field,
 *   `.spec.provider.workers[name="p1a2b3"].machine.type` when another manager owns one
 * @returns null for a field that teams do not declare
 */
export function apiFieldOf(path: string, desired: Desired): ApiField | null {
  const field = path.replace(/^\./, '');
  const worker = /^spec\.provider\.workers\[(?:(\d+)|name="([^"]+)")\]\.?(.*)$/.exec(field);
  if (worker !== null) return poolField(desired, worker[1], worker[2], worker[3] ?? '');
  const found = clusterFields.find(([prefix]) => field === prefix || field.startsWith(`${prefix}.`));
  return found === undefined ? null : { pointer: `/spec/${found[1]}`, name: found[1].replaceAll('/', '.') };
}

/** Names a field that has no counterpart in the API. */
export function ownField(path: string): ApiField {
  return { pointer: '', name: path.replace(/^\./, '') };
}

const clusterFields: readonly (readonly [string, string])[] = [
  ['spec.kubernetes', 'kubernetesVersion'],
  ['spec.region', 'region'],
  ['spec.provider.controlPlaneConfig', 'region'],
  ['spec.credentialsBindingName', 'connectionRef'],
  ['spec.hibernation', 'hibernated'],
  ['spec.controlPlane', 'controlPlaneHA'],
  ['spec.networking.nodes', 'network/nodeCIDR'],
  ['spec.provider.infrastructureConfig.networks.existingNetwork', 'network/existingNetwork'],
  ['spec.provider.infrastructureConfig', 'network/nodeCIDR'],
  ['spec.networking.pods', 'network/podCIDR'],
  ['spec.networking.services', 'network/serviceCIDR'],
  ['spec.provider.workers', 'nodePools'],
];

const poolFields: readonly (readonly [string, string])[] = [
  ['machine.type', 'machineType'],
  ['machine.architecture', 'machineType'],
  ['machine.image.name', 'image/name'],
  ['machine.image.version', 'image/version'],
  ['machine.image', 'image'],
  ['machine', 'machineType'],
  ['providerConfig', 'publicIP'],
  ['minimum', 'minimum'],
  ['maximum', 'maximum'],
];

function poolField(
  desired: Desired,
  at: string | undefined,
  workerName: string | undefined,
  rest: string,
): ApiField | null {
  const rendered = renderedPools(desired.pools);
  const pool = at === undefined ? rendered.find((each) => each.workerName === workerName) : rendered[Number(at)];
  if (pool === undefined) return null;
  const pointer = `/spec/nodePools/${desired.pools.indexOf(pool)}`;
  const found = poolFields.find(([prefix]) => rest === prefix || rest.startsWith(`${prefix}.`));
  if (found === undefined) return { pointer, name: `node pool ${pool.name}` };
  return { pointer: `${pointer}/${found[1]}`, name: `${found[1].replaceAll('/', '.')} of node pool ${pool.name}` };
}
