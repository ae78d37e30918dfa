import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { Kubeconfig } from './issue.js';
import { mergeKubeconfig } from './merge.js';
import { nameEntries } from './names.js';

/** As the API issues it: two addresses, one user, contexts named after team and cluster. */
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
const options = { isCurrent: true };
const merged = (...configs: Kubeconfig[]) =>
  configs.reduce((text, config) => mergeKubeconfig(text, config, options), '');

/** Where each context leads, and as whom. */
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

    expect(() => mergeKubeconfig(web2, issued('acme/web-2', 'web-2'), options)).toThrow(
      'The kubeconfig has a context acme/web-2 of another cluster, https://internal.web. Choose another name with ' +
        '--name, or remove it first: kubectl config delete-context acme/web-2.',
    );
    // The same team and name in another installation.
    expect(() => mergeKubeconfig(merged(issued('acme/web', 'a')), issued('acme/web', 'b'), options)).toThrow(
      'a context acme/web of another cluster',
    );
  });

  it('is refused where two clusters have one address and other certificates', () => {
    const behind = (host: string): Kubeconfig => ({
      ...issued('acme/web'),
      clusters: [{ name: 'web', cluster: { server: 'https://127.0.0.1', 'tls-server-name': host } }],
    });

    expect(() => mergeKubeconfig(merged(behind('one')), behind('two'), options)).toThrow(
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

    expect(() => mergeKubeconfig(text, issued('acme/web', 'web'), options)).toThrow('has a user garden--web');
  });

  it('counts the names of all files that kubectl reads', () => {
    const others = [merged(issued('acme/web', 'a')), ': no yaml ['];

    expect(() => mergeKubeconfig('', issued('acme/web', 'b'), { ...options, others })).toThrow('another cluster');
    expect(mergeKubeconfig('', issued('acme/web', 'a'), { ...options, others })).toContain('acme/web');
  });

  it('keeps the namespace that somebody chose for the context', () => {
    const text = merged(issued('acme/web')).replace('user: garden--acme/web\n', '$&      namespace: dev\n');

    expect(mergeKubeconfig(text, issued('acme/web'), options)).toContain('namespace: dev');
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
            text = mergeKubeconfig(text, isRaw ? kubeconfig : nameEntries(kubeconfig, given), options);
          } catch (error) {
            expect(String(error)).toContain('of another cluster');
          }
          const after = text === '' ? {} : reached(text);
          for (const [context, place] of Object.entries(before)) expect(after[context]).toBe(place);
        }
      }),
      { numRuns: 100 },
    );
  });
});
