import type { Route } from '../../faults/route-table.js';
import { allKinds } from '../kinds/all-kinds.js';
import type { Kind } from '../kinds/kind.js';

/** Where the resources of a kind are, up to the namespace. */
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
    ...kind.subresources.map(({ name }) => route(`${collection}/:name/${name}`)),
  ];
}

/** Patterns that calls are counted under. */
export const gardenRoutes: readonly Route[] = [
  ...['/api', '/apis', '/version', '/healthz', '/livez', '/readyz'].map(route),
  ...[...new Set(allKinds.map(basePath))].map(route),
  ...allKinds.flatMap(routesOf),
];
