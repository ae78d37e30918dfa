import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface Listener {
  /**
   * True while notifications surely arrive: all that was told until `PROVEN_MS` ago has been handed on. While false,
   * what they would have told is unknown.
   */
  isConnected(): boolean;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly channels: Record<string, (payload: string) => void>;
  /** Called whenever notifications may have been missed: the connection was lost, made anew, or silent for a while. */
  readonly onGap: () => void;
  readonly onError: (error: Error) => void;
  /** By which proofs grow old: monotonic, milliseconds. */
  readonly tick?: () => number;
}

const RECONNECT_MS = 500;
/**
 * A connection can die without a word (a cable, a NAT, a frozen server), so it is asked again and again. Postgres hands
 * a session what it was notified of before it answers the session's next statement: an answer proves that nothing told
 * before the question is still on its way.
 */
const PROBE_MS = 500;
/** For how long such a proof is good. Two probes fit in, so that a slow answer alone is no gap. */
const PROVEN_MS = 1_500;
/** A probe without an answer for so long ends the connection. */
const ANSWER_MS = 5_000;
/** A dead connection does not say goodbye either. */
const GOODBYE_MS = 1_000;

/** Holds one connection that listens on `channels` (names are ours, never input) and makes it anew when it breaks. */
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
    const sayGoodbye = () => client.end().catch(() => undefined);
    const stop = (): void => {
      over.abort(stopped.signal.reason);
      void sayGoodbye(); // a statement under way is given up
    };
    stopped.signal.addEventListener('abort', stop);
    client.on('error', (error) => over.abort(error));
    client.on('end', () => over.abort(new Error('The connection for notifications ended')));
    client.on('notification', ({ channel, payload }) => options.channels[channel]?.(payload ?? ''));
    try {
      // A client that is told to end while it connects never says how connecting went.
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
      await Promise.race([sayGoodbye(), delay(GOODBYE_MS, null, { ref: false })]);
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

/** Rejects with the reason. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
