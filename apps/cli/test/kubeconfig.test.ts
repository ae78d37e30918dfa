import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import type { Kubeconfig } from '../src/kubeconfig/issue.js';
import { kubeconfigPath, mergeKubeconfig } from '../src/kubeconfig/merge.js';
import { type Moment, msSince } from '../src/kubeconfig/moment.js';
import { nameEntries } from '../src/kubeconfig/names.js';
import { type FakeService, type Folder, runCorral, startService, temporaryFolder } from './support/run-corral.js';

const config = (name: string, server: string): Kubeconfig => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name, cluster: { server } }],
  users: [{ name, user: { token: `of-${name}` } }],
  contexts: [{ name, context: { cluster: name, user: name } }],
  'current-context': name,
});
const current = { isCurrent: true };
describe('a merged kubeconfig', () => {
  it('keeps everything of others, comments and unknown members too', () => {
    const before = [
      'apiVersion: v1',
      'kind: Config',
      'preferences: {}',
      '# the old one',
      'clusters:',
      '  - name: old # never touch',
      '    cluster: {server: https://old, extensions: [{name: x}]}',
      'users: []',
      'contexts: null',
      'current-context: old',
      '',
    ].join('\n');

    const merged = mergeKubeconfig(before, config('acme/web', 'https://web'), { isCurrent: false });

    expect(merged).toContain('# the old one');
    expect(merged).toContain('# never touch');
    expect(parse(merged)).toEqual({
      ...config('acme/web', 'https://web'),
      preferences: {},
      clusters: [
        { name: 'old', cluster: { server: 'https://old', extensions: [{ name: 'x' }] } },
        { name: 'acme/web', cluster: { server: 'https://web' } },
      ],
      'current-context': 'old',
    });
  });

  it('replaces entries of the same name, so that a second merge changes nothing', () => {
    const once = mergeKubeconfig('', config('acme/web', 'https://web'), current);
    const other = mergeKubeconfig(once, config('acme/api', 'https://api'), current);

    expect(mergeKubeconfig(other, config('acme/api', 'https://api'), current)).toBe(other);
    const renewed = { ...config('acme/web', 'https://web'), users: [{ name: 'acme/web', user: { token: 'new' } }] };
    expect(parse(mergeKubeconfig(once, renewed, current)).users).toEqual(renewed.users);
    expect(parse(other)['current-context']).toBe('acme/api');
  });

  it.each(['{', '- a', 'clusters: text', 'contexts: [*nowhere]', 'a: 1\n---\na: 2'])(
    'is refused where the existing text is %j',
    (text) => {
      expect(() => mergeKubeconfig(text, config('a', 'b'), current)).toThrow('The existing kubeconfig is not valid');
    },
  );
});

it('goes to the file that kubectl writes', () => {
  const separator = process.platform === 'win32' ? ';' : ':';

  expect(kubeconfigPath({ KUBECONFIG: `${separator}/one${separator}/two` })).toBe('/one');
  expect(kubeconfigPath({ HOME: '/home/ann' })).toMatch(/home.ann.\.kube.config$/);
});

/** A kubeconfig as the API issues it: two addresses, one user, contexts named after team and cluster. */
function issued(name: string, id = name, separator = ':'): Kubeconfig {
  const of = (address: string) => `garden--${id}-${address}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: ['external', 'internal'].map((address) => ({
      name: of(address),
      cluster: { server: `https://${address}.${id}` },
    })),
    users: [{ name: `garden--${id}`, user: { token: `of ${id}` } }],
    contexts: [
      { name, context: { cluster: of('external'), user: `garden--${id}` } },
      { name: `${name}${separator}2`, context: { cluster: of('internal'), user: `garden--${id}` } },
    ],
    'current-context': name,
  };
}
const merged = (...configs: Kubeconfig[]) =>
  configs.reduce((text, config) => mergeKubeconfig(text, config, current), '');

/** Tells where each context leads, and as whom. */
function reached(text: string): Record<string, string> {
  const { clusters, users, contexts } = parse(text) as Record<
    'clusters' | 'users' | 'contexts',
    { name: string; cluster: { server: string }; user: { token: string }; context: Record<string, string> }[]
  >;
  return Object.fromEntries(
    contexts.map(({ name, context }) => [
      name,
      `${clusters.find((each) => each.name === context.cluster)?.cluster.server} ${users.find((each) => each.name === context.user)?.user.token}`,
    ]),
  );
}

describe('the names in a kubeconfig', () => {
  it('are none that another cluster can have, whatever the service called its second address', () => {
    for (const separator of [':', '-']) {
      expect(nameEntries(issued('acme/web', 'web', separator)).contexts.map(({ name }) => name)).toEqual([
        'acme/web',
        'acme/web:2',
      ]);
    }
  });

  it('are the given one for all entries', () => {
    const named = nameEntries(issued('acme/web'), 'mine');

    expect([named.clusters, named.users, named.contexts].map((each) => each.map(({ name }) => name))).toEqual([
      ['mine', 'mine:2'],
      ['mine'],
      ['mine', 'mine:2'],
    ]);
    expect(named['current-context']).toBe('mine');
    expect(reached(merged(named))).toEqual({
      mine: 'https://external.acme/web of acme/web',
      'mine:2': 'https://internal.acme/web of acme/web',
    });
  });
});

describe('a merge', () => {
  it('is refused where a name is one of another cluster, and says what to do', () => {
    const web2 = merged(issued('acme/web', 'web', '-'));

    expect(() => mergeKubeconfig(web2, issued('acme/web-2', 'web-2'), current)).toThrow(
      'The kubeconfig has a context acme/web-2 of another cluster, https://internal.web. Choose another name with ' +
        '--name, or remove it first: kubectl config delete-context acme/web-2.',
    );
    // The same team and name in another installation.
    expect(() => mergeKubeconfig(merged(issued('acme/web', 'a')), issued('acme/web', 'b'), current)).toThrow(
      'a context acme/web of another cluster',
    );
  });

  it('is refused where two clusters have one address and other certificates', () => {
    const behind = (host: string): Kubeconfig => ({
      ...issued('acme/web'),
      clusters: [{ name: 'web', cluster: { server: 'https://127.0.0.1', 'tls-server-name': host } }],
    });

    expect(() => mergeKubeconfig(merged(behind('one')), behind('two'), current)).toThrow(
      'a cluster web of another cluster, https://127.0.0.1 (one)',
    );
  });

  it('is refused where the user is one that contexts of another cluster use', () => {
    const other = { ...issued('their/one'), users: [{ name: 'garden--web', user: { token: 'theirs' } }] };
    const [first] = other.contexts;
    const text = merged({
      ...other,
      contexts: [{ name: 'theirs', context: { ...(first?.context as object), user: 'garden--web' } }],
    });

    expect(() => mergeKubeconfig(text, issued('acme/web', 'web'), current)).toThrow('has a user garden--web');
  });

  it('counts the names of all files that kubectl reads', () => {
    const others = [merged(issued('acme/web', 'a')), ': no yaml ['];

    expect(() => mergeKubeconfig('', issued('acme/web', 'b'), { ...current, others })).toThrow('another cluster');
    expect(mergeKubeconfig('', issued('acme/web', 'a'), { ...current, others })).toContain('acme/web');
  });

  it('keeps the namespace that somebody chose for the context', () => {
    const text = merged(issued('acme/web')).replace('user: garden--acme/web\n', '$&      namespace: dev\n');

    expect(mergeKubeconfig(text, issued('acme/web'), current)).toContain('namespace: dev');
  });

  it('never changes where a name of another cluster leads, in whatever order and under whatever names', () => {
    const name = fc.constantFrom('acme/web', 'acme/web-2', 'acme/web-2-2', 'globex/web');
    const step = fc.record({
      name,
      installation: fc.constantFrom('one', 'two'),
      separator: fc.constantFrom(':', '-'),
      given: fc.option(fc.constantFrom('mine', 'mine:2', 'acme/web', 'acme/web-2', 'garden--one/acme/web'), {
        nil: undefined,
      }),
      isRaw: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        let text = '';
        for (const { name: cluster, installation, separator, given, isRaw } of steps) {
          const id = `${installation}/${cluster}`;
          const kubeconfig = issued(cluster, id, separator);
          const before = text === '' ? {} : reached(text);
          try {
            text = mergeKubeconfig(text, isRaw ? kubeconfig : nameEntries(kubeconfig, given), current);
          } catch (error) {
            expect(String(error)).toContain('of another cluster');
          }
          const after = text === '' ? {} : reached(text);
          for (const [context, place] of Object.entries(before)) expect(after[context]).toBe(place);
        }
      }),
      { numRuns: 30 },
    );
  });
});

const then: Moment = { clock: 1_000_000, uptime: 50_000 };

it.each<[what: string, now: Moment, ms: number | null]>([
  ['is the time that passed', { clock: 1_060_000, uptime: 110_000 }, 60_000],
  ['is right after the clock was set back', { clock: 400_000, uptime: 110_000 }, 60_000],
  ['is right after a start of the machine', { clock: 1_060_000, uptime: 3_000 }, 60_000],
  ['is too long after the clock was set forward', { clock: 9_000_000, uptime: 110_000 }, 8_000_000],
  ['is unknown after a start with a clock that is behind', { clock: 0, uptime: 3_000 }, null],
])('the time since a moment %s', (_what, now, ms) => {
  expect(msSince(then, now)).toBe(ms);
});

describe('what kubectl asks for with every command, on a machine whose clock differs from that of the service', () => {
  const MINUTE = 60_000;
  const started = Date.now();
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  let folder: Folder;
  let service: FakeService;
  let issued: number;
  /** What passes for everybody, and by how much the clock of this machine is wrong. */
  let [passed, wrong, grantedMs] = [0, 0, 60 * MINUTE];

  beforeEach(async () => {
    folder = await temporaryFolder();
    [issued, passed, wrong, grantedMs] = [0, 0, 0, 60 * MINUTE];
    service = await startService((_request, _body, response) => {
      issued += 1;
      const user = { 'client-certificate-data': base64(`certificate ${issued}`), 'client-key-data': base64('key') };
      const now = started + passed;
      response.writeHead(200, { 'Content-Type': 'application/json', Date: new Date(now).toUTCString() }).end(
        JSON.stringify({
          kubeconfig: stringify({ clusters: [], contexts: [], users: [{ name: 'u', user }], 'current-context': 'c' }),
          expiresAt: new Date(now + grantedMs).toISOString(),
          scope: 'cluster-admin',
        }),
      );
    });
    jest.spyOn(Date, 'now').mockImplementation(() => started + passed + wrong);
    jest.spyOn(os, 'uptime').mockImplementation(() => (1_000 * MINUTE + passed) / 1_000);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await service.close();
    await folder.remove();
  });

  const corral = (args: string[]) =>
    runCorral(['kubeconfig', ...args, '--team', 'acme'], {
      env: {
        KUBECONFIG: folder.file('kubeconfig'),
        CORRAL_CONFIG: folder.file('config.yaml'),
        CORRAL_CACHE: folder.path,
        CORRAL_URL: service.url,
        CORRAL_TOKEN: 'corral_x',
      },
    });

  async function kubectlAsks(...args: string[]) {
    const { code, err, out } = await corral(['credential', 'web', ...args]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const { status } = JSON.parse(out);
    return { of: status.clientCertificateData, leftMs: Date.parse(status.expirationTimestamp) - Date.now() };
  }

  it.each([
    ['right', 0],
    ['a day ahead', 24 * 60 * MINUTE],
    ['a day behind', -24 * 60 * MINUTE],
  ])('is kept until a minute before its end by a clock that is %s', async (_what, by) => {
    wrong = by;

    const first = await kubectlAsks();
    passed = 58 * MINUTE;
    const later = await kubectlAsks();
    passed = 59 * MINUTE + 1;
    const last = await kubectlAsks();

    expect([first.of, later.of, last.of]).toEqual(['certificate 1', 'certificate 1', 'certificate 2']);
    // The service tells its time in seconds.
    for (const [{ leftMs }, minutes] of [
      [first, 60],
      [later, 2],
      [last, 60],
    ] as const) {
      expect(Math.abs(leftMs - minutes * MINUTE)).toBeLessThanOrEqual(1_000);
    }
  });

  it('is one at most when a clock is set, and is not handed out after its end', async () => {
    for (const by of [0, 5 * 60 * MINUTE, -5 * 60 * MINUTE, 0]) {
      wrong = by;
      await kubectlAsks();
      await kubectlAsks();
    }
    expect(issued).toBeLessThanOrEqual(3);

    passed += 61 * MINUTE;
    const before = issued;
    await kubectlAsks();
    expect(issued).toBe(before + 1);
  });

  it('is not kept for longer than the garden granted', async () => {
    grantedMs = 10 * MINUTE;

    await kubectlAsks('--ttl', '8h');
    passed = 9 * MINUTE + 1_001;
    await kubectlAsks('--ttl', '8h');

    expect(issued).toBe(2);
  });

  it('is not asked for where a broken kubeconfig could not take it', async () => {
    await writeFile(folder.file('kubeconfig'), 'contexts: [');

    const { code, err } = await corral(['get', 'web', '--exec', '--merge']);

    expect({ code, issued }).toEqual({ code: 2, issued: 0 });
    expect(err).toContain('The existing kubeconfig is not valid.');
  });
});
