import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CorralError, createClient, edit, type StreamMessage } from '@corral/client';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventDefaults } from '../src/app-config.js';
import { aClusterSpec } from './support/a-cluster.js';
import { type ClusterTest, startWithConnection } from './support/clusters.js';
import { listen } from './support/listen.js';

let t: ClusterTest;
let served: Awaited<ReturnType<typeof listen>>;
let url: string;
let token: string;
beforeAll(async () => {
  t = await startWithConnection({ config: { events: { ...eventDefaults, heartbeatMs: 200 } } });
  served = await listen(t.app);
  ({ url } = served);
  token = await t.createAccount(t.acme, 'ci', { role: 'member' });
});
afterAll(async () => {
  await served.close({ immediately: true });
  await t.close();
});

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const asAccount = (bearer = token) => createClient({ baseUrl: url, credentials: { bearer } });
const asMember = async () => {
  const [, session = ''] = /sessionid=([^;]+)/.exec(await t.signIn(t.acme.member)) ?? [];
  return createClient({ baseUrl: url, credentials: { session } });
};
const named = (name: string) => ({ team: 'acme', name });
const declaration = () => ({ body: { spec: aClusterSpec({}) } });

async function errorOf(work: Promise<unknown>): Promise<CorralError> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof CorralError)) throw new Error('It was accepted.', { cause: error });
  return error;
}

/** The first program in the README of the package, in a folder where it is installed. */
async function exampleOf(readme: string): Promise<string> {
  const [, program] = /```ts\n(.*?)```/s.exec(await readFile(readme, 'utf8')) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'corral-example-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'node_modules', '@corral'), { recursive: true });
  await symlink(here('../../../packages/client'), join(folder, 'node_modules', '@corral', 'client'));
  await writeFile(join(folder, 'example.mjs'), program as string);
  return join(folder, 'example.mjs');
}
const example = await exampleOf(here('../../../packages/client/README.md'));

describe('the typed client', () => {
  it('does what its README shows', async () => {
    const env = { PATH: process.env.PATH, CORRAL_URL: url, CORRAL_TOKEN: token };
    const running = promisify(execFile)(process.execPath, [example], { env });
    await waitFor('a declared cluster', () => t.db.cluster.findFirst({ where: { name: 'web' } }));
    await t.clusters.converge('web');
    const { stdout, stderr } = await running;

    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['succeeded 100 %', 'web Ready']));
  });

  it('creates only what does not exist, and changes only what it has read', async () => {
    const corral = asAccount();
    const { body, operation } = await corral.putCluster(named('once'), { ...declaration(), ifNoneMatch: '*' });
    expect(body).toMatchObject({ resource: { metadata: { name: 'once' } }, operation: { id: operation?.id } });
    expect(await errorOf(corral.putCluster(named('once'), { ...declaration(), ifNoneMatch: '*' }))).toMatchObject({
      status: 412,
      code: 'precondition_failed',
      operationId: 'putCluster',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });

    const read = await corral.getCluster(named('once'));
    expect(await corral.readIfChanged('getCluster', named('once'), read.etag as string)).toBeNull();
    const nodePools = read.body.spec.nodePools.map((pool) => ({ ...pool, maximum: 9 }));
    const changed = { body: { spec: { ...read.body.spec, nodePools } } };
    await corral.putCluster(named('once'), { ...changed, ifMatch: read.etag as string });
    expect(await corral.readIfChanged('getCluster', named('once'), read.etag as string)).toMatchObject({
      body: { spec: { nodePools: [{ maximum: 9 }] } },
    });
    await expect(
      corral.putCluster(named('once'), { ...declaration(), ifMatch: read.etag as string }),
    ).rejects.toThrow();
  });

  it('loses no change of two programs that edit the same cluster', async () => {
    await t.clusters.declare('shared');
    const corral = asAccount();
    const grow = () =>
      edit(
        () => corral.getCluster(named('shared')),
        ({ spec }, ifMatch) => {
          const nodePools = spec.nodePools.map((pool) => ({ ...pool, maximum: pool.maximum + 1 }));
          return corral.putCluster(named('shared'), { body: { spec: { ...spec, nodePools } }, ifMatch });
        },
      );
    const before = (await corral.getCluster(named('shared'))).body.spec.nodePools[0]?.maximum ?? 0;
    await Promise.all([grow(), grow(), grow()]);

    expect((await corral.getCluster(named('shared'))).body.spec.nodePools[0]?.maximum).toBe(before + 3);
  });

  it('follows the changes of a team until the session ends', async () => {
    const corral = await asMember();
    const seen: StreamMessage[] = [];
    const following = (async () => {
      for await (const message of corral.followEvents('acme')) seen.push(message);
    })();
    await waitFor('the start of the stream', () => seen.some(({ type }) => type === 'reload'));
    await t.clusters.declareDraft('watched');
    await waitFor('the event', () =>
      seen.some((each) => each.type === 'event' && each.event.kind === 'Cluster' && each.event.name === 'watched'),
    );
    await corral.signOut();

    expect(await errorOf(following)).toMatchObject({ status: 401, operationId: 'streamTeamEvents' });
  });
});
