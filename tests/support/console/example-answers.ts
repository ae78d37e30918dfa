import { clusterOpenApi, dnsDemoRoutes, dnsOpenApi, dnsZoneRoutes } from '@corral/contracts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly minimum?: number;
}
interface Answer {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Answer>> }>>>
  >;
}

/**
 * What the documents of both APIs give as examples, for pages that need neither of them.
 *
 * @param dnsPath before the paths of the DNS API
 * @returns the answer to a request, or null for one without a body in the documents
 */
export function exampleAnswers(dnsPath: string): (method: string, path: string) => unknown {
  const cluster = clusterOpenApi('') as Document;
  const dns = dnsOpenApi('', [...dnsZoneRoutes, ...dnsDemoRoutes]) as Document;
  return (method, path) =>
    path.startsWith(dnsPath) ? answerOf(dns, method, path.slice(dnsPath.length)) : answerOf(cluster, method, path);
}

function answerOf(document: Document, method: string, path: string): unknown {
  const paths = Object.keys(document.paths).filter((each) => patternOf(each).test(path));
  // `/actions/{id}` and `/zones/actions` are no `/zones/{zone}`.
  const found = paths.toSorted((a, b) => parametersIn(a) - parametersIn(b))[0];
  const responses = found && document.paths[found]?.[method.toLowerCase()]?.responses;
  const [, answer] = Object.entries(responses || {}).find(([status]) => status.startsWith('2')) ?? [];
  const { content } = (answer?.$ref === undefined ? answer : (at(document, answer.$ref) as Answer)) ?? {};
  const schema = content?.['application/json']?.schema;
  return schema === undefined ? null : sampleOf(document, schema);
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
const parametersIn = (path: string): number => path.split('{').length;

/** Its example, or one of its parts. */
function sampleOf(document: Document, schema: Schema): unknown {
  const { $ref, examples, anyOf, properties, items } = schema;
  if ($ref !== undefined) return sampleOf(document, at(document, $ref) as Schema);
  if (examples !== undefined) return examples[0];
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (anyOf?.[0] !== undefined) return sampleOf(document, anyOf[0]);
  const types = [schema.type].flat();
  if (types.includes('null')) return null;
  if (types.includes('array')) return items === undefined ? [] : [sampleOf(document, items)];
  if (types.includes('object')) {
    return Object.fromEntries(Object.entries(properties ?? {}).map(([name, each]) => [name, sampleOf(document, each)]));
  }
  if (types.includes('boolean')) return false;
  return types.includes('string') ? '' : (schema.minimum ?? 0);
}

const at = (document: Document, ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], document);
