import { orAborted, sleep } from '@corral/service';
import { fullJitterMs } from './backoff.js';
import {
  brokenError,
  type CallName,
  credentialsError,
  failureError,
  notReadyError,
  unreachableError,
  unusableError,
} from './call-errors.js';
import type { GardenCall, GardenLog } from './client.js';
import type { Credentials, Identity } from './credentials.js';
import { type Deadline, startDeadline } from './deadline.js';
import { isGardenError } from './errors.js';
import {
  type Bounds,
  collect,
  consume,
  type Exchange,
  exchange,
  type Opened,
  type Outgoing,
  open,
} from './exchange.js';
import { type JsonObject, parseJsonObject } from './json.js';

export interface CallDeps {
  credentials: Credentials;
  /** ends all calls when the client closes */
  closing: AbortSignal;
  timeoutMs: number;
  bodyBytesMax: number;
  fieldManager: string;
  log: GardenLog;
  onCall: (call: GardenCall) => void;
  /** told of a call that our newest credentials do not open */
  onLockedOut: (call: CallName, error: unknown) => void;
}

export type Call = CallName & Outgoing;

export interface Answer {
  status: number;
  body: JsonObject;
  /** the garden's clock, to the second; null when it does not tell */
  date: Date | null;
}

const readAttemptsMax = 3;
const readBackoff = { firstMs: 100, capMs: 1_000 };

/**
 * Makes a call within `timeoutMs`, repetitions included. Repeated are reads that may succeed a moment later, and
 * anything that a 401 refused when our credentials have changed meanwhile.
 *
 * @throws GardenError
 */
export function perform(deps: CallDeps, call: Call, signal?: AbortSignal): Promise<Answer> {
  return repeated(deps, call, signal, (bounds) =>
    authenticated(deps, call, bounds.deadline, async (identity) =>
      answerOf(call, identity, await exchange(identity, call, bounds)),
    ),
  );
}

/** Makes something of a body that is not to be there as a whole. */
export interface BodyReader<T> {
  take(chunk: Buffer): void;
  end(): T;
}

/** The same as `perform` for an answer that is read as it comes. */
export function performReading<T>(
  deps: CallDeps,
  call: Call,
  startReading: () => BodyReader<T>,
  signal?: AbortSignal,
): Promise<T> {
  return repeated(deps, call, signal, (bounds) =>
    authenticated(deps, call, bounds.deadline, async (identity) => {
      const opened = await openFor(call, identity, bounds);
      const reader = startReading();
      const failure = await consume(opened, bounds, (chunk) => reader.take(chunk));
      if (failure !== null) throw brokenError(call, failure);
      return reader.end();
    }),
  );
}

/**
 * Opens a stream, one attempt.
 *
 * @param deadline bounds the stream too, so the caller ends it
 * @throws GardenError when the answer is no 200
 */
export function openStream(deps: CallDeps, call: Call, deadline: Deadline): Promise<Opened> {
  const { bodyBytesMax } = deps;
  return authenticated(deps, call, deadline, (identity) => openFor(call, identity, { deadline, bodyBytesMax }));
}

async function openFor(call: Call, identity: Identity, bounds: Bounds): Promise<Opened> {
  const opened = await open(identity, call, bounds.deadline);
  if (opened.kind === 'broken') throw brokenError(call, opened);
  if (opened.status === 200) return opened;
  const { status } = answerOf(call, identity, await collect(opened, bounds));
  throw unusableError(call, `${status} instead of 200`);
}

async function repeated<T>(
  { timeoutMs, bodyBytesMax, closing }: CallDeps,
  call: Call,
  signal: AbortSignal | undefined,
  attemptOnce: (bounds: Bounds) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(timeoutMs, [signal, closing]);
  let lost: unknown = null;
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await attemptOnce({ deadline, bodyBytesMax });
      } catch (error) {
        // What an attempt may have done, no failure of a later one undoes.
        if (isGardenError(error, 'uncertain')) lost ??= error;
        const isPassing = isGardenError(error, 'unreachable', 'server_error', 'uncertain');
        const delayMs = fullJitterMs(attempt, readBackoff);
        if (!isPassing || call.access === 'write' || attempt + 1 === readAttemptsMax) throw lost ?? error;
        if (delayMs > deadline.leftMs() || !(await sleep(delayMs, deadline.signal))) throw lost ?? error;
      }
    }
  } finally {
    deadline.end();
  }
}

/** Runs an attempt, and a second one if the garden refused credentials that are not the newest. */
async function authenticated<T>(
  deps: CallDeps,
  call: Call,
  deadline: Deadline,
  attempt: (identity: Identity) => Promise<T>,
): Promise<T> {
  const { credentials, onLockedOut } = deps;
  try {
    const identity = await inTime(credentials.identity(), call, deadline);
    try {
      return await measured(deps, call, () => attempt(identity));
    } catch (error) {
      if (isGardenError(error, 'rbac') && !call.fromShoot) {
        const isStarting = error.asNobody || !(await isReady(identity, deadline));
        throw isStarting ? notReadyError(call) : error;
      }
      if (!isGardenError(error, 'credentials')) throw error;
      const newer = await inTime(credentials.replacementOf(identity), call, deadline);
      if (newer === null) throw error;
      return await measured(deps, call, () => attempt(newer));
    }
  } catch (error) {
    if (isGardenError(error, 'credentials')) onLockedOut(call, error);
    throw error;
  }
}

const readinessBytesMax = 65_536;

/**
 * A garden that has just started has not loaded anybody's rights yet, and says so of all of them. Everybody who is
 * authenticated may ask whether it is ready (kubernetes: `system:public-info-viewer`).
 */
async function isReady(identity: Identity, deadline: Deadline): Promise<boolean> {
  const asked = await exchange(
    identity,
    { method: 'GET', path: '/readyz' },
    { deadline, bodyBytesMax: readinessBytesMax },
  );
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

/** A plugin that hangs must not hold a call for longer than its time. */
function inTime<T>(credentials: Promise<T>, call: Call, { signal, cause }: Deadline): Promise<T> {
  return orAborted(credentials, signal, () =>
    cause() === 'time'
      ? credentialsError(call, 'ours are not there in time')
      : unreachableError(call, 'the caller gave up'),
  );
}

function answerOf(call: Call, identity: Identity, done: Exchange): Answer {
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

/** Words of a failure go into errors and logs, and what stands between us and the garden may echo what it refuses. */
function withoutToken(body: Buffer, { headers }: Identity): Buffer {
  const token = headers.Authorization?.split(' ').at(-1);
  return token && body.includes(token) ? Buffer.from(body.toString().replaceAll(token, '[redacted]')) : body;
}
