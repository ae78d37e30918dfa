import { describe, expect, it } from '@jest/globals';
import { type ClusterRoute, clusterRoutes } from './cluster/routes.js';
import { compared } from './cluster/schema-parts.js';
import { type DnsRoute, dnsRoutes } from './dns/routes.js';

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
}

/** Bodies that accept unlisted members because others define them. Those members are not stored. */
const open = new Set([
  'takeBillingEvent',
  'exchangeToken',
  ...dnsRoutes.map(({ operationId }) => operationId as string),
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

describe('the body schema of', () => {
  const routes: readonly (DnsRoute | ClusterRoute)[] = [...dnsRoutes, ...clusterRoutes];

  it.each(
    routes.flatMap(({ operationId, body }) => (body === undefined ? [] : ([[operationId, body as Schema]] as const))),
  )('%s bounds every array, object and string', (operationId, schema) => {
    expect(unbounded(schema, open.has(operationId))).toEqual([]);
  });
});
