import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface Listener {
  /**
   * True while notifications provably arrive: all sent until `PROVEN_MS` ago have been delivered. While false,
   * notifications may have been missed.
   */
  isConnected(): boolean;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly channels: Record<string, (payload: string) => void>;
  /**
   * Called whenever notifications may have been missed: the connection was lost, re-established, or silent for a while.
   */
  readonly onGap: () => void;
  readonly onError: (error: Error) => void;
  /** Monotonic clock in ms for the age of proofs. */
  readonly tick?: () => number;
}

const RECONNECT_MS = 500;
/**
 * A connection can die silently (cable, NAT, frozen server), so it is probed. Postgres delivers a session's
 * notifications before the answer to its next statement, so an answer proves that nothing sent before the question is
 * still in transit.
 */
const PROBE_MS = 500;
/** How long a proof is valid. Covers two probes, so one slow answer is not a gap. */
const PROVEN_MS = 1_500;
/** Timeout of a probe. The connection is then replaced. */
const ANSWER_MS = 5_000;
/** Longest wait for closing a connection that may be dead. */
const CLOSE_MS = 1_000;

/**
 * Keeps one connection listening on `channels`, and reconnects when it breaks. Channel names are not escaped and must
 * not come from input.
 */
export function listen(options: ListenOptions): Listener {
  const stopped = new AbortController();
  let provenAt = Number.NEGATIVE_INFINITY;
  const tick = options.tick ?? (() => performance.now());
  const isConnected = (): boolean => tick() - provenAt < PROVEN_MS;

  const prove = async (client: pg.Client, question: string): Promise<void> => {
    const askedAt = tick();
    await client.query(question);
    const isAfterGap = !isConnected();
    provenAt = askedAt;
    if (isAfterGap) options.onGap();
  };

  const holdConnection = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: options.databaseUrl,
      application_name: options.applicationName,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    const over = new AbortController();
    const endClient = () => client.end().catch(() => undefined);
    const stop = (): void => {
      over.abort(stopped.signal.reason);
      void endClient(); // aborts a running statement
    };
    stopped.signal.addEventListener('abort', stop);
    client.on('error', (error) => over.abort(error));
    client.on('end', () => over.abort(new Error('The connection for notifications ended')));
    client.on('notification', ({ channel, payload }) => options.channels[channel]?.(payload ?? ''));
    try {
      // `connect` never settles when `end` is called meanwhile.
      await Promise.race([client.connect(), untilAborted(over.signal)]);
      const channels = Object.keys(options.channels).map((channel) => `LISTEN "${channel}"`);
      await prove(client, channels.join(';'));
      for (;;) {
        await delay(PROBE_MS, null, { ref: false, signal: over.signal }).catch(() => undefined);
        over.signal.throwIfAborted();
        await prove(client, 'SELECT 1');
      }
    } finally {
      provenAt = Number.NEGATIVE_INFINITY;
      stopped.signal.removeEventListener('abort', stop);
      await Promise.race([endClient(), delay(CLOSE_MS, null, { ref: false })]);
    }
  };

  const run = (async () => {
    while (!stopped.signal.aborted) {
      try {
        await holdConnection();
      } catch (error) {
        options.onGap();
        if (stopped.signal.aborted) return;
        options.onError(error as Error);
        await delay(RECONNECT_MS, null, { signal: stopped.signal }).catch(() => undefined);
      }
    }
  })();

  return {
    isConnected,
    close: async () => {
      stopped.abort();
      await run;
    },
  };
}

/** Rejects with the abort reason. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
