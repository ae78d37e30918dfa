import { connect } from 'node:net';
import type { Log } from '@corral/service';
import {
  createEmptyDatabase,
  deleteRows,
  type FlakyProxy,
  type Missing,
  missingRedis,
  redisForTests,
  startFlakyProxy,
  type TestRedis,
  waitFor,
} from '@corral/testing';
import pg from 'pg';
import type { BackendOptions } from '../src/backend.js';
import { jobs } from '../src/jobs.js';
import { prepareQueue } from '../src/prepare-queue.js';
import type { JobHandlers, WorkerOptions } from '../src/start-worker.js';

export type TestBackend = {
  title: 'Redis' | 'Postgres';
  missing: Missing | null;
  /** Starts the server for one test file. */
  open(): Promise<OpenBackend>;
};

export type OpenBackend = {
  /** An empty store. */
  start(): Promise<StartedBackend>;
  close(): Promise<void>;
};

export type StartedBackend = { options: BackendOptions; proxy: FlakyProxy };

export const testBackends: TestBackend[] = [
  {
    title: 'Postgres',
    missing: null,
    async open() {
      const database = await createEmptyDatabase();
      // The first job of a test does not wait for that.
      await prepareQueue({ databaseUrl: database.url });
      return {
        async start() {
          const client = new pg.Client({ connectionString: database.url });
          await client.connect();
          await deleteRows(client);
          await client.end();
          return behindProxy(database.url, (databaseUrl) => ({ databaseUrl }));
        },
        close: () => database.drop(),
      };
    },
  },
  {
    title: 'Redis',
    missing: missingRedis(),
    async open() {
      const redis = (await redisForTests()) as TestRedis;
      return {
        async start() {
          await redisCommand(redis.url, 'FLUSHALL');
          return behindProxy(redis.url, (redisUrl) => ({ redisUrl, databaseUrl: 'postgres://unused' }));
        },
        close: () => redis.stop(),
      };
    },
  },
];

/** The server at `target` behind a proxy. */
async function behindProxy(target: string, toOptions: (url: string) => BackendOptions): Promise<StartedBackend> {
  const url = new URL(target);
  const proxy = await startFlakyProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  return { options: toOptions(url.toString()), proxy };
}

/** Sends one command to the server at `url`. */
export async function redisCommand(url: string, command: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.write(`${command}\r\n`);
  await waitFor(`Redis to answer ${command}`, () => answer.startsWith('+OK') || Promise.reject(new Error(answer)));
  socket.destroy();
}

/** A log that records its lines. */
export function memoryLog(): { log: Log; lines: { level: string; message: string; fields: object }[] } {
  const lines: { level: string; message: string; fields: object }[] = [];
  const at =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void lines.push({ level, message, fields });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return { log, lines };
}

const refuse = async (): Promise<never> => {
  throw new Error('This test expects no such job.');
};

/** Handlers where all jobs except the given ones fail. */
const someHandlers = (handlers: Partial<JobHandlers>): JobHandlers =>
  ({ ...Object.fromEntries(Object.keys(jobs).map((name) => [name, refuse])), ...handlers }) as JobHandlers;

/** Queues that share the handlers, each with `concurrency` concurrent jobs. */
export function someQueues(handlers: Partial<JobHandlers>, concurrency = 4): WorkerOptions['queues'] {
  const served = { handlers: someHandlers(handlers), concurrency };
  return { dns: served, clusters: served, upkeep: served };
}

/** A job that waits until the test releases it. */
export function heldJob() {
  let runs = 0;
  const waiting: (() => void)[] = [];
  return {
    runs: () => runs,
    handler: async () => {
      runs += 1;
      await new Promise<void>((resolve) => waiting.push(resolve));
    },
    release: () => waiting.splice(0).map((resolve) => resolve()),
  };
}
