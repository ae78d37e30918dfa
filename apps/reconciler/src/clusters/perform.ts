import type { ClusterId } from '@corral/contracts';
import {
  type AppliedShoot,
  beforeFirstApply,
  type GardenClient,
  type GardenError,
  isGardenError,
  type Shoot,
  type ShootManifest,
} from '@corral/garden';
import type { Catalogue } from '../garden/catalogue.js';
import type { PassLease } from '../loop/lease.js';
import type { OpenToken } from '../loop/provider-token.js';
import { resolveVersion } from './decide/resolve-version.js';
import { type Learned, learnedFrom } from './decide/shoot-runs.js';
import { shownName } from './drift/drift.js';
import { additionsIn, arbitrate, leftovers, outdatedAdditions, withoutFields } from './drift/field-owners.js';
import type { Desired, Observed, Step } from './model.js';
import { managedLabel, operationAnnotation, teamAnnotation } from './model.js';
import { factsOf, observedFrom, runningVersion } from './observe.js';
import type { RecordStore } from './record.js';
import { type GardenSettings, gardenSettings, renderedPools, renderShoot } from './render.js';
import type { DesiredStore } from './store.js';

export interface PerformDeps {
  readonly garden: GardenClient;
  readonly desired: DesiredStore;
  readonly records: RecordStore;
  readonly catalogue: Catalogue;
  readonly openToken: OpenToken;
  readonly own: Pick<GardenSettings, 'networkingType' | 'features'>;
}

/** The outcome of a step. */
export type Performed =
  /**
   * `seen`: the garden's response, which is newer than a read. Null when a new read is needed. `learned`: all that is to be
   * recorded; without it, the step has recorded its effect.
   */
  | { readonly kind: 'done'; readonly seen: Observed | null; readonly learned?: Learned }
  /** The garden accepted the request, and needs time before the next step. */
  | { readonly kind: 'waiting'; readonly ms: number }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'forgotten' };

/** Wait for a Project's namespace and the rights of its members, in milliseconds. */
const PROJECT_MS = 1_000;

/** Input of a step. */
interface StepContext {
  readonly lease: PassLease<ClusterId>;
  readonly wanted: Desired;
  readonly seen: Observed;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/**
 * Performs one step: an idempotent effect in the garden, and its record. After a crash between the two, the next pass
 * repeats the step and finds the effect done.
 *
 * @throws GardenError, Unrenderable, VersionUnavailable, SecretUnreadable
 */
export async function performStep(
  deps: PerformDeps,
  context: StepContext,
  step: Exclude<Step, { do: 'finish' }>,
): Promise<Performed> {
  switch (step.do) {
    case 'ensureProject':
      return ensureProject(deps, context);
    case 'applyCredentials':
      return applyCredentials(deps, context);
    case 'pinVersion':
      return pinVersion(deps, context);
    case 'applyShoot':
      return applyShoot(deps, context);
    case 'reconcileShoot':
      return requestOperation(deps, context, step.do, 'reconcile');
    case 'retryShoot':
      return requestOperation(deps, context, step.do, 'retry');
    case 'deleteShoot':
      await deps.garden.deleteShoot({ ...nameOf(context.wanted), uid: step.uid }, context.signal);
      return { kind: 'done', seen: null };
    case 'forget':
      return { kind: (await deps.records.forget(context.lease, context.wanted)) ? 'forgotten' : 'overtaken' };
  }
}

async function ensureProject(
  { garden, records }: PerformDeps,
  { lease, wanted, signal }: StepContext,
): Promise<Performed> {
  const { team } = wanted;
  const { namespace, ready } = await garden.ensureProject(
    {
      name: team.projectName,
      labels: { [managedLabel]: 'true', 'corral.dev/team-id': team.id },
      annotations: { [teamAnnotation]: team.slug },
      description: `Clusters of the team ${team.slug}`,
    },
    signal,
  );
  if (namespace === null || !ready) return { kind: 'waiting', ms: PROJECT_MS };
  return recorded(records.recordNamespace(lease, namespace), null);
}

async function applyCredentials(deps: PerformDeps, { lease, wanted, seen, signal }: StepContext): Promise<Performed> {
  const { garden, desired, records, openToken } = deps;
  const { id, ref, gardenName, gardenTokenVersion } = wanted.connection;
  const token = await desired.readToken(lease, id);
  if (token === null) return { kind: 'overtaken' };
  const declaration = {
    namespace: namespaceOf(wanted),
    name: gardenName,
    token: openToken(token),
    labels: { [managedLabel]: 'true', 'corral.dev/connection': ref },
  };
  try {
    await garden.applyCredentials(declaration, signal);
  } catch (error) {
    if (!isFieldConflict(error)) throw error;
    // Only a declared token is written, so any value that another manager set is older.
    const managers = error.causes
      .map(({ manager }) => manager ?? 'unknown')
      .filter((each) => each !== beforeFirstApply);
    const fields = [...new Set(managers)].map((manager) => ({
      field: 'connectionRef',
      manager: shownName(manager),
    }));
    const override = { generation: wanted.generation, fields };
    if (fields.length > 0 && !(await records.recordOverride(lease, override))) return { kind: 'overtaken' };
    await garden.applyCredentials({ ...declaration, force: true }, signal);
  }
  const version = { connectionId: id, version: token.version, before: gardenTokenVersion };
  return recorded(records.recordGardenToken(lease, version), seen);
}

async function pinVersion(
  { catalogue, records }: PerformDeps,
  { lease, wanted, seen, now, signal }: StepContext,
): Promise<Performed> {
  const { kubernetesVersions } = await catalogue.read(signal);
  const version = resolveVersion(wanted.spec.kubernetesVersion, kubernetesVersions, runningVersion(seen), now);
  return recorded(records.recordPinnedVersion(lease, version), seen);
}

async function applyShoot(deps: PerformDeps, context: StepContext): Promise<Performed> {
  const { catalogue, own } = deps;
  const { wanted, seen, signal } = context;
  const running = seen.kind === 'present' ? factsOf(seen.shoot) : null;
  const settings = gardenSettings(await catalogue.read(signal), own);
  const manifest = renderShoot(wanted, settings, running);
  if (!(await removeLeftovers(deps, context))) return { kind: 'overtaken' };
  const applied = await applyOverOthers(deps, context, manifest);
  if (applied === null) return { kind: 'overtaken' };
  const { shoot, appliedAt } = applied;
  const learned = learnedFrom('applyShoot', wanted, shoot, appliedAt);
  return learnt(context, learned, shoot);
}

/** Applies the manifest. Where other managers own fields, the latest change wins. Null when overtaken. */
async function applyOverOthers(
  { garden, records }: PerformDeps,
  { lease, wanted, now, signal }: StepContext,
  manifest: ShootManifest,
): Promise<AppliedShoot | null> {
  try {
    return await garden.applyShoot(manifest, signal);
  } catch (error) {
    if (!isFieldConflict(error)) throw error;
    const owned = await garden.readTimedShoot(nameOf(wanted), signal);
    if (owned === null) throw error;
    const { overridden, kept } = arbitrate(wanted, owned, error.causes, now);
    const override = { generation: wanted.generation, fields: overridden };
    if (overridden.length > 0 && !(await records.recordOverride(lease, override))) return null;
    const { metadata, spec } = withoutFields(manifest, kept);
    const { resourceVersion } = owned.shoot.metadata;
    return garden.overrideShoot({ metadata: { ...metadata, resourceVersion }, spec }, signal);
  }
}

/** @returns false when overtaken */
async function removeLeftovers(
  { garden, records }: PerformDeps,
  { lease, wanted, seen, now, signal }: StepContext,
): Promise<boolean> {
  if (seen.kind !== 'present') return true;
  const rendered = renderedPools(wanted.pools).map(({ workerName }) => workerName);
  const hasAdditions = additionsIn(seen.shoot, rendered).length > 0;
  const owned = hasAdditions ? await garden.readTimedShoot(nameOf(wanted), signal) : null;
  const { shoot } = owned ?? seen;
  const found = leftovers({ shoot }, rendered, owned === null ? [] : outdatedAdditions(wanted, owned, rendered, now));
  if (found === null) return true;
  const override = { generation: wanted.generation, fields: found.removed };
  if (found.removed.length > 0 && !(await records.recordOverride(lease, override))) return false;
  const { uid, resourceVersion } = shoot.metadata;
  await garden.replaceWorkers({ ...nameOf(wanted), uid, resourceVersion, workers: found.workers }, signal);
  return true;
}

/** Other managers own fields of the apply, and the garden names them. */
function isFieldConflict(error: unknown): error is GardenError {
  return isGardenError(error, 'conflict') && !error.uidMismatch && error.causes.length > 0;
}

async function requestOperation(
  { garden }: PerformDeps,
  context: StepContext,
  step: 'reconcileShoot' | 'retryShoot',
  operation: 'reconcile' | 'retry',
): Promise<Performed> {
  const { wanted, seen, signal } = context;
  if (seen.kind !== 'present') throw new TypeError(`${step} wants a Shoot that was seen`);
  const { uid, resourceVersion } = seen.shoot.metadata;
  const annotations = { [operationAnnotation]: operation };
  // There is one operation annotation: one that was set since the read must not be overwritten.
  const shoot = await garden.annotateShoot({ ...nameOf(wanted), uid, resourceVersion, annotations }, signal);
  // The response to a patch has no usable time. The Shoot's generation shows that the run starts after it.
  const learned = learnedFrom(step, wanted, shoot, null);
  return learnt(context, learned, shoot);
}

/** What the answer to a write has taught is recorded with the verdict. */
function learnt({ wanted }: StepContext, learned: Learned, shoot: Shoot): Performed {
  const shootUid = wanted.known.shootUid ?? learned.shootUid;
  return { kind: 'done', seen: seenAfter(wanted, shoot), learned: { ...learned, shootUid } };
}

async function recorded(record: Promise<boolean>, seen: Observed | null): Promise<Performed> {
  return (await record) ? { kind: 'done', seen } : { kind: 'overtaken' };
}

/** The response to our own write is our Shoot, even if its UID was not recorded yet. */
function seenAfter(wanted: Desired, shoot: Shoot): Observed {
  const known = { ...wanted.known, shootUid: wanted.known.shootUid ?? shoot.metadata.uid };
  return observedFrom({ ...wanted, known }, shoot);
}

function namespaceOf({ namespace }: Desired): string {
  if (namespace === null) throw new TypeError('no step but ensureProject is taken before the namespace is known');
  return namespace;
}

const nameOf = (wanted: Desired) => ({ namespace: namespaceOf(wanted), name: wanted.shootName });
