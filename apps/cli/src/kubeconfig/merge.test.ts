import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { Kubeconfig } from './issue.js';
import { kubeconfigPath, mergeKubeconfig } from './merge.js';

const config = (name: string, server: string): Kubeconfig => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name, cluster: { server } }],
  users: [{ name, user: { token: `of-${name}` } }],
  contexts: [{ name, context: { cluster: name, user: name } }],
  'current-context': name,
});
const current = { isCurrent: true };
const names = (text: string) => (parse(text) as Kubeconfig).clusters.map(({ name }) => name);

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

  it('has each name once, whatever is merged in whatever order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c/d'), { minLength: 1, maxLength: 6 }), (order) => {
        const text = order.reduce(
          (before, name) => mergeKubeconfig(before, config(name, `https://${name}`), current),
          '',
        );

        expect(names(text)).toEqual([...new Set(order)]);
        expect(parse(text)['current-context']).toBe(order.at(-1));
      }),
      { numRuns: 30 },
    );
  });

  it('has its names beside entries without one, which mean nothing', () => {
    const merged = mergeKubeconfig('clusters: [a, null, 5]\nusers: [{}]\n', config('acme/web', 'https://web'), current);

    expect(parse(merged).clusters).toEqual(['a', null, 5, { name: 'acme/web', cluster: { server: 'https://web' } }]);
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
