import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface Listener {
  /** True while notifications arrive; while false, what they would have told is unknown. */
  isConnected(): boolean;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly channels: Record<string, (payload: string) => void>;
  /** Called whenever the connection is lost or made anew: notifications in between were missed. */
  readonly onGap: () => void;
  readonly onError: (error: Error) => void;
}

const RECONNECT_MS = 500;
/** A connection that died without a word (a cable, a NAT) is noticed by asking. */
const PROBE_MS = 15_000;

/** Holds one connection that listens on `channels` (names are ours, never input) and makes it anew when it breaks. */
export function listen(options: ListenOptions): Listener {
  const stopped = new AbortController();
  let connected = false;

  const holdConnection = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: options.databaseUrl,
      application_name: options.applicationName,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
      keepAlive: true,
    });
    const lost = new Promise<Error>((resolve) => {
      client.once('error', resolve);
      client.once('end', () => resolve(new Error('The connection for notifications ended')));
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      for (const channel of Object.keys(options.channels)) await client.query(`LISTEN "${channel}"`);
      client.on('notification', ({ channel, payload }) => options.channels[channel]?.(payload ?? ''));
      connected = true;
      options.onGap();
      while (!stopped.signal.aborted) {
        const end = await Promise.race([
          lost,
          delay(PROBE_MS, null, { ref: false, signal: stopped.signal }).catch(() => null),
        ]);
        if (end !== null) throw end;
        if (!stopped.signal.aborted) await client.query('SELECT 1');
      }
    } finally {
      connected = false;
      await client.end().catch(() => undefined);
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
    isConnected: () => connected,
    close: async () => {
      stopped.abort();
      await run;
    },
  };
}
