import { describe, expect, it } from '@jest/globals';
import {
  parseClusterPut,
  parseConnectionPost,
  parseConnectionPut,
  parseKubeconfigRequest,
  parseNodePoolPut,
} from '../src/cluster/clusters/requests.js';
import { parseDnsTokenPost } from '../src/cluster/dns/dns-token.js';
import { isWipeAcknowledged, parseAdoptedServerPost } from '../src/cluster/servers/adopted-server.js';
import { checkDnsAnswer } from '../src/dns/answers.js';
import {
  parseAddRecords,
  parseChangeTtl,
  parseCreateDemo,
  parseCreateRrset,
  parseUpdateRrset,
} from '../src/dns/requests.js';
import { InvalidBody } from '../src/parser-for.js';
import { refusedFields } from './refused-fields.js';

/* What bodies may hold. That every keyword of a schema is refused in good words is checked in refusals.test.ts. */

type Parse = (body: unknown) => unknown;
const refusedPlaces = (parse: Parse, body: unknown): string[] =>
  refusedFields(parse, body).map(({ pointer }) => pointer);

describe('the declaration of a cluster', () => {
  const spec = (more: object = {}) => ({ connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.34.3', ...more });
  const pool = (more: object = {}) => ({ name: 'general', machineType: 'cpx31', ...more });

  it('gets nothing that it leaves out, because what is absent may stay as it is', () => {
    expect(parseClusterPut({ spec: spec({ nodePools: [pool()] }) }).spec).toEqual(spec({ nodePools: [pool()] }));
    expect(parseClusterPut({ spec: { kubernetesVersion: '1.34' } }).spec).toEqual({ kubernetesVersion: '1.34' });
  });

  it('may have null for what is absent', () => {
    const absent = {
      connectionRef: null,
      region: null,
      hibernated: null,
      controlPlaneHA: null,
      plan: null,
      deletionProtection: null,
      network: null,
      nodePools: [{ name: 'general', source: null, machineType: null, image: { name: null }, minimum: null }],
    };

    expect(parseClusterPut({ spec: { kubernetesVersion: '1.34', ...absent }, status: null }).spec).toEqual({
      kubernetesVersion: '1.34',
      nodePools: [{ name: 'general', image: {} }],
    });
    expect(parseClusterPut({ spec: spec({ network: { podCIDR: null, existingNetwork: null } }) }).spec.network).toEqual(
      {},
    );
  });

  it('of one pool has it under `spec`, or as GET returns it, without settings of the service', () => {
    const read = { ...pool({ source: 'managed', image: {}, minimum: 1, maximum: 2, publicIP: true }) };
    const status = { pet: false, backingReady: null };

    expect(parseNodePoolPut({ spec: pool() }).spec).toEqual(pool());
    expect(parseNodePoolPut({ ...read, autoscalerPriority: 10, status, resetToDefault: [] }).spec).toEqual(read);
    expect(refusedPlaces(parseNodePoolPut, { ...read, maximum: 'x' })).toEqual(['/maximum']);
    expect(refusedPlaces(parseNodePoolPut, {})).toEqual(['/spec']);
    expect(refusedPlaces(parseNodePoolPut, { spec: pool({ autoscalerPriority: 1 }) })).toEqual([
      '/spec/autoscalerPriority',
    ]);
  });
});

describe('the request for a kubeconfig', () => {
  it.each([
    [{}, 3_600],
    [{ ttlSeconds: null }, 3_600],
    [{ ttlSeconds: 28_800 }, 28_800],
  ])('%j asks for %s s of administration', (body, ttlSeconds) => {
    expect(parseKubeconfigRequest(body)).toEqual({ ttlSeconds, scope: 'admin' });
  });
});

describe('the declaration of a connection', () => {
  it('needs a token only when it is new', () => {
    const spec = { provider: 'hcloud' };

    expect(parseConnectionPut({ spec }).spec).toEqual({ provider: 'hcloud', providerConfig: {} });
    expect(refusedPlaces(parseConnectionPost, { spec })).toEqual(['/spec/token']);
  });
});

describe('the request for a DNS token', () => {
  const defaults = { scopes: ['dns'], withinName: null, withinTypes: [], expiresAt: null };

  it('asks for all names of the team without expiry, unless it says otherwise', () => {
    const one = parseDnsTokenPost({ name: 'ci' });
    expect(one).toEqual({ name: 'ci', ...defaults });

    // The defaults of a body are its own.
    (one.scopes as string[]).push('more');
    expect(parseDnsTokenPost({ name: 'other' })).toEqual({ name: 'other', ...defaults });
  });
});

describe('the body that adopts a server', () => {
  const spec = { serverID: 4711, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' };

  it('needs every field of the specification', () => {
    const body = { spec, acknowledge: { confirm: 'WIPE' } };

    expect(parseAdoptedServerPost(body)).toEqual(body);
    for (const field of Object.keys(spec)) {
      expect(refusedPlaces(parseAdoptedServerPost, { spec: { ...spec, [field]: undefined } })).toEqual([
        `/spec/${field}`,
      ]);
    }
  });

  it.each([
    undefined,
    true,
    'WIPE',
    { confirm: 'wipe' },
    { confirm: 'WIPE ' },
    ['WIPE'],
    { confirm: ['WIPE'] },
    { confirm: 'WIPE', force: true },
  ])('does not acknowledge the wipe with %j', (acknowledge) => {
    expect(isWipeAcknowledged(acknowledge)).toBe(false);
  });

  it('acknowledges the wipe with exactly the required words', () => {
    expect(isWipeAcknowledged(JSON.parse('{"confirm": "WIPE"}'))).toBe(true);
  });
});

describe('a body of the DNS API', () => {
  const records = [{ value: '192.0.2.1' }];
  const creation = (change: object = {}) => ({ name: 'api.acme', type: 'A', records, ...change });

  it.each<[string, Parse, object]>([
    ['a creation', parseCreateRrset, creation()],
    ['a ttl of 0, which the upstream checks', parseCreateRrset, creation({ ttl: 0 })],
    ['a value twice, which the upstream checks', parseCreateRrset, creation({ records: [...records, ...records] })],
    ['nulls', parseCreateRrset, creation({ ttl: null, labels: null, records: [{ value: 'x', comment: null }] })],
    ['unknown fields', parseCreateRrset, creation({ geo: { eu: 1 }, records: [{ value: 'x', weight: 3 }] })],
    ['a value of 4,096 characters', parseCreateRrset, creation({ records: [{ value: '😀'.repeat(4_096) }] })],
    ['add_records with a null ttl', parseAddRecords, { records, ttl: null }],
    ['change_ttl to the zone’s default', parseChangeTtl, { ttl: null }],
    ['an update with null labels', parseUpdateRrset, { labels: null }],
    ['an update with records, which the upstream refuses itself', parseUpdateRrset, { records: 'anything' }],
    ['a demo with nulls, which count as absent', parseCreateDemo, { name: null, ttl: null, course_code: null }],
    ['the shortest demo', parseCreateDemo, { ttl: 300 }],
  ])('is accepted unchanged: %s', (_what, parse, body) => {
    const before = structuredClone(body);

    expect(parse(body)).toBe(body);
    expect(body).toEqual(before);
  });
});

describe('an answer of the DNS API', () => {
  const pagination = { page: 1, per_page: 25, previous_page: null, next_page: null, last_page: 1, total_entries: 0 };
  const rrset = {
    id: 'api.acme/A',
    name: 'api.acme',
    type: 'A',
    ttl: null,
    labels: {},
    protection: { change: false },
    records: [{ value: '192.0.2.1', comment: '' }],
    zone: 7001,
  };
  const time = '2026-01-02T03:04:05Z';
  const action = {
    id: 1,
    command: 'create_rrset',
    status: 'running',
    progress: 0,
    started: time,
    finished: null,
    resources: [{ id: 7001, type: 'zone' }],
    error: null,
  };
  const demo = {
    label: 'shop',
    name: 'Shop',
    zone: 'demo.example.test',
    ttl: 14_400,
    records: 0,
    created_at: time,
    expires_at: time,
    max_expires_at: time,
  };
  const list = (change: object) => ({ rrsets: [], meta: { pagination: { ...pagination, ...change } } });

  it('has the documented shape, and may have new fields of the upstream in objects', () => {
    checkDnsAnswer.rrsetList(list({}));
    checkDnsAnswer.rrset({ rrset: { ...rrset, geo: 'eu' } });
    checkDnsAnswer.created({ rrset, action: { ...action, region: 'x' } });
    checkDnsAnswer.actionList({ actions: [] });
    checkDnsAnswer.createdDemo({ demo, token: 'a'.repeat(64) });
    checkDnsAnswer.demoList({ demos: [demo], meta: { pagination } });
    checkDnsAnswer.error({ error: { code: 'c', message: 'm', details: null } });
  });

  it.each([
    ['a seventh pagination key', 'rrsetList', list({ offset: 0 })],
    ['a null last_page', 'rrsetList', list({ last_page: null })],
    ['a missing ttl', 'rrset', { rrset: { ...rrset, ttl: undefined } }],
    ['a zone by name', 'rrset', { rrset: { ...rrset, zone: 'example.test' } }],
    ['a record without comment', 'rrset', { rrset: { ...rrset, records: [{ value: 'x' }] } }],
    ['a set without records', 'rrset', { rrset: { ...rrset, records: [] } }],
    ['a creation without action', 'created', { rrset }],
    ['an action beyond 2^53 - 1', 'action', { action: { ...action, id: 2 ** 53 } }],
    ['an empty finish time', 'action', { action: { ...action, finished: '' } }],
    ['meta beside actions', 'actionList', { actions: [], meta: { pagination } }],
    ['a token beside a demo that already existed', 'demo', { demo, token: 'a'.repeat(64) }],
    ['an error without details', 'error', { error: { code: 'c', message: 'm' } }],
  ] as const)('cannot have %s, which would break clients', (_what, shape, body) => {
    expect(() => checkDnsAnswer[shape](body)).toThrow(InvalidBody);
  });
});
