import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  externalDnsImage,
  type HostedName,
  isForeign,
  leftoverOf,
  objectsOfName,
  refusalOfHostedName,
  removalDueAt,
  type SeenName,
  shownObject,
  solverMissing,
  standingOf,
} from '../src/index.js';

const shop: HostedName = {
  name: 'shop.acme',
  zone: 'example.org',
  endpoint: 'https://dns.example.org/v1',
  acmeServer: 'https://acme.example.org/directory',
};
const token = { id: 'the-id', text: 'the-text' };
const all = (of: HostedName) => Object.values(objectsOfName(of, token)).flat();
const names = (objects: readonly { kind: string; metadata: { name: string; namespace?: string } }[]) =>
  objects.map(({ kind, metadata: { namespace = '', name } }) => `${kind} ${namespace}/${name}`);

describe('a name for a cluster', () => {
  const taken = [
    { name: 'shop.acme', cluster: 'web' },
    { name: 'a.b.acme', cluster: 'batch' },
  ];

  it.each([
    ['www.acme', null],
    ['xshop.acme', null],
    ['b-b.acme', null],
    ['acmeshop', { kind: 'foreign' }],
    ['shop.globex', { kind: 'foreign' }],
    ['shop', { kind: 'foreign' }],
    ['shop.acme', { kind: 'taken', by: taken[0] }],
    ['eu.shop.acme', { kind: 'taken', by: taken[0] }],
    ['b.acme', { kind: 'taken', by: taken[1] }],
    ['acme', { kind: 'taken', by: taken[0] }],
  ])('%s belongs to the team and overlaps with no other, or is refused', (name, refusal) => {
    expect(refusalOfHostedName(name, 'acme', taken)).toEqual(refusal);
  });
});

describe('the removal of a name', () => {
  it.each([
    ['is due with the name', -5_000, -5_000],
    ['waits for the end of what may be a claim', 60_000, 60_000],
    ['does not wait for a check that is due later', 60_001, 0],
  ])('%s', (_what, dueInMs, removedInMs) => {
    const now = new Date('2026-11-29T17:00:00Z');

    expect(removalDueAt(new Date(now.getTime() + dueInMs), now)).toEqual(new Date(now.getTime() + removedInMs));
  });
});

describe('the objects of a name', () => {
  it('are shown with their images, and without the token', () => {
    const shown = all(shop).map(shownObject);

    expect(shown.map(({ kind, namespace, name }) => `${kind} ${namespace ?? ''}/${name}`)).toEqual([
      'Namespace /corral-dns',
      'ServiceAccount corral-dns/corral-external-dns',
      'ClusterRole /corral-external-dns',
      'ClusterRoleBinding /corral-external-dns',
      'Secret corral-dns/corral-dns-shop-acme',
      'Deployment corral-dns/shop-acme',
      'Secret cert-manager/corral-dns-shop-acme',
      'ClusterIssuer /shop.acme',
    ]);
    expect(shown.flatMap(({ images }) => images)).toEqual([
      externalDnsImage,
      'docker.io/hetzner/external-dns-hetzner-webhook:v0.3.4',
    ]);
    expect(JSON.stringify(shown)).not.toContain(btoa(token.text));
  });

  it('have the token in Secrets only, and its id where a new one makes new Pods', () => {
    const holding = (text: string) => names(all(shop).filter((object) => JSON.stringify(object).includes(text)));

    expect(holding(btoa(token.text))).toEqual([
      'Secret corral-dns/corral-dns-shop-acme',
      'Secret cert-manager/corral-dns-shop-acme',
    ]);
    expect(holding(token.id)).toEqual(['Deployment corral-dns/shop-acme']);
  });

  it('of two names are never the same, but for what they share', () => {
    const others = ['shop-acme.acme', 'shop.acme.acme', 's-hop.acme'].map((name) => ({ ...shop, name }));
    const own = [shop, ...others].flatMap((of) => names(all(of)).slice(4));

    expect(new Set(own).size).toBe(own.length);
  });

  it('go with it, and those that it shares with the last name on the cluster', () => {
    const docs = { ...shop, name: 'docs.acme' };

    expect(names(leftoverOf(shop, [docs]))).toEqual(names(all(shop)).slice(4));
    expect(names(leftoverOf(shop, []))).toEqual(names(all(shop)));
  });

  it('fit into labels and names of Kubernetes with the longest name', () => {
    const long = { ...shop, name: `${'a-'.repeat(28)}aa.acme` };

    expect(long.name).toHaveLength(63);
    for (const { metadata } of all(long)) expect(metadata.name.length).toBeLessThanOrEqual(253 - 20);
  });

  it('run the version of ExternalDNS that the tests of clients run', () => {
    const modules = readFileSync(join(import.meta.dirname, '../../../tests/clients/external-dns/go.mod'), 'utf8');

    expect(modules).toContain(`sigs.k8s.io/external-dns ${externalDnsImage.split(':')[1]}\n`);
  });
});

describe('what is said of a name', () => {
  const deployment = {
    metadata: { generation: 2 },
    status: { observedGeneration: 2, updatedReplicas: 1, availableReplicas: 1 },
  };
  const issuer = (status: string, message = '') => ({ status: { conditions: [{ type: 'Ready', status, message }] } });
  const works: SeenName = { deployment, hasSolver: true, issuer: issuer('True'), foreign: null };
  const starting = 'ExternalDNS is starting in the cluster.';

  it.each<[string, SeenName, string]>([
    ['everything works', works, ''],
    ['there is no Deployment', { ...works, deployment: null }, starting],
    ['no Pod serves', { ...works, deployment: { ...deployment, status: { observedGeneration: 2 } } }, starting],
    [
      'only Pods of an older declaration serve',
      { ...works, deployment: { ...deployment, metadata: { generation: 3 } } },
      starting,
    ],
    ['there is no cert-manager', { ...works, hasSolver: false, issuer: null }, solverMissing],
    [
      'somebody else made the issuer',
      { ...works, issuer: null, foreign: 'ClusterIssuer shop.acme' },
      'Records work. For certificates, remove ClusterIssuer shop.acme, which Corral has not made, or use it yourself.',
    ],
    ['the issuer is new', { ...works, issuer: {} }, 'Records work. The ClusterIssuer is not ready yet.'],
    [
      'the issuer has a problem',
      { ...works, issuer: issuer('False', 'no such host') },
      'Records work. The ClusterIssuer is not ready yet. It says: no such host',
    ],
  ])('says so when %s', (_what, seen, message) => {
    expect(standingOf(seen)).toEqual({ state: message === '' ? 'Ready' : 'Pending', message });
  });

  it('bounds what a cluster says', () => {
    expect(standingOf({ ...works, issuer: issuer('False', 'x'.repeat(10_000)) }).message.length).toBe(500);
  });
});

describe('an object in a cluster', () => {
  it.each<[string, JsonObject | null, boolean]>([
    ['none', null, false],
    ['one without labels', { metadata: { name: 'shop.acme' } }, true],
    ['one of another program', { metadata: { labels: { 'app.kubernetes.io/managed-by': 'Helm' } } }, true],
    ['one of Corral', { metadata: { labels: { 'app.kubernetes.io/managed-by': 'corral', team: 'a' } } }, false],
  ])('%s: it is known whether somebody else made it', (_what, object, expected) => {
    expect(isForeign(object)).toBe(expected);
  });
});
