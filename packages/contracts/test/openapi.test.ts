import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { isForPeople } from '../src/cluster/accounts/account-access.js';
import { clusterOpenApi, problemsBeforeRouting } from '../src/cluster/openapi.js';
import { problemCodes } from '../src/cluster/problem-codes.js';
import { type ClusterRoute, clusterRoutes, problemsOf } from '../src/cluster/routes.js';
import {
  clusterPhaseMeanings,
  conditionReasonMeanings,
  conditionTypeMeanings,
  connectionPhaseMeanings,
  hostedNameStateMeanings,
  migrationPhaseMeanings,
  operationStateMeanings,
  serverPhaseMeanings,
  waitReasonMeanings,
} from '../src/cluster/status-meanings.js';
import { dnsErrorCodes, dnsErrorsBeforeRouting, dnsUpstreamErrors } from '../src/dns/error-codes.js';
import { dnsOpenApi } from '../src/dns/openapi.js';
import { type DnsRoute, dnsErrorsOf, dnsRoutes, dnsUpstreamErrorsOf, dnsZoneRoutes } from '../src/dns/routes.js';
import type { DocumentParameter as Parameter } from '../src/openapi/document.js';
import { documentSchemas } from '../src/openapi/schemas.js';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly examples?: readonly unknown[];
}
interface Answer {
  readonly description: string;
  readonly headers?: Record<string, object>;
  readonly content?: Record<string, { readonly schema: object }>;
}
type Referred<T> = T | { readonly $ref: string };
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: string[];
  readonly security?: object[];
  readonly parameters: readonly Referred<Parameter>[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object; readonly example: unknown }> };
  readonly responses: Record<string, Referred<Answer>>;
}
interface Document {
  readonly info: { readonly description: string };
  readonly tags: { readonly name: string }[];
  readonly servers: { readonly url: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, Schema>;
    readonly parameters: Record<string, Parameter>;
    readonly responses: Record<string, Answer>;
  };
}

const cluster = clusterOpenApi('https://clusters.example.org') as Document;
const dns = dnsOpenApi('https://dns.example.org/v1', dnsRoutes) as Document;
const publishedRoutes = (clusterRoutes as readonly ClusterRoute[]).filter(({ development }) => development !== true);
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** What a reference stands for. */
function resolved<T extends object>(document: Document, value: Referred<T>): T {
  if (!('$ref' in value)) return value;
  const [section, name] = value.$ref.split('/').slice(-2) as ['responses', string];
  return document.components[section][name] as T;
}
const answersOf = (document: Document, { responses }: Operation): [status: string, answer: Answer][] =>
  Object.entries(responses).map(([status, answer]) => [status, resolved(document, answer)]);
const parametersOf = (document: Document, { parameters }: Operation): Parameter[] =>
  parameters.map((parameter) => resolved(document, parameter));
const operationAt = (document: Document, { path, method }: Pick<ClusterRoute, 'path' | 'method'>): Operation =>
  document.paths[path]?.[method] as Operation;

/** The schema with its references redirected to the schema `document`. */
const atDocument = <T extends object>(schema: T): T =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as T;

describe.each([
  ['cluster API', cluster, publishedRoutes],
  ['DNS API', dns, dnsRoutes],
] as const)('the OpenAPI document of the %s', (_api, document, routes) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  // Compiles each component once.
  ajv.addSchema({ $id: 'document', ...atDocument({ components: document.components }) });
  const validators = new Map<string, ValidateFunction>();
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  /** The validation errors of a value; null when it is valid. */
  const wrongWith = (schema: object, value: unknown): unknown => {
    const key = JSON.stringify(schema);
    const validate = validators.get(key) ?? ajv.compile(atDocument(schema));
    validators.set(key, validate);
    return validate(value) ? null : validate.errors;
  };

  it('is valid OpenAPI 3.1 with resolvable references', async () => {
    const validator = new Validator();

    expect(await validator.validate(structuredClone(document) as object as Record<string, unknown>)).toEqual({
      valid: true,
    });
    expect(validator.version).toBe('3.1');
    expect(JSON.stringify(validator.resolveRefs())).not.toContain('$ref');
    expect(document.servers).toEqual([expect.objectContaining({ url: expect.stringMatching(/^https:/) })]);
  });

  it('contains exactly the published rows of the route table', () => {
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId}: ${method} ${path}`),
    );

    expect(documented.sort()).toEqual(
      routes.map(({ operationId, method, path }) => `${operationId}: ${method} ${path}`).sort(),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });

  it('allows further members in answers', () => {
    const closed = (value: unknown): boolean =>
      typeof value === 'object' &&
      value !== null &&
      ((value as { additionalProperties?: unknown }).additionalProperties === false ||
        Object.values(value).some(closed));
    const { schemas } = document.components;
    const reached = new Set<string>();
    const reach = (value: unknown): void => {
      for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
        if (reached.has(name as string)) continue;
        reached.add(name as string);
        reach(schemas[name as string]);
      }
    };
    reach(operations.flatMap((operation) => answersOf(document, operation)));

    expect(reached.size).toBeGreaterThan(10);
    expect([...reached].filter((name) => closed(schemas[name]))).toEqual([]);
  });

  it('has a valid example of every request body', () => {
    for (const { operationId, requestBody } of operations) {
      for (const { schema, example } of Object.values(requestBody?.content ?? {})) {
        expect([operationId, wrongWith(schema, example)]).toEqual([operationId, null]);
      }
    }
  });

  it('has valid examples of what answers show', () => {
    const shown = Object.entries(document.components.schemas).flatMap(([name, { examples = [] }]) =>
      examples.map((example) => [name, wrongWith(ref(name), example)]),
    );

    expect(shown.length).toBeGreaterThan(5);
    expect(shown).toEqual(shown.map(([name]) => [name, null]));
  });

  it('describes every parameter, those of the path in its order, with a valid example if it has one', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) {
        const parameters = parametersOf(document, operation);
        const named = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
        for (const { name, in: place, schema, description, example } of parameters) {
          expect([name, description]).toEqual([name, expect.stringMatching(/./)]);
          if (place === 'path') expect([name, example]).toEqual([name, expect.anything()]);
          if (example !== undefined) expect([name, wrongWith(schema, example)]).toEqual([name, null]);
        }
      }
    }
  });

  it('describes every operation, its answers and their headers', () => {
    for (const operation of operations) {
      expect(operation.description).toMatch(/\.$/);
      for (const [status, { description, headers = {} }] of answersOf(document, operation)) {
        expect([operation.operationId, status, description]).toEqual([
          operation.operationId,
          status,
          expect.stringMatching(/./),
        ]);
        expect(Object.keys(headers)).toEqual(expect.arrayContaining(['X-Correlation-Id', 'RateLimit-Remaining']));
        if (['429', '502', '503'].includes(status)) expect(Object.keys(headers)).toContain('Retry-After');
        if (status === '202') expect(Object.keys(headers)).toContain('Operation-Location');
      }
    }
  });

  it('gives every operation one tag, and describes exactly the tags in use', () => {
    const used = [...new Set(operations.flatMap(({ tags }) => tags))];

    expect(used.sort()).toEqual(document.tags.map(({ name }) => name).sort());
    for (const { tags } of operations) expect(tags).toHaveLength(1);
  });
});

describe('the OpenAPI document of the cluster API', () => {
  const routeOf = (operationId: string) =>
    publishedRoutes.find((route) => route.operationId === operationId) as ClusterRoute;
  const answerOf = (operationId: string, status: number): Answer | undefined =>
    answersOf(cluster, operationAt(cluster, routeOf(operationId))).find(([each]) => each === String(status))?.[1];
  const { schemas } = cluster.components;

  it('leaves out the sign-in of the development set-up', () => {
    expect(Object.keys(cluster.paths)).not.toContain('/auth/dev-login/');
    expect(JSON.stringify(cluster)).not.toMatch(/dev-?(login|sign|people)/i);
  });

  it('lists every route with its answers and problems', () => {
    for (const route of publishedRoutes) {
      const codes = problemsOf(route);
      const answers = new Map(answersOf(cluster, operationAt(cluster, route)));
      const statuses = new Set([
        ...Object.keys(route.answers),
        ...codes.map((code) => String(problemCodes[code].status)),
      ]);

      expect([...answers.keys()].sort()).toEqual([...statuses].sort());
      for (const code of codes) {
        const { status, meaning } = problemCodes[code];
        const { description, content } = answers.get(String(status)) as Answer;
        expect(description).toContain(`\`${code}\`: ${meaning}`);
        expect(content).toEqual({ 'application/problem+json': { schema: ref('Problem') } });
      }
    }
  });

  it('mentions every problem code, with an operation or in the description', () => {
    const used = new Set<string>(publishedRoutes.flatMap(problemsOf));
    const unused = Object.keys(problemCodes).filter((code) => !used.has(code));

    expect(unused.sort()).toEqual([...problemsBeforeRouting].sort());
    for (const code of unused) expect(cluster.info.description).toContain(`\`${code}\``);
  });

  it('requires a session where the route does, and admits tokens only where service accounts have access', () => {
    for (const route of publishedRoutes) {
      expect([route.operationId, operationAt(cluster, route).security]).toEqual([
        route.operationId,
        route.access === 'public' ? [] : isForPeople(route) ? [{ session: [] }] : undefined,
      ]);
    }
  });

  it('shows the same things as the same types', () => {
    const membersOf = (name: string) => schemas[name]?.properties;

    expect(answerOf('getCluster', 200)?.content).toEqual({ 'application/json': { schema: ref('Cluster') } });
    expect(membersOf('ClusterAccepted')).toMatchObject({ operation: ref('Operation'), resource: ref('Cluster') });
    expect(membersOf('ClusterDryRun')).toMatchObject({ resource: ref('Cluster') });
    expect(membersOf('ClusterList')).toMatchObject({ items: { items: ref('Cluster') } });
    expect(membersOf('TeamEvent')).toMatchObject({
      resource: { anyOf: expect.arrayContaining([ref('Cluster'), ref('Operation')]) },
    });
  });

  it('marks answers that are lines, parameters that are times, and events, which can be resumed', () => {
    const time = expect.objectContaining({ name: 'from', schema: expect.objectContaining({ format: 'date-time' }) });
    const resumed = expect.objectContaining({ name: 'Last-Event-ID', in: 'header' });

    expect(answerOf('exportAudit', 200)?.content).toEqual({ 'application/x-ndjson': { schema: ref('AuditEntry') } });
    expect(parametersOf(cluster, operationAt(cluster, routeOf('exportAudit')))).toContainEqual(time);
    expect(answerOf('streamTeamEvents', 200)).toMatchObject({
      description: expect.stringMatching(/`node_pool\.deleted`.*`ready`.*`reset`.*`end`/s),
      content: { 'text/event-stream': { schema: ref('TeamEvent') } },
    });
    expect(parametersOf(cluster, operationAt(cluster, routeOf('streamTeamEvents')))).toContainEqual(resumed);
  });

  it('lists entity tags, operations and redirects where they exist', () => {
    const headers = (operationId: string, status: number) => Object.keys(answerOf(operationId, status)?.headers ?? {});

    expect(headers('getCluster', 200)).toContain('ETag');
    expect(headers('getCluster', 304)).toContain('ETag');
    expect(headers('putNodePool', 201)).toEqual(expect.arrayContaining(['ETag', 'Operation-Location']));
    expect(headers('listClusters', 200)).not.toContain('ETag');
    expect(headers('startSignIn', 302)).toContain('Location');
    expect(headers('finishSignIn', 303)).toContain('Location');
    expect(answerOf('startSignIn', 302)).not.toHaveProperty('content');
  });

  it.each<[string, Schema | undefined, Readonly<Record<string, string>>]>([
    ['phase of a cluster', schemas.ClusterPhase, clusterPhaseMeanings],
    ['migration phase', schemas.MigrationPhase, migrationPhaseMeanings],
    ['phase of a connection', schemas.ConnectionPhase, connectionPhaseMeanings],
    ['state of a name on a cluster', schemas.HostedNameState, hostedNameStateMeanings],
    ['phase of a server', schemas.ServerPhase, serverPhaseMeanings],
    ['state of an operation', schemas.OperationState, operationStateMeanings],
    ['condition', schemas.Condition?.properties?.type, conditionTypeMeanings],
    ['reason of a condition', schemas.Condition?.properties?.reason, conditionReasonMeanings],
    ['reason to wait', schemas.OperationWaiting?.properties?.reason, waitReasonMeanings],
  ])('says what each %s means', (_what, described, meanings) => {
    for (const [word, meaning] of Object.entries(meanings)) {
      expect(described?.description).toContain(`\`${word}\`: ${meaning}`);
    }
  });
});

describe('the OpenAPI document of the DNS API', () => {
  const routes: readonly DnsRoute[] = dnsRoutes;

  it('omits routes that are not served', () => {
    const { paths } = dnsOpenApi('/v1', dnsZoneRoutes) as Document;

    expect(Object.keys(paths)).not.toContain('/demos');
    expect(Object.keys(paths)).toContain('/zones');
  });

  it('requires a token except where a course code is accepted', () => {
    const withoutToken = routes.filter((route) => operationAt(dns, route).security !== undefined);

    expect(withoutToken.map((route) => route.operationId)).toEqual(['createDemo']);
  });

  it.each(routes.map((route) => [route.operationId, route] as const))('documents %s completely', (_id, route) => {
    const operation = operationAt(dns, route);
    const answers = new Map(answersOf(dns, operation));
    const refused = [
      ...dnsErrorsOf(route).map((code) => ({ code, status: dnsErrorCodes[code].status })),
      ...dnsUpstreamErrorsOf(route),
    ];

    expect(operation.requestBody !== undefined).toBe(route.body !== undefined);
    const content = answers.get(String(route.status))?.content;
    expect(content?.['application/json'] !== undefined).toBe(route.answer !== null);
    for (const { code, status } of refused) expect(answers.get(String(status))?.description).toContain(`\`${code}\``);
    const statuses = new Set([route.status, ...refused.map(({ status }) => status)]);
    expect([...answers.keys()].sort()).toEqual([...statuses].map(String).sort());
  });

  it('mentions every code with an operation or in the description', () => {
    const used = new Set<string>(routes.flatMap(dnsErrorsOf));

    expect(Object.keys(dnsErrorCodes).filter((code) => !used.has(code))).toEqual([]);
    for (const { code, meaning } of dnsUpstreamErrors) expect(JSON.stringify(dns)).toContain(`${code}\`: ${meaning}`);
    for (const { status, code, meaning } of dnsErrorsBeforeRouting)
      expect(dns.info.description).toContain(`${status} \`${code}\`: ${meaning}`);
  });
});

describe('a schema in a document', () => {
  const { answer, request } = documentSchemas({
    shared: {},
    answers: {},
    requests: {},
    examples: {},
    nullMeansAbsent: true,
  });

  it('has a form that generators of clients support', () => {
    expect(request({ enum: [false] })).toEqual({ type: 'boolean', const: false });
    expect(request({ type: 'object', properties: { no: { enum: [false] } } })).toMatchObject({
      properties: { no: { anyOf: [{ type: 'boolean', const: false }, { type: 'null' }] } },
    });
    expect(request({ type: 'object', default: {} })).toEqual({ type: 'object', additionalProperties: true });
    expect(answer({ type: 'array' })).toEqual({ type: 'array', items: {} });
    expect(answer({ type: ['object', 'array', 'string', 'number', 'boolean', 'null'], maxLength: 9 })).toEqual({
      maxLength: 9,
    });
  });
});
