import type { JsonObject } from '@corral/contracts';
import {
  type Answered,
  type Broken,
  collect,
  endOf,
  exchange,
  fullJitterMs,
  type Log,
  type Opened,
  type Outgoing,
  openExchange,
  orAborted,
  parseJsonObject,
  sleep,
} from '@corral/service';
import type { Credentials, Identity } from '../credentials/credentials.js';
import {
  brokenError,
  type CallName,
  credentialsError,
  failureError,
  notReadyError,
  unreachableError,
  unusableError,
  type Verb,
} from './call-errors.js';
import { isGardenError } from './garden-error.js';

/** The logger functions in use. Messages are constant, and no field holds a token, Secret or kubeconfig. */
export type GardenLog = Pick<Log, 'warn' | 'error'>;

/** One HTTP call, for metrics. Every text comes from a small set and may be a label. */
export interface GardenCall {
  verb: Verb;
  /** with the subresource, e.g. `shoots/adminkubeconfig`; of a Shoot's own API server e.g. `shoot nodes` */
  resource: string;
  /** `ok` or the kind of the error */
  outcome: string;
  /** until the answer was read; for a watch, until it was open */
  seconds: number;
}

export interface CallDeps {
  credentials: Credentials;
  /** ends all calls when the client closes */
  closing: AbortSignal;
  timeoutMs: number;
  bodyBytesMax: number;
  fieldManager: string;
  log: GardenLog;
  onCall: (call: GardenCall) => void;
  /** called when the garden refuses a call with our newest credentials */
  onAccessDenied: (call: CallName, error: unknown) => void;
}

export type Call = CallName & Outgoing;

export interface Answer {
  status: number;
  body: JsonObject;
  /** the garden's clock, to the second; null when the answer does not state it */
  date: Date | null;
}

const readAttemptsMax = 3;
const readBackoff = { firstMs: 100, maxMs: 1_000 };

/**
 * Makes a call within `timeoutMs`, retries included. Retries reads after transient failures, and any call that a 401
 * refused if newer credentials are available.
 *
 * @throws GardenError
 */
export function perform(deps: CallDeps, call: Call, signal?: AbortSignal): Promise<Answer> {
  const ends = [AbortSignal.timeout(deps.timeoutMs), deps.closing, ...(signal === undefined ? [] : [signal])];
  const bounds = { signal: AbortSignal.any(ends), bodyBytesMax: deps.bodyBytesMax };
  return repeated(call, bounds.signal, () =>
    authenticated(deps, call, bounds.signal, async (identity) =>
      answerOf(call, identity, await exchange(identity, call, bounds)),
    ),
  );
}

/**
 * Opens a stream, one attempt.
 *
 * @param signal also ends the stream
 * @throws GardenError when the status is not 200
 */
export function openStream(deps: CallDeps, call: Call, signal: AbortSignal): Promise<Opened> {
  return authenticated(deps, call, signal, async (identity) => {
    const opened = await openExchange(identity, call, { signal });
    if (opened.kind === 'broken') throw brokenError(call, opened);
    if (opened.status === 200) return opened;
    const { bodyBytesMax } = deps;
    const { status } = answerOf(call, identity, await collect(opened, { signal, bodyBytesMax }));
    throw unusableError(call, `${status} instead of 200`);
  });
}

async function repeated<T>(call: Call, signal: AbortSignal, attemptOnce: () => Promise<T>): Promise<T> {
  let lost: unknown = null;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attemptOnce();
    } catch (error) {
      // An uncertain attempt may have taken effect, whatever later attempts return.
      if (isGardenError(error, 'uncertain')) lost ??= error;
      const isPassing = isGardenError(error, 'unreachable', 'server_error', 'uncertain');
      if (!isPassing || call.access === 'write' || attempt + 1 === readAttemptsMax) throw lost ?? error;
      if (!(await sleep(fullJitterMs(attempt, readBackoff), signal))) throw lost ?? error;
    }
  }
}

/** Runs an attempt, and a second one if the garden refused outdated credentials. */
async function authenticated<T>(
  deps: CallDeps,
  call: Call,
  signal: AbortSignal,
  attempt: (identity: Identity) => Promise<T>,
): Promise<T> {
  const { credentials, onAccessDenied } = deps;
  try {
    const identity = await inTime(credentials.identity(), call, signal);
    try {
      return await measured(deps, call, () => attempt(identity));
    } catch (error) {
      if (isGardenError(error, 'rbac') && !call.fromShoot) {
        const isStarting = error.isAnonymous || !(await isReady(identity, signal));
        throw isStarting ? notReadyError(call) : error;
      }
      if (!isGardenError(error, 'credentials')) throw error;
      const newer = await inTime(credentials.replacementOf(identity), call, signal);
      if (newer === null) throw error;
      return await measured(deps, call, () => attempt(newer));
    }
  } catch (error) {
    if (isGardenError(error, 'credentials')) onAccessDenied(call, error);
    throw error;
  }
}

const readinessBytesMax = 65_536;

/**
 * A garden that has just started has not loaded RBAC rules yet and denies every user. Any authenticated user may ask
 * whether it is ready (kubernetes: `system:public-info-viewer`).
 */
async function isReady(identity: Identity, signal: AbortSignal): Promise<boolean> {
  const bounds = { signal, bodyBytesMax: readinessBytesMax };
  const asked = await exchange(identity, { method: 'GET', path: '/readyz' }, bounds);
  return asked.kind === 'answered' && (asked.status === 200 || asked.status === 404);
}

async function measured<T>({ onCall }: CallDeps, { verb, resource }: Call, attempt: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  let outcome = 'ok';
  try {
    return await attempt();
  } catch (error) {
    outcome = isGardenError(error) ? error.kind : 'bug';
    throw error;
  } finally {
    onCall({ verb, resource, outcome, seconds: (performance.now() - startedAt) / 1_000 });
  }
}

/** A hanging exec plugin must not delay a call beyond its deadline. */
function inTime<T>(credentials: Promise<T>, call: Call, signal: AbortSignal): Promise<T> {
  return orAborted(credentials, signal, () =>
    endOf(signal) === 'time'
      ? credentialsError(call, 'ours are not there in time')
      : unreachableError(call, 'the caller gave up'),
  );
}

function answerOf(call: Call, identity: Identity, done: Answered | Broken): Answer {
  if (done.kind === 'broken') throw brokenError(call, done);
  const { status, headers } = done;
  if (status < 200 || status > 299) {
    throw failureError(call, { status, headers, body: parseJsonObject(withoutToken(done.body, identity)) });
  }
  const body = parseJsonObject(done.body);
  if (body === null) throw unusableError(call, `${status} without a JSON object`);
  const date = new Date(headers.date ?? '');
  return { status, body, date: Number.isNaN(date.getTime()) ? null : date };
}

/** Text of a failure goes into errors and logs, and a proxy may echo the request that it refuses. */
function withoutToken(body: Buffer, { headers }: Identity): Buffer {
  const token = headers.Authorization?.split(' ').at(-1);
  return token && body.includes(token) ? Buffer.from(body.toString().replaceAll(token, '[redacted]')) : body;
}
