import { describe, expect, it } from '@jest/globals';
import { clusterVerdictsOf, roleNeededFor } from '../src/cluster/access.js';
import { clusterAnswerSchemas } from '../src/cluster/answers.js';
import { type Role, roleCovers } from '../src/cluster/roles.js';
import { type ClusterRoute, clusterRoutes } from '../src/cluster/routes.js';
import { compared } from '../src/cluster/schema-parts.js';
import { dnsAnswerSchemas } from '../src/dns/answers.js';
import { type DnsRoute, dnsRoutes, dnsStrangerVerdictOf, dnsZoneRoutes } from '../src/dns/routes.js';
import type { BodySchema as Schema } from './refused-fields.js';

const ofClusters: readonly ClusterRoute[] = clusterRoutes;
const ofDns: readonly DnsRoute[] = dnsRoutes;

describe('the routes of the cluster API', () => {
  it('serve requests without a session on public routes only', () => {
    const served = ofClusters.filter((route) => clusterVerdictsOf(route).anonymous === 'served');

    expect(served).toEqual(ofClusters.filter(({ access }) => access === 'public'));
  });

  it('have a team in every path that asks for a role, and in no other', () => {
    for (const { path, access } of ofClusters) {
      expect([path, /\{team(_slug|_id)?\}/.test(path)]).toEqual([path, /^(viewer|member|admin)$/.test(access)]);
    }
  });

  it.each([
    ['getMe', null],
    ['listClusters', 'viewer'],
    ['putCluster', 'member'],
    ['listAudit', 'admin'],
  ])('need for all of %s the role %s', (id, role) => {
    const route = ofClusters.find(({ operationId }) => operationId === id) as ClusterRoute;
    expect(roleNeededFor(route)).toBe(role);
  });

  it.each<[Role, readonly Role[]]>([
    ['admin', ['admin', 'member', 'viewer']],
    ['member', ['member', 'viewer']],
    ['viewer', ['viewer']],
  ])('open to the role %s what needs %j', (role, covered) => {
    const roles: readonly Role[] = ['admin', 'member', 'viewer'];

    expect(roles.filter((needed) => roleCovers(role, needed))).toEqual(covered);
  });
});

describe('the routes of the DNS API', () => {
  it('answer 201 to asynchronous upstream changes and 200 otherwise', () => {
    for (const { operationId, kind, method, status } of dnsZoneRoutes as readonly DnsRoute[]) {
      expect([operationId, status]).toEqual([operationId, kind === 'write' && method !== 'put' ? 201 : 200]);
    }
  });

  it('share only the zone between teams', () => {
    const shared = ofDns.filter((route) => dnsStrangerVerdictOf(route) === 'shared');

    expect(shared.map(({ operationId }) => operationId)).toEqual(['listZones', 'getZone']);
  });
});

describe('an answer with a secret', () => {
  /** Names of members that indicate a secret if they are text. */
  const secret = /^(token|access_token|kubeconfig|join_?command|secret|password|private_?key)$/i;
  const isText = ({ type }: { type?: string | readonly string[] }): boolean => [type].flat().includes('string');

  function holdsSecret(schema: unknown): boolean {
    if (typeof schema !== 'object' || schema === null) return false;
    const { properties = {} } = schema as { properties?: Record<string, Parameters<typeof isText>[0]> };
    return (
      Object.entries(properties).some(([name, member]) => secret.test(name) && isText(member)) ||
      Object.values(schema).some(holdsSecret)
    );
  }

  /* The tests of these routes check that the answer is not cached. A new route needs such a test too. */
  it('comes from these routes only', () => {
    const clusterSecrets = ofClusters.filter(({ answers }) =>
      Object.values(answers).some((answer) => answer !== null && holdsSecret(clusterAnswerSchemas[answer])),
    );
    const dnsSecrets = ofDns.filter(({ answer }) => answer !== null && holdsSecret(dnsAnswerSchemas[answer]));

    expect([...dnsSecrets, ...clusterSecrets].map(({ operationId }) => operationId).sort()).toEqual([
      'createAccountToken',
      'createDemo',
      'createDnsToken',
      'createWebhookSecret',
      'exchangeToken',
      'issueJoinCommand',
      'issueKubeconfig',
      'putWebhook',
      'startDnsSession',
    ]);
  });
});

describe('the body schema of', () => {
  /** Bodies that accept unlisted members because others define them. Those members are not stored. */
  const open = new Set([
    'takeBillingEvent',
    'exchangeToken',
    'startDeviceSignIn',
    ...ofDns.map(({ operationId }) => operationId),
  ]);

  /** The locations of a schema without an upper bound. */
  function unbounded(schema: Schema, mayBeOpen: boolean, at = ''): string[] {
    if (schema.enum !== undefined || schema.const !== undefined) return [];
    if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => unbounded(one, mayBeOpen, at));
    const types = [schema.type ?? []].flat();
    if (types.length === 0) return [`${at}: may be anything`];
    const wrong: string[] = [];
    if (types.includes('string') && schema.maxLength === undefined) wrong.push(`${at}: no maxLength`);
    if (types.includes('array')) {
      if (schema.maxItems === undefined) wrong.push(`${at}: no maxItems`);
      if (schema.items !== undefined) wrong.push(...unbounded(schema.items, mayBeOpen, `${at}/*`));
      else if (schema.maxItems !== compared.maxItems) wrong.push(`${at}: no items`);
    }
    if (types.includes('object')) wrong.push(...unboundedObject(schema, mayBeOpen, at));
    return wrong;
  }

  function unboundedObject(schema: Schema, mayBeOpen: boolean, at: string): string[] {
    const { additionalProperties: others, properties = {}, maxProperties, propertyNames } = schema;
    const wrong = Object.entries(properties).flatMap(([name, one]) => unbounded(one, mayBeOpen, `${at}/${name}`));
    if (others === false || maxProperties === compared.maxProperties) return wrong;
    if (typeof others === 'object') {
      if (maxProperties === undefined) wrong.push(`${at}: no maxProperties`);
      if (propertyNames?.maxLength === undefined) wrong.push(`${at}: no bound of names`);
      return [...wrong, ...unbounded(others, mayBeOpen, `${at}/*`)];
    }
    return mayBeOpen ? wrong : [...wrong, `${at}: may have any members`];
  }

  it.each(
    [...ofDns, ...ofClusters].flatMap(({ operationId, body }) =>
      body === undefined ? [] : ([[operationId, body as Schema]] as const),
    ),
  )('%s bounds every array, object and string', (operationId, schema) => {
    expect(unbounded(schema, open.has(operationId))).toEqual([]);
  });
});
