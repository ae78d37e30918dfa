import type { Route } from '../../faults/call-counts.js';
import { allKinds } from '../kinds/all-kinds.js';
import type { Kind } from '../kinds/kind.js';
import { pathNotFound } from '../kube/status-error.js';

/** Base path of a kind, without the namespace. */
export const basePath = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

const route = (pattern: string): Route => ({ pattern, methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] });

function routesOf(kind: Kind): Route[] {
  const all = `${basePath(kind)}/${kind.plural}`;
  const collection = kind.namespaced ? `${basePath(kind)}/namespaces/:namespace/${kind.plural}` : all;
  return [
    ...(kind.namespaced ? [route(all)] : []),
    route(collection),
    route(`${collection}/:name`),
    ...(kind.subresources ?? []).map((name) => route(`${collection}/:name/${name}`)),
  ];
}

/** Route patterns for the call counts. */
export const gardenRoutes: readonly Route[] = [
  ...['/api', '/apis', '/version', '/readyz'].map(route),
  ...[...new Set(allKinds.map(basePath))].map(route),
  ...allKinds.flatMap(routesOf),
];

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export interface RequestInfo {
  readonly kind: Kind;
  readonly verb: Verb;
  /** Empty for cluster-scoped kinds and requests across namespaces. */
  readonly namespace: string;
  /** Empty for a collection. */
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
}

const verbs: Readonly<Record<string, { item: Verb; collection: Verb }>> = {
  GET: { item: 'get', collection: 'list' },
  HEAD: { item: 'get', collection: 'list' },
  POST: { item: 'create', collection: 'create' },
  PUT: { item: 'update', collection: 'update' },
  PATCH: { item: 'patch', collection: 'patch' },
  DELETE: { item: 'delete', collection: 'deletecollection' },
};

/**
 * Parses the resource, verb and options of a request.
 *
 * @throws StatusError 404 for a path that is not a resource
 */
export function parseRequest(method: string, url: string): RequestInfo {
  const [path = '', search = ''] = url.split('?', 2);
  const query = new URLSearchParams(search);
  const segments = decodedSegments(path);
  for (const base of basePaths) {
    if (!startsWith(segments, base.segments)) continue;
    const found = resourceAt(base.kinds, segments.slice(base.segments.length));
    if (found === null) continue;
    const { item, collection } = verbs[method] ?? { item: 'get', collection: 'list' };
    const verb = found.name === '' ? collection : item;
    const watches = verb === 'list' && /^(1|true)$/.test(query.get('watch') ?? '');
    return { ...found, verb: watches ? 'watch' : verb, query };
  }
  throw pathNotFound();
}

type Resource = Pick<RequestInfo, 'kind' | 'namespace' | 'name' | 'subresource'>;

function resourceAt(kinds: readonly Kind[], segments: readonly string[]): Resource | null {
  const named = (plural: string | undefined): Kind | undefined => kinds.find((kind) => kind.plural === plural);
  if (segments.length > 2 && segments[0] === 'namespaces') {
    const [, namespace = '', plural, name = '', subresource = '', ...rest] = segments;
    const kind = named(plural);
    if (kind?.namespaced && rest.length === 0) return known({ kind, namespace, name, subresource });
  }
  const [plural, name = '', subresource = '', ...rest] = segments;
  const kind = named(plural);
  if (kind === undefined || rest.length > 0) return null;
  if (!kind.namespaced) return known({ kind, namespace: '', name, subresource });
  return name === '' ? { kind, namespace: '', name, subresource } : null;
}

function known(resource: Resource): Resource | null {
  const { kind, subresource } = resource;
  const exists = subresource === '' || kind.subresources?.includes(subresource);
  return exists ? resource : null;
}

const basePaths = [...new Set(allKinds.map(basePath))].map((path) => ({
  segments: path.slice(1).split('/'),
  kinds: allKinds.filter((kind) => basePath(kind) === path),
}));

const startsWith = (segments: readonly string[], start: readonly string[]): boolean =>
  start.every((part, index) => segments[index] === part);

function decodedSegments(path: string): string[] {
  try {
    return path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    throw pathNotFound();
  }
}
