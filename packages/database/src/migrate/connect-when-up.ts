import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { prepareSession } from '../connect.js';

export type ConnectOptions = { timeoutMs: number; log: (message: string) => void };

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 2_000;

/** Error codes of a server that is starting, stopping or failing over. */
const PASSING = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND', // a Compose or Kubernetes service that is not in DNS yet
  'EAI_AGAIN',
  'ETIMEDOUT',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '25006', // a standby that will be the primary
]);

/** Connects, and retries for `timeoutMs` while Postgres is starting. */
export async function connectWhenUp(databaseUrl: string, { timeoutMs, log }: ConnectOptions): Promise<pg.Client> {
  const deadline = performance.now() + timeoutMs;
  for (let retryMs = RETRY_MS_MIN; ; retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)) {
    const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined); // the next query reports the broken connection
    try {
      await client.connect();
      await prepareSession()(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      if (!isPassing(error) || performance.now() + retryMs > deadline) throw error;
      if (retryMs === RETRY_MS_MIN) log('waiting for Postgres');
    }
    await pause(retryMs);
  }
}

function isPassing(error: unknown): boolean {
  const errors = error instanceof AggregateError ? error.errors : [error];
  return errors.some(
    (each) => PASSING.has((each as { code?: string }).code ?? '') || /timeout expired/.test(String(each)),
  );
}
