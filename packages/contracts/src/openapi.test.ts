import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { clusterOpenApi } from './cluster/openapi/openapi.js';
import { clusterRoutes } from './cluster/routes.js';
import { dnsOpenApi } from './dns/openapi.js';
import { dnsRoutes } from './dns/routes.js';

/* Checks that apply to the documents of both APIs. */

interface Media {
  readonly schema: object;
  readonly examples?: Record<string, { $ref?: string; summary?: string; value?: unknown }>;
}
interface Answer {
  readonly description: string;
  readonly headers?: Record<string, { $ref: string }>;
  readonly content?: Record<string, Media>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: object;
  readonly description?: string;
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly tags: string[];
  readonly parameters: Parameter[];
  readonly requestBody?: { content: Record<string, Media> };
  readonly responses: Record<string, Answer>;
}
interface Document {
  readonly tags: { name: string }[];
  readonly servers: { url: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { examples: Record<string, { value: unknown }>; [section: string]: object };
}

const documents = [
  ['cluster API', clusterOpenApi('https://clusters.example.org') as Document, clusterRoutes],
  ['DNS API', dnsOpenApi('https://dns.example.org/v1', dnsRoutes) as Document, dnsRoutes],
] as const;

/** The schema with its references redirected to the schema `document`. */
const atDocument = <T extends object>(schema: T): T =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as T;

describe.each(documents)('the OpenAPI document of the %s', (_api, document, routes) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  // Compiles each component once.
  ajv.addSchema({ $id: 'document', ...atDocument({ components: document.components }) });
  const validators = new Map<string, ValidateFunction>();
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const bodiesOf = ({ operationId, requestBody, responses }: Operation): [string, Media][] => [
    ...Object.values(requestBody?.content ?? {}).map((media): [string, Media] => [`${operationId} takes`, media]),
    ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
      Object.values(content).map((media): [string, Media] => [`${operationId} answers ${status}`, media]),
    ),
  ];
  /** The validation errors of a value; null when it is valid. */
  const wrongWith = (schema: object, value: unknown): unknown => {
    const key = JSON.stringify(schema);
    const validate = validators.get(key) ?? ajv.compile(atDocument(schema));
    validators.set(key, validate);
    return validate(value) ? null : validate.errors;
  };
  const shownBy = ({ $ref, value }: { $ref?: string; value?: unknown }): unknown =>
    $ref === undefined ? value : document.components.examples[$ref.replace('#/components/examples/', '')]?.value;

  it('is valid OpenAPI 3.1 with resolvable references', async () => {
    const validator = new Validator();

    expect(await validator.validate(structuredClone(document) as object as Record<string, unknown>)).toEqual({
      valid: true,
    });
    expect(validator.version).toBe('3.1');
    expect(JSON.stringify(validator.resolveRefs())).not.toContain('$ref');
  });

  it('contains exactly the rows of the route table', () => {
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId}: ${method} ${path}`),
    );

    expect(documented.sort()).toEqual(
      routes.map(({ operationId, method, path }) => `${operationId}: ${method} ${path}`).sort(),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });

  it('names every object that stands in several places', () => {
    const places = new Map<string, string[]>();
    const visit = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties, description: _description, ...others } = value as Record<string, unknown>;
      const isObject = typeof properties === 'object' && Object.keys(properties ?? {}).length > 1;
      if (isObject) {
        const key = JSON.stringify([properties, { ...others, type: 'object' }]);
        places.set(key, [...(places.get(key) ?? []), place]);
      }
      for (const [name, part] of Object.entries(value)) visit(part, `${place}/${name}`);
    };
    visit({ schemas: document.components.schemas, paths: document.paths }, '');

    expect([...places.values()].filter((same) => same.length > 1)).toEqual([]);
  });

  it('allows further members in answers', () => {
    const closed = (value: unknown): boolean =>
      typeof value === 'object' &&
      value !== null &&
      ((value as { additionalProperties?: unknown }).additionalProperties === false ||
        Object.values(value).some(closed));
    const schemas = document.components.schemas as Readonly<Record<string, object>>;
    const reached = new Set<string>();
    const reach = (value: unknown): void => {
      for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
        if (reached.has(name as string)) continue;
        reached.add(name as string);
        reach(schemas[name as string]);
      }
    };
    reach(operations.map(({ responses }) => responses));

    expect(reached.size).toBeGreaterThan(10);
    expect([...reached].filter((name) => closed(schemas[name]))).toEqual([]);
  });

  it('has a valid example for every request and answer body', () => {
    for (const [what, { schema, examples }] of operations.flatMap(bodiesOf)) {
      expect([what, Object.keys(examples ?? {})]).toEqual([what, expect.arrayContaining([expect.any(String)])]);
      for (const [name, example] of Object.entries(examples ?? {})) {
        expect([what, name, wrongWith(schema, shownBy(example))]).toEqual([what, name, null]);
      }
    }
  });

  it('describes every parameter, with a valid example if it has one', () => {
    for (const { operationId, parameters } of operations) {
      for (const { name, in: place, schema, description, example } of parameters) {
        expect([operationId, name, description]).toEqual([operationId, name, expect.stringMatching(/./)]);
        if (place === 'path') expect([operationId, name, example]).toEqual([operationId, name, expect.anything()]);
        if (example !== undefined) expect([name, wrongWith(schema, example)]).toEqual([name, null]);
      }
    }
  });

  it('lists the parameters of each path in order', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { parameters } of Object.values(methods)) {
        const named = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
      }
    }
  });

  it('describes every answer and its headers', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, { description, headers = {} }] of Object.entries(responses)) {
        expect([operationId, status, description]).toEqual([operationId, status, expect.stringMatching(/./)]);
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

  it('names its server', () => {
    expect(document.servers).toEqual([expect.objectContaining({ url: expect.stringMatching(/^https:/) })]);
  });
});
