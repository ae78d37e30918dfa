import { orAborted } from '@corral/service';
import { LRUCache } from 'lru-cache';
import { type Answer, type Call, type CallDeps, perform } from '../calls/call.js';
import { GardenError, isGardenError } from '../calls/garden-error.js';
import { textIn } from '../calls/json.js';
import type { Named } from '../calls/paths.js';
import { type Credentials, openCredentials } from '../credentials/credentials.js';
import { loadKubeconfig, refersToThisMachine } from '../credentials/kubeconfig.js';
import { issueKubeconfig, type ShootRole } from '../shoots/shoot-calls.js';

/** The address of a Shoot's API server, from its kubeconfig. */
interface ShootServer {
  readonly server: string;
  /** PEM; null when the kubeconfig names none */
  readonly certificateAuthority: string | null;
}

/** Calls of the API servers of Shoots. */
export interface ShootAccesses {
  /**
   * Makes a call. If it is refused with a cached kubeconfig, repeats it once with a new one.
   *
   * @throws GardenError of the call, or of issuing the kubeconfig
   */
  perform(shoot: Named, call: Call, signal?: AbortSignal): Promise<Answer & { from: ShootServer }>;
  close(): void;
}

interface Access {
  readonly deps: CallDeps;
  readonly from: ShootServer;
  /** of `performance.now()`: half of the granted time */
  readonly freshUntil: number;
  readonly goodUntil: number;
}

const askedSeconds = 3_600;
/** Kubeconfigs in memory. */
const KEPT_MAX = 500;
/** Minimum lifetime to assume if the clocks differ: a kubeconfig that expires earlier is refused and then renewed. */
const grantedSecondsMin = 60;

/**
 * Keeps kubeconfigs of the most recently used Shoots, in memory only.
 *
 * @param deps for calls of the garden, which issues them
 */
export function openShootAccesses(deps: CallDeps, role: ShootRole): ShootAccesses {
  const kept = new LRUCache<string, Access>({ max: KEPT_MAX });
  const issuing = new Map<string, Promise<Access>>();

  const issueOnce = (shoot: Named, key: string): Promise<Access> => {
    const running = issuing.get(key);
    if (running !== undefined) return running;
    // Shared by all waiting calls: none of their signals may abort it. It has its own deadline.
    const issued = issueAccess(deps, role, shoot)
      .then((access) => {
        kept.set(key, access);
        return access;
      })
      .finally(() => issuing.delete(key));
    issuing.set(key, issued);
    return issued;
  };

  const accessTo = async (shoot: Named, key: string, signal?: AbortSignal) => {
    const known = kept.get(key);
    if (known !== undefined && performance.now() < known.freshUntil) return { access: known, isNew: false };
    try {
      return { access: await heeding(role, issueOnce(shoot, key), signal), isNew: true };
    } catch (error) {
      const isPassing = isGardenError(error, 'unreachable', 'uncertain', 'throttled', 'server_error');
      if (known === undefined || !isPassing || performance.now() > known.goodUntil) throw error;
      return { access: known, isNew: false };
    }
  };

  return {
    async perform(shoot, call, signal) {
      const key = `${shoot.namespace}/${shoot.name}`;
      const { access, isNew } = await accessTo(shoot, key, signal);
      try {
        return { ...(await perform(access.deps, call, signal)), from: access.from };
      } catch (error) {
        if (isNew || !isRefusal(error)) throw error;
        // Another call may have been refused as well and replaced it.
        if (kept.get(key) === access) kept.delete(key);
      }
      const { access: newer } = await accessTo(shoot, key, signal);
      return { ...(await perform(newer.deps, call, signal)), from: newer.from };
    },
    close() {
      for (const { deps } of kept.values()) deps.credentials.close();
    },
  };
}

/** The call had no effect in each of these cases, so even a write may be repeated. */
function isRefusal(error: unknown): boolean {
  return isGardenError(error, 'credentials', 'rbac') || (isGardenError(error, 'unreachable') && error.untrusted);
}

async function issueAccess(deps: CallDeps, role: ShootRole, shoot: Named): Promise<Access> {
  const askedAt = performance.now();
  const { kubeconfig, expiresAt } = await issueOrAway(deps, role, shoot);
  const grantedSeconds = (expiresAt.getTime() - Date.now()) / 1_000;
  const lifeMs = Math.min(askedSeconds, Math.max(grantedSecondsMin, grantedSeconds)) * 1_000;
  const { credentials, from } = openKubeconfig(role, kubeconfig);
  const onAccessDenied: CallDeps['onAccessDenied'] = ({ verb, resource }, error) =>
    deps.log.warn('shoot denies access', { verb, resource, shoot: `${shoot.namespace}/${shoot.name}`, error });
  return {
    deps: { ...deps, credentials, onAccessDenied },
    from,
    freshUntil: askedAt + lifeMs / 2,
    goodUntil: askedAt + lifeMs,
  };
}

async function issueOrAway(deps: CallDeps, role: ShootRole, shoot: Named) {
  try {
    return await issueKubeconfig(deps, role, { ...shoot, expirationSeconds: askedSeconds });
  } catch (error) {
    // A control plane without an address is reported like one that is not up.
    if (!isGardenError(error, 'refused') || error.denial !== null) throw error;
    throw new GardenError('unreachable', `${callOf(role)}: the shoot has no address`, {
      status: error.status,
      reason: error.reason,
    });
  }
}

/** Rejects kubeconfigs that run programs or read files: a garden does not issue these. */
function openKubeconfig(role: ShootRole, text: string): { credentials: Credentials; from: ShootServer } {
  try {
    const config = loadKubeconfig({ text }, text);
    if (refersToThisMachine(config)) throw new Error('It refers to something here.');
    const caData = textIn(config.cluster, 'certificate-authority-data');
    const certificateAuthority = caData === null ? null : Buffer.from(caData, 'base64').toString();
    const server = config.server.href.replace(/\/$/, '');
    return { credentials: openCredentials({ text }), from: { server, certificateAuthority } };
  } catch {
    throw new GardenError('unusable', `${callOf(role)}: the kubeconfig cannot be used`);
  }
}

const callOf = (role: ShootRole): string => `create shoots/${role}kubeconfig`;

function heeding<T>(role: ShootRole, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const gaveUp = () => new GardenError('unreachable', `${callOf(role)}: the caller gave up`);
  return orAborted(work, signal, gaveUp);
}
