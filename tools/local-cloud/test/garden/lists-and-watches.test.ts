import { waitFor } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { WatchEvent, WatchStream } from './garden-client.js';
import { aSecret, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
let streams: WatchStream[];
beforeEach(async () => {
  garden = await startTestGarden();
  streams = [];
});
afterEach(async () => {
  for (const stream of streams) stream.stop();
  await garden.stop();
});

const SECRETS = '/api/v1/namespaces/garden-acme/secrets';

const list = async (query = '') => (await garden.call('GET', `${SECRETS}?${query}`)).body;
const make = (name: string, labels = {}) => {
  const secret = aSecret(name, 'x');
  return garden.call('POST', SECRETS, { ...secret, metadata: { ...secret.metadata, labels } });
};
const label = (name: string, labels: Record<string, string | null>) =>
  garden.call('PATCH', `${SECRETS}/${name}`, { metadata: { labels } }, 'application/merge-patch+json');
const watch = async (query: string): Promise<WatchStream> => {
  const stream = await garden.watch(`${SECRETS}?watch=true&${query}`);
  streams.push(stream);
  return stream;
};
const seen = ({ events }: { events: readonly WatchEvent[] }) =>
  events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason}`);
const untilSeen = (stream: WatchStream, ...lines: string[]) =>
  waitFor(`the events ${lines}`, () => {
    expect(seen(stream)).toEqual(lines);
    return true;
  });
const namesOf = ({ items }: { items: { metadata: { name: string } }[] }) => items.map(({ metadata }) => metadata.name);

describe('a list', () => {
  beforeEach(async () => {
    for (const [name, tier] of [
      ['a', 'web'],
      ['b', 'db'],
      ['c', 'web'],
    ] as const) {
      await make(name, { tier });
    }
  });

  it('comes in pages that show one version', async () => {
    const first = await list('limit=2');
    await make('aa');
    await garden.call('DELETE', `${SECRETS}/c`);
    const second = await list(`limit=2&continue=${first.metadata.continue}`);

    expect([namesOf(first), namesOf(second)]).toEqual([
      ['a', 'b'],
      ['c', 'conn'],
    ]);
    expect(first.metadata).toMatchObject({ resourceVersion: second.metadata.resourceVersion });
    expect(second.metadata.continue).toBeUndefined();
    expect(namesOf(await list())).toEqual(['a', 'aa', 'b', 'conn']);
  });

  it('answers 410 when its version has expired', async () => {
    const first = await list('limit=2');
    await make('d');
    garden.cloud.admin.garden.dropWatches({ expireHistory: true });

    const gone = await garden.call('GET', `${SECRETS}?limit=9&continue=${first.metadata.continue}`);

    expect([gone.status, gone.body.reason]).toEqual([410, 'Expired']);
  });

  it.each([
    ['labelSelector=tier%3Dweb', ['a', 'c']],
    ['labelSelector=tier%20in%20(db,cache)', ['b']],
  ])('selects by %s', async (query, names) => {
    expect(namesOf(await list(query))).toEqual(names);
  });

  it('can span namespaces', async () => {
    const { body } = await garden.call('GET', '/api/v1/secrets');

    expect(body).toMatchObject({ kind: 'SecretList', apiVersion: 'v1', items: expect.any(Array) });
    expect(namesOf(body)).toEqual(['a', 'b', 'c', 'conn']);
  });

  it.each([
    ['continue=abc', 400, 'BadRequest'],
    ['limit=-1', 400, 'BadRequest'],
    ['labelSelector=a%3Db%3Dc%3Dd,,', 400, 'BadRequest'],
    ['fieldSelector=data%3Dx', 400, 'BadRequest'],
  ])('with %s is refused', async (query, status, reason) => {
    const answer = await garden.call('GET', `${SECRETS}?${query}`);

    expect([answer.status, answer.body.reason]).toEqual([status, reason]);
  });
});

describe('a long answer', () => {
  const answerOf = async (path: string, encodings: string) => {
    const { headers, body } = await garden.call('GET', path, undefined, undefined, { 'Accept-Encoding': encodings });
    const { 'content-encoding': encoding, vary, 'content-length': length } = headers;
    return { encoding, vary, length: length === undefined ? 'unknown' : 'announced', body };
  };
  beforeEach(async () => {
    await make('a', { long: 'x' });
    const annotations = { note: 'x'.repeat(140_000) };
    await garden.call('PATCH', `${SECRETS}/a`, { metadata: { annotations } }, 'application/merge-patch+json');
  });

  it.each([['gzip'], ['br, gzip'], ['gzip,deflate']])('is compressed for those who accept %s', async (encodings) => {
    for (const path of [SECRETS, `${SECRETS}/a`]) {
      const { body, ...packed } = await answerOf(path, encodings);

      expect(packed).toEqual({ encoding: 'gzip', vary: 'Accept-Encoding', length: 'unknown' });
      expect(body).toEqual((await garden.call('GET', path)).body);
    }
  });

  it.each([['identity'], ['br'], ['*'], ['gzip;q=1'], ['GZIP']])(
    'is not compressed for those who accept %s',
    async (encodings) => {
      expect(await answerOf(SECRETS, encodings)).toMatchObject({ encoding: undefined, length: 'announced' });
    },
  );

  it('is compressed only if it has more than 128 KiB', async () => {
    expect(await answerOf(`${SECRETS}/conn`, 'gzip')).toMatchObject({ encoding: undefined, length: 'announced' });
  });
});

describe('an answer with metadata only', () => {
  const asKind = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1`;
  const get = async (path: string, accept: string) =>
    (await garden.call('GET', path, undefined, undefined, { Accept: accept })).body;

  it('lists the metadata of each object, in the order of a real API server', async () => {
    await make('a', { tier: 'web' });
    const whole = await list();

    const body = await get(SECRETS, asKind('PartialObjectMetadataList'));

    expect(body).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
    expect(body.metadata).toEqual(whole.metadata);
    expect(body.items).toEqual(
      whole.items.map(({ metadata }: { metadata: object }) => ({
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata,
      })),
    );
    expect(Object.keys(body.items[0].metadata).slice(0, 4)).toEqual(['name', 'namespace', 'uid', 'resourceVersion']);
  });

  it('shows the metadata of one object', async () => {
    await make('a');

    const body = await get(`${SECRETS}/a`, asKind('PartialObjectMetadata'));

    expect(Object.keys(body).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  it('is the first that the garden can send, by weight', async () => {
    const shapeOf = async (accept: string) => (await get(SECRETS, accept)).kind;

    expect(await shapeOf(`${asKind('Cake')}, application/json`)).toBe('SecretList');
    expect(await shapeOf(`application/json;q=0.1, ${asKind('PartialObjectMetadataList')}`)).toBe(
      'PartialObjectMetadataList',
    );
    expect(await shapeOf('text/html, */*')).toBe('SecretList');
  });

  it.each([
    ['an unknown kind', asKind('Cake')],
    ['a kind of another group', 'application/json;as=PartialObjectMetadataList;g=core.k8s.io;v=v1'],
    ['the kind of a single object for a list', asKind('PartialObjectMetadata')],
    ['another format', 'text/html'],
  ])('is refused for %s', async (_what, accept) => {
    expect(await get(SECRETS, accept)).toMatchObject({ kind: 'Status', code: 406, reason: 'NotAcceptable' });
  });
});

describe('a watch', () => {
  it('delivers every event after its version, even after a disconnect', async () => {
    const { metadata } = await list();
    const first = await watch(`resourceVersion=${metadata.resourceVersion}`);
    await make('a');
    await untilSeen(first, 'ADDED a');
    first.stop();
    await label('a', { x: 'y' });
    await garden.call('DELETE', `${SECRETS}/a`);

    const version = first.events.at(-1)?.object.metadata.resourceVersion;
    const second = await watch(`resourceVersion=${version}`);

    await untilSeen(second, 'MODIFIED a', 'DELETED a');
  });

  it('without a version begins with the existing objects', async () => {
    const stream = await watch('');

    await untilSeen(stream, 'ADDED conn');
  });

  it('with a selector reports objects that begin or cease to match', async () => {
    const { metadata } = await list();
    const stream = await watch(`labelSelector=tier&resourceVersion=${metadata.resourceVersion}`);

    await make('a');
    await label('a', { tier: 'web' });
    await label('a', { tier: 'db' });
    await label('a', { tier: null });

    await untilSeen(stream, 'ADDED a', 'MODIFIED a', 'DELETED a');
  });

  it('receives bookmarks on request', async () => {
    garden.cloud.admin.garden.changeSettings({ bookmarkMs: 10 });
    const { metadata } = await list();
    const stream = await watch(`allowWatchBookmarks=true&resourceVersion=${metadata.resourceVersion}`);

    const event = await waitFor('a bookmark', () => stream.events[0]);

    expect(event).toEqual({
      type: 'BOOKMARK',
      object: { kind: 'Secret', apiVersion: 'v1', metadata: { resourceVersion: expect.any(String) } },
    });
  });

  it('ends at its timeout, with a last bookmark', async () => {
    const { metadata } = await list();
    const stream = await watch(`allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`);

    await stream.ended;

    expect(stream.events.map(({ type }) => type)).toEqual(['BOOKMARK']);
  });

  it('from an expired version gets the error inside the stream', async () => {
    const { metadata } = await list();
    await make('a');
    garden.cloud.admin.garden.dropWatches({ expireHistory: true });

    const stream = await watch(`resourceVersion=${metadata.resourceVersion}`);
    await stream.ended;

    expect(stream.status).toBe(200);
    expect(stream.events).toMatchObject([{ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }]);
  });

  it('is ended by the admin API, and can resume', async () => {
    const { metadata } = await list();
    const stream = await watch(`resourceVersion=${metadata.resourceVersion}`);
    expect(garden.cloud.admin.garden.contents().openWatches).toBe(1);

    garden.cloud.admin.garden.dropWatches();
    await stream.ended;
    await make('a');
    const resumed = await watch(`resourceVersion=${metadata.resourceVersion}`);

    await untilSeen(resumed, 'ADDED a');
  });

  it('can span namespaces', async () => {
    const stream = await garden.watch('/apis/core.gardener.cloud/v1beta1/shoots?watch=1');
    streams.push(stream);

    await garden.createReady({ name: 'seen' });

    expect(stream.events[0]).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'seen' } } });
  });
});
