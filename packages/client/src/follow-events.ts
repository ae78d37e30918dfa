/// <reference lib="dom" />

import { chunksOf } from './answer-text.js';
import { bodyOf, outgoingOf } from './calls.js';
import { type CorralError, isCorralError } from './corral-error.js';
import { type ServerEvent, serverEventsOf } from './event-stream.js';
import type { components } from './generated/cluster-api.js';
import { clusterOperations } from './generated/cluster-operations.js';
import type { TimeLimit } from './time-limit.js';
import type { Transport } from './transport.js';

export type TeamEvent = components['schemas']['TeamEvent'];

export type StreamMessage =
  | { readonly type: 'event'; readonly event: TeamEvent }
  /** Events may be missing: what was loaded before has to be loaded again. Sent at the start, too. */
  | { readonly type: 'reload'; readonly id: string | null }
  /** The connection stands. */
  | { readonly type: 'live' }
  /** The connection was lost; it is tried again. `since`: Unix time in ms until which nothing was missed. */
  | { readonly type: 'down'; readonly since: number; readonly error: CorralError | null };

export interface FollowOptions {
  /** Continue after the event with this id. Default: from now on. */
  readonly after?: string | null;
  readonly signal?: AbortSignal;
  /** A connection that is silent for so long is lost. Default: 40,000. The server sends a heartbeat every 4 s. */
  readonly silenceMs?: number;
}

const SILENCE_MS = 40_000;
const EVENT_CHARACTERS = 4 * 1_048_576;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
/** Events that are remembered: the last ones may come again after a connection is lost. */
const REMEMBERED = 500;

/**
 * Follows the changes of a team, and reconnects by itself until `signal` aborts.
 *
 * @throws CorralError when the API refuses the stream for good: the session or the membership has ended
 */
export async function* followEvents(
  transport: Transport,
  team: string,
  { after = null, signal, silenceMs = SILENCE_MS }: FollowOptions = {},
): AsyncGenerator<StreamMessage> {
  const seen = new Set<string>();
  let last = after;
  let failures = 0;
  let since = Date.now();
  const heard = (): void => {
    since = Date.now();
  };
  while (!signal?.aborted) {
    let lost: CorralError | null = null;
    try {
      for await (const message of connection(transport, team, { after: last, signal, silenceMs }, heard)) {
        if (message.type === 'reload') last = message.id;
        if (message.type === 'event') {
          last = message.event.id;
          if (seen.has(last)) continue;
          remember(seen, last);
        }
        if (message.type !== 'live') failures = 0;
        yield message;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isCorralError(error) || isFinal(error)) throw error;
      lost = error;
    }
    if (lost?.status === 422) {
      // The position is not one of this server: after a restore of its database, for example.
      last = null;
      yield { type: 'reload', id: null };
    }
    yield { type: 'down', since, error: lost };
    await pauseUnlessOnline(transport, retryMsOf(lost, failures), signal);
    failures += 1;
  }
}

async function* connection(
  transport: Transport,
  team: string,
  { after, signal, silenceMs }: { after: string | null; signal: AbortSignal | undefined; silenceMs: number },
  heard: () => void,
): AsyncGenerator<StreamMessage> {
  const request = outgoingOf(clusterOperations, 'streamTeamEvents', { team }, { accept: 'text/event-stream', signal });
  const headers = { ...request.headers, ...(after === null ? {} : { 'Last-Event-ID': after }) };
  const { response, limit } = await transport.open({ ...request, headers });
  try {
    heard();
    yield { type: 'live' };
    for await (const event of serverEventsOf(heartbeats(response, limit, silenceMs, heard), EVENT_CHARACTERS)) {
      // After `end` the answer to the next connection shows whether the session or the membership has ended.
      if (event.event !== 'end') yield messageOf(event);
    }
  } catch (error) {
    throw limit.errorOf(error, request.operationId);
  } finally {
    limit.end();
  }
}

/** A connection that is silent for too long died on the way. */
async function* heartbeats(
  { body }: Response,
  limit: TimeLimit,
  silenceMs: number,
  heard: () => void,
): AsyncGenerator<Uint8Array> {
  limit.restart(silenceMs);
  for await (const chunk of chunksOf(body)) {
    heard();
    limit.restart(silenceMs);
    yield chunk;
  }
}

function messageOf({ event, data, id }: ServerEvent): StreamMessage {
  if (event === 'ready' || event === 'reset') return { type: 'reload', id };
  return { type: 'event', event: bodyOf(data, { status: 200 }) as TeamEvent };
}

/** A team that the caller does not belong to is not found. */
const isFinal = ({ status }: CorralError): boolean => status === 401 || status === 403 || status === 404;

function retryMsOf(error: CorralError | null, failures: number): number {
  const backoff = Math.min(RETRY_MS_MIN * 2 ** failures, RETRY_MS_MAX) * (0.75 + Math.random() / 2);
  return Math.max(backoff, error?.retryAfterMs ?? 0);
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id);
  if (seen.size > REMEMBERED) seen.delete(seen.values().next().value as string);
}

/** A browser that is back on the network need not wait. */
async function pauseUnlessOnline(transport: Transport, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const online = new AbortController();
  const wake = () => online.abort();
  globalThis.addEventListener?.('online', wake, { once: true });
  try {
    await transport.pause(ms, signal === undefined ? online.signal : AbortSignal.any([signal, online.signal]));
  } catch (error) {
    if (!online.signal.aborted && !signal?.aborted) throw error;
  } finally {
    globalThis.removeEventListener?.('online', wake);
  }
}
