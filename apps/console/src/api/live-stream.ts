import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** A change of a resource, as in the contract's `TeamEvent`. */
export interface LiveEvent {
  readonly id: string;
  readonly kind: string;
  readonly change: 'changed' | 'deleted';
  readonly name: string;
  readonly targetId: string;
  readonly parent: string | null;
  readonly resource: unknown;
}

/** `reload`: events may be missing, so what is shown has to be loaded again. */
export type LiveMessage =
  | { readonly type: 'event'; readonly event: LiveEvent }
  | { readonly type: 'reload'; readonly id: string | null }
  | { readonly type: 'live' }
  | {
      readonly type: 'down';
      /** What the stream ended with: then it does not reconnect. Null: the connection was lost. */
      readonly ended: 'session' | 'membership' | null;
      /** Unix time in ms of the last sign of the server: until then, nothing was missed. */
      readonly since: number;
    };

export interface LiveStreamOptions {
  readonly url: string;
  /** Continue after this event; null: from now on. */
  readonly after: string | null;
  readonly onMessage: (message: LiveMessage) => void;
  readonly signal: AbortSignal;
}

/** The server sends a heartbeat every 15 s. With the 5 s before the banner, people know after 45 s. */
const SILENCE_MS = 40_000;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;

/**
 * Follows the events of a team until `signal` aborts, and reconnects by itself. `EventSource` would show neither heartbeats
 * nor the status of a refusal, so a connection that died half-way would look alive.
 */
export async function followLiveStream({ url, after, onMessage, signal }: LiveStreamOptions): Promise<void> {
  let last = after;
  let retryMs = RETRY_MS_MIN;
  let since = Date.now();
  while (!signal.aborted) {
    const { ended, heardAt, hadEvents } = await connect(url, last, signal, (message) => {
      if (message.type === 'event') last = message.event.id;
      if (message.type === 'reload') last = message.id;
      onMessage(message);
    });
    if (signal.aborted) return;
    since = heardAt ?? since;
    onMessage({ type: 'down', ended, since });
    if (ended !== null) return;
    retryMs = hadEvents ? RETRY_MS_MIN : Math.min(retryMs * 2, RETRY_MS_MAX);
    await pause(retryMs, signal);
  }
}

interface Ended {
  readonly ended: 'session' | 'membership' | null;
  /** Unix time in ms; null: the server did not accept the connection. */
  readonly heardAt: number | null;
  readonly hadEvents: boolean;
}

async function connect(
  url: string,
  last: string | null,
  signal: AbortSignal,
  onMessage: (message: LiveMessage) => void,
): Promise<Ended> {
  const silence = new AbortController();
  const stopped = AbortSignal.any([signal, silence.signal]);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waitForBytes = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  let heardAt: number | null = null;
  let hadEvents = false;
  waitForBytes();
  try {
    const headers: HeadersInit = { Accept: 'text/event-stream', ...(last === null ? {} : { 'Last-Event-ID': last }) };
    const response = await fetch(url, { headers, cache: 'no-store', signal: stopped });
    if (response.status === 422) onMessage({ type: 'reload', id: null });
    if (!response.ok || response.body === null) {
      return { ended: endOf(response.status), heardAt, hadEvents };
    }
    heardAt = Date.now();
    onMessage({ type: 'live' });
    const parser = createParser({
      onEvent: (message) => {
        hadEvents = true;
        // After `end` the answer to the next connection shows whether the session or the membership has ended.
        if (message.event !== 'end') onMessage(messageOf(message));
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      heardAt = Date.now();
      waitForBytes();
      parser.feed(decoder.decode(part.value, { stream: true }));
    }
  } catch {
    // Connection lost, or silent for too long: the caller reconnects.
  } finally {
    clearTimeout(timer);
  }
  return { ended: null, heardAt, hadEvents };
}

/** A team that the person does not belong to is not found. */
const endOf = (status: number): Ended['ended'] => (status === 401 ? 'session' : status === 404 ? 'membership' : null);

function messageOf({ event, data, id }: EventSourceMessage): LiveMessage {
  if (event === 'ready' || event === 'reset') return { type: 'reload', id: id ?? null };
  return { type: 'event', event: JSON.parse(data) as LiveEvent };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    // A browser that is back on the network need not wait.
    window.addEventListener('online', done, { once: true });
    signal.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      window.removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
