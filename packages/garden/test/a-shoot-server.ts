import type { IncomingMessage, ServerResponse } from 'node:http';
import { waitFor } from '@corral/testing';
import type { Shoot, ShootWatch, WatchState } from '../src/index.js';
import { aClient, answerJson, aShoot, aStatus, startServer, type TestServer } from './a-garden.js';

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
  /** What each list accepted, and the paths of the single Shoots that were read. */
  accepted: string[];
  /** The compression that each list accepted. */
  encodings: (string | undefined)[];
  reads: string[];
  /** Whether it sends only the metadata of Shoots to those who ask for it. Default: true */
  knowsMetadata: boolean;
  /** Lists the metadata. */
  metadata: Answer;
  /** Answers that are used first, in order. Those of metadata are used before the others. */
  nextLists: Answer[];
  nextMetadataLists: Answer[];
  nextReads: Answer[];
  nextWatches: Answer[];
}

/** The version of a list is `100`, or the result of `version`. */
async function startShootServer(version: () => string = () => '100'): Promise<ShootServer> {
  const state = {
    shoots: [] as ReturnType<typeof aShoot>[],
    lists: [] as URLSearchParams[],
    watches: [] as OpenWatch[],
    accepted: [] as string[],
    encodings: [] as (string | undefined)[],
    reads: [] as string[],
    knowsMetadata: true,
    metadata: (query: URLSearchParams, response: ServerResponse) => page(query, response, onlyMetadata),
    nextLists: [] as Answer[],
    nextMetadataLists: [] as Answer[],
    nextReads: [] as Answer[],
    nextWatches: [] as Answer[],
  };
  const page = (query: URLSearchParams, response: ServerResponse, show: (shoot: object) => object) => {
    const from = Number(query.get('continue') ?? 0);
    const until = from + Number(query.get('limit'));
    const rest = state.shoots.length > until ? { continue: String(until) } : {};
    answerJson(response, 200, {
      metadata: { resourceVersion: version(), ...rest },
      items: state.shoots.slice(from, until).map(show),
    });
  };
  const list: Answer = (query, response) => page(query, response, (shoot) => shoot);
  const read = (name: string): Answer => {
    const shoot = state.shoots.find(({ metadata }) => metadata.name === name);
    const absent = aStatus(404, 'NotFound', `shoots "${name}" not found`, { name });
    return (_query, response) => answerJson(response, shoot === undefined ? 404 : 200, shoot ?? absent);
  };
  const watch: Answer = (_query, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
  };
  const server = await startServer(
    ({ path, headers }: { path: string; headers: IncomingMessage['headers'] }, response) => {
      const { pathname, searchParams: query } = new URL(path, 'http://x');
      if (!pathname.endsWith('/shoots')) {
        state.reads.push(pathname);
        (state.nextReads.shift() ?? read(pathname.split('/').at(-1) ?? ''))(query, response);
        return;
      }
      if (query.get('watch') === null) {
        const { accept = '' } = headers;
        state.lists.push(query);
        state.accepted.push(accept);
        state.encodings.push(headers['accept-encoding']);
        const isShort = state.knowsMetadata && accept.includes('as=PartialObjectMetadataList');
        const next = (isShort ? state.nextMetadataLists.shift() : undefined) ?? state.nextLists.shift();
        (next ?? (isShort ? state.metadata : list))(query, response);
        return;
      }
      const send = (type: string, object: object) => {
        // Nobody would get it, and a test would go on as if an event had come.
        if (response.writableEnded) throw new Error('This watch has ended.');
        response.write(`${JSON.stringify({ type, object })}\n`);
      };
      (state.nextWatches.shift() ?? watch)(query, response);
      state.watches.push({ query, response, send });
    },
  );
  return Object.assign(state, { url: server.url, close: server.close });
}

const onlyMetadata = (shoot: object): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: (shoot as ReturnType<typeof aShoot>).metadata,
});

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
export async function watching(server: ShootServer, overrides: Partial<ShootWatch<Shoot>> = {}) {
  const reported: string[] = [];
  const states: WatchState[] = [];
  const stop = new AbortController();
  const test = aClient(server.url, { bodyBytesMax: 1_000_000 });
  const ended = test.client.watchShoots({
    labelSelector: 'corral.dev/managed=true',
    summarize: (shoot) => shoot,
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

/** Waits until a watch is open, and returns it. One that has ended stays the newest until the next one begins. */
export const openWatch = ({ watches }: ShootServer): Promise<OpenWatch> =>
  waitFor('an open watch', () => (watches.at(-1)?.response.writableEnded === false ? watches.at(-1) : null));

/** Repeats expectations until they hold. */
export const eventually = (expectations: () => void): Promise<true> =>
  waitFor('expectations', () => {
    expectations();
    return true;
  });
