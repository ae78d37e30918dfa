import { isObject, type JsonObject } from '@corral/contracts';
import {
  type HostedName,
  isForeign,
  leftoverOf,
  type Manifest,
  type NameStanding,
  type NameToken,
  nameClaimMs,
  objectsOfName,
  secretOfName,
  solverGroup,
  standingOf,
} from '@corral/domain';
import { type GardenClient, type GardenError, isGardenError } from '@corral/garden';
import { backoffMs, type Log, spreadMs } from '@corral/service';
import { inBatches } from '../../loop/work.js';
import type { DueName, NameStore } from './store.js';

/** What the objects of all names contain of the installation. */
export type NamePlace = Omit<HostedName, 'name'>;

interface NameDeps {
  readonly store: NameStore;
  readonly garden: Pick<GardenClient, 'objects'>;
  /** Null without the address of the DNS API: names are only removed then. */
  readonly place: NamePlace | null;
  readonly log: Log;
  readonly random?: () => number;
}

/** Concurrent passes. Each is about ten calls to a cluster. */
const BATCH = 8;
/** Deadline of a pass: shorter than the claim, so that two never work on one name. */
const PASS_MS = 45_000;
/** Milliseconds until a name is looked at again: one that works, one that is being installed, one whose cluster is not up. */
const [STEADY_MS, STARTING_MS, AWAY_MS] = [600_000, 10_000, 60_000];
const retry = { firstMs: 10_000, maxMs: 600_000 };

/**
 * Keeps what names need in their clusters, and takes it away again. The row says what is wanted; each pass applies everything, so that what
 * was changed or removed in the cluster comes back.
 *
 * @returns the number of names looked at
 */
export const keepNames =
  (deps: NameDeps) =>
  (signal: AbortSignal): Promise<number> =>
    inBatches(
      {
        claim: (limit) => deps.store.claimDue(limit, nameClaimMs),
        work: (due: DueName) => keepName(deps, due, signal),
        size: BATCH,
      },
      signal,
    );

async function keepName(deps: NameDeps, due: DueName, signal: AbortSignal): Promise<void> {
  const { store, place, log, random = Math.random } = deps;
  const { shoot } = due.cluster;
  const wait = waitOf(due, place !== null);
  if (wait !== null || shoot === null) {
    const again = { failures: 0, againMs: spreadMs(AWAY_MS, random()), wasAsked: false };
    return store.record(due, { state: due.isRemoving ? 'Removing' : 'Pending', message: wait ?? '' }, again);
  }
  const calls = callsOf(deps.garden, shoot, AbortSignal.any([signal, AbortSignal.timeout(PASS_MS)]));
  try {
    if (due.isRemoving) return await takeAway(deps, due, calls);
    const standing = await install(deps, due, calls);
    if (standing === null) return await store.release(due);
    const againMs = spreadMs(standing.state === 'Ready' ? STEADY_MS : STARTING_MS, random());
    await store.record(due, standing, { failures: 0, againMs, wasAsked: true });
  } catch (error) {
    if (!(error instanceof NotDone)) throw error;
    // On shutdown nothing was learned. The claim expires, and another process continues.
    if (signal.aborted) return;
    const failures = due.failures + 1;
    log.warn('name not kept', { nameId: due.id, object: error.object, failures, error: error.cause });
    const againMs = spreadMs(backoffMs(due.failures, retry), random());
    // What was known stays true until the cluster says otherwise.
    await store.record(due, { state: due.state, message: error.message }, { failures, againMs, wasAsked: true });
  }
}

/** Why nothing can be done now, for people; null when something can. */
function waitOf({ team, cluster, isRemoving }: DueName, hasPlace: boolean): string | null {
  if (cluster.isDeleting) return 'The cluster is being deleted, and the name goes with it.';
  if (cluster.isHibernated) return 'The cluster is hibernated. Work continues when it is resumed.';
  if (cluster.shoot === null) return 'The API server of the cluster is not up yet.';
  if (isRemoving) return null;
  if (team.isSuspended) return 'The team is suspended. Ask the operators.';
  return hasPlace ? null : 'The operators have not set the address of the DNS API for clusters. Ask them.';
}

/** @returns null when the name was changed meanwhile */
async function install({ store, place }: NameDeps, due: DueName, calls: ObjectCalls): Promise<NameStanding | null> {
  const of: HostedName = { name: due.name, ...(place as NamePlace) };
  const token = await tokenOf(store, due, await calls.read(secretOfName(of)));
  if (token === null) return null;
  const { records, certificates } = objectsOfName(of, token);
  const applied = await calls.applyAll(records);
  const hasSolver = (await calls.read(solverService)) !== null;
  const foreign = hasSolver ? await calls.findForeign(certificates) : null;
  const issued = hasSolver && foreign === null ? await calls.applyAll(certificates) : [];
  const ofKind = (objects: readonly JsonObject[], kind: string) => objects.find((each) => each.kind === kind) ?? null;
  return standingOf({
    deployment: ofKind(applied, 'Deployment'),
    hasSolver,
    issuer: ofKind(issued, 'ClusterIssuer'),
    foreign: foreign && textOf(foreign),
  });
}

/** Registered by the webhook that solves challenges for cert-manager. */
const solverService: Manifest = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `v1alpha1.${solverGroup}`, labels: {} },
};

/**
 * The token in the cluster while it is the one of the name. Otherwise a new one: it is in the database before it is in the cluster, so
 * whatever happens in between, the next pass finds that they differ, and replaces it again.
 */
async function tokenOf(store: NameStore, due: DueName, secret: JsonObject | null): Promise<NameToken | null> {
  const data = isObject(secret?.data) ? secret.data.token : null;
  const text = typeof data === 'string' ? Buffer.from(data, 'base64').toString('latin1') : null;
  return (await store.tokenWith(due, text)) ?? (await store.replaceToken(due));
}

async function takeAway({ store, place }: NameDeps, due: DueName, calls: ObjectCalls): Promise<void> {
  const at = place ?? { zone: '', endpoint: '', acmeServer: '' };
  const others = due.others.map((name) => ({ ...at, name }));
  for (const object of leftoverOf({ ...at, name: due.name }, others).toReversed()) await calls.remove(object);
  await store.recordRemoved(due);
}

/** The cluster did not do something. The message is for people. */
class NotDone extends Error {
  override readonly name = 'NotDone';
  constructor(
    readonly object: string,
    override readonly cause: GardenError,
  ) {
    const isAway = isGardenError(cause, 'unreachable', 'uncertain', 'throttled', 'server_error', 'credentials');
    super(
      isAway
        ? 'The API server of the cluster does not answer. Corral asks again.'
        : `The cluster refuses ${object}. Check its admission policies and quotas. Corral tries again.`,
    );
  }
}

/** Names an object, such as `Secret cert-manager/shop.acme`. */
const textOf = ({ kind, metadata: { namespace, name } }: Manifest): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

type ObjectCalls = ReturnType<typeof callsOf>;

/** Calls of one cluster, which throw only NotDone. */
function callsOf({ objects }: NameDeps['garden'], shoot: { namespace: string; name: string }, signal: AbortSignal) {
  const told = async <T>(object: Manifest, call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      if (!isGardenError(error)) throw error;
      throw new NotDone(textOf(object), error);
    }
  };
  return {
    read: (object: Manifest) => told(object, objects.read(shoot, object, signal)),
    /** The first one that somebody else made. */
    async findForeign(manifests: readonly Manifest[]): Promise<Manifest | null> {
      for (const each of manifests) if (isForeign(await told(each, objects.read(shoot, each, signal)))) return each;
      return null;
    },
    /** One after the other: a namespace comes before what is in it. */
    async applyAll(manifests: readonly Manifest[]): Promise<JsonObject[]> {
      const applied: JsonObject[] = [];
      for (const each of manifests) {
        applied.push(await told(each, objects.apply(shoot, each as Manifest & JsonObject, { force: true }, signal)));
      }
      return applied;
    },
    /** Leaves what somebody else made. */
    async remove(object: Manifest): Promise<void> {
      const removeOwn = async (): Promise<void> => {
        const present = await objects.read(shoot, object, signal);
        if (present !== null && !isForeign(present)) await objects.delete(shoot, object, signal);
      };
      const unserved = (error: unknown): void => {
        // A cluster that does not know the kind has none of it.
        if (!isGardenError(error, 'unusable')) throw error;
      };
      await told(object, removeOwn().catch(unserved));
    },
  };
}
