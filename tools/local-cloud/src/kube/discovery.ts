import { apiVersionOf, type Kind, versionPathOf } from './kinds.js';

/** What kubectl asks before it works, by path: discovery in the unaggregated form, without subresources. */
export function discoveryOf(kinds: readonly Kind[]): Readonly<Record<string, unknown>> {
  const byPath = Map.groupBy(kinds, versionPathOf);
  const groups = [...Map.groupBy(kinds, ({ group }) => group)].flatMap(([name, [kind]]) => {
    if (name === '' || kind === undefined) return [];
    const version = { groupVersion: apiVersionOf(kind), version: kind.version };
    return { name, versions: [version], preferredVersion: version };
  });
  return {
    '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
    ...Object.fromEntries([...byPath].map(([path, some]) => [path, resourceList(path, some)])),
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
