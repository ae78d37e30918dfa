import { apiVersionOf, type Kind, versionPathOf } from './kinds.js';

/** What kubectl asks before it works, by path: discovery in the unaggregated form, without subresources. */
export function discoveryOf(kinds: readonly Kind[]): Readonly<Record<string, unknown>> {
  const byPath = Map.groupBy(kinds, versionPathOf);
  const groups = [...Map.groupBy(kinds, ({ group }) => group)].flatMap(([name, [kind]]) => {
    if (name === '' || kind === undefined) return [];
    const version = { groupVersion: apiVersionOf(kind), version: kind.version };
    return { name, versions: [version], preferredVersion: version };
  });
  const openApiPaths = [...byPath.keys()].map((path) => [path.slice(1), { serverRelativeURL: `/openapi/v3${path}` }]);
  return {
    '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
    '/openapi/v3': { paths: Object.fromEntries(openApiPaths) },
    ...Object.fromEntries(
      [...byPath].flatMap(([path, some]) => [
        [path, resourceList(path, some)],
        [`/openapi/v3${path}`, validatedPatches(path, some)],
      ]),
    ),
  };
}

const resourceList = (path: string, kinds: readonly Kind[]) => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: path.replace(/^\/apis?\//, ''),
  resources: kinds.map(({ plural, kind, namespaced }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  })),
});

/** All that kubectl must read before it edits: that the server itself finds unknown fields in a patch. */
const validatedPatches = (path: string, kinds: readonly Kind[]) => ({
  openapi: '3.0.0',
  info: { title: 'Kubernetes', version: 'v1' },
  paths: Object.fromEntries(
    kinds.map(({ group, version, kind, plural }) => [
      `${path}/${plural}/{name}`,
      {
        patch: {
          parameters: [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }],
          responses: {},
          'x-kubernetes-group-version-kind': { group, version, kind },
        },
      },
    ]),
  ),
});
