import type { ServerResponse } from 'node:http';
import { waitFor } from '@corral/testing';
import type { GardenOptions, ShootWatch, WatchState } from '../src/index.js';
import { aClient, answerJson, aShoot, startServer, type TestServer } from './a-garden.js';

/** An open watch of the server. */
export interface OpenWatch {
  query: URLSearchParams;
  response: ServerResponse;
  send(type: string, object: object): void;
}

type Answer = (query: URLSearchParams, response: ServerResponse) => void;

/** A garden that serves only a list and watches of Shoots, controlled by the test. */
export interface ShootServer extends Pick<TestServer, 'url' | 'close'> {
  shoots: ReturnType<typeof aShoot>[];
  lists: URLSearchParams[];
  /** All watches since the start, including ended ones. */
  watches: OpenWatch[];
  /** Answers that are used first, in order. */
  nextLists: Answer[];
  nextWatches: Answer[];
}

/** The version of a list is `100`, or the result of `version`. */
async function startShootServer(version: () => string = () => '100'): Promise<ShootServer> {
  const state = {
    shoots: [] as ReturnType<typeof aShoot>[],
    lists: [] as URLSearchParams[],
    watches: [] as OpenWatch[],
    nextLists: [] as Answer[],
    nextWatches: [] as Answer[],
  };
  const list: Answer = (query, response) => {
    const from = Number(query.get('continue') ?? 0);
    const until = from + Number(query.get('limit'));
    const rest = state.shoots.length > until ? { continue: String(until) } : {};
    answerJson(response, 200, {
      metadata: { resourceVersion: version(), ...rest },
      items: state.shoots.slice(from, until),
    });
  };
  const watch: Answer = (_query, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
  };
  const server = await startServer(({ path }, response) => {
    const { searchParams: query } = new URL(path, 'http://x');
    if (query.get('watch') === null) {
      state.lists.push(query);
      (state.nextLists.shift() ?? list)(query, response);
      return;
    }
    const send = (type: string, object: object) => {
      // Nobody would get it, and a test would go on as if an event had come.
      if (response.writableEnded) throw new Error('This watch has ended.');
      response.write(`${JSON.stringify({ type, object })}\n`);
    };
    (state.nextWatches.shift() ?? watch)(query, response);
    state.watches.push({ query, response, send });
  });
  return Object.assign(state, { url: server.url, close: server.close });
}

export function aVersion(resourceVersion: string, name = 'c1234567'): ReturnType<typeof aShoot> {
  return aShoot({ metadata: { resourceVersion, name, uid: `uid-${name}` } });
}

export const aBookmark = (resourceVersion: string) => ({ kind: 'Shoot', metadata: { resourceVersion } });

const ends: (() => Promise<unknown>)[] = [];

/** Ends watches and servers of a test. For `afterEach`. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** Watches, and logs what is delivered as text: `page c1,c2`, `listed`, `changed c1@101`. */
export async function watching(
  server: ShootServer,
  overrides: Partial<ShootWatch> = {},
  options: Partial<GardenOptions> = {},
) {
  const reported: string[] = [];
  const states: WatchState[] = [];
  const stop = new AbortController();
  const test = aClient(server.url, { bodyBytesMax: 1_000_000, ...options });
  const ended = test.client.watchShoots({
    labelSelector: 'corral.dev/managed=true',
    onPage: (shoots) => void reported.push(`page ${shoots.map(({ metadata }) => metadata.name).join()}`),
    onListed: () => void reported.push('listed'),
    onEvents: (events) =>
      void reported.push(
        ...events.map(({ type, shoot: { metadata } }) => `${type} ${metadata.name}@${metadata.resourceVersion}`),
      ),
    signal: stop.signal,
    relistEveryMs: 3_600_000,
    onState: (state) => states.push(state),
    ...overrides,
  });
  ends.push(() => {
    stop.abort();
    return ended;
  });
  return { ...test, reported, states, ended, stop };
}

export async function aServer(): Promise<ShootServer> {
  const server = await startShootServer();
  ends.push(() => server.close());
  return server;
}

/** Waits until this number of watches was opened, and returns the last one. */
export const watchNumber = (server: ShootServer, count: number): Promise<OpenWatch> =>
  waitFor(`${count} watches`, () => server.watches[count - 1]);

/** Repeats expectations until they hold. */
export const eventually = (expectations: () => void): Promise<true> =>
  waitFor('expectations', () => {
    expectations();
    return true;
  });
