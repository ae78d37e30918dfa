import { allKinds, apiVersionOf, type Kind, versionPathOf } from './kinds.js';

const paths = [...new Set(allKinds.map(versionPathOf))];
const kindsAt = (path: string): Kind[] => allKinds.filter((kind) => versionPathOf(kind) === path);

const groups = [...Map.groupBy(allKinds, ({ group }) => group)].flatMap(([name, [kind]]) => {
  if (name === '' || kind === undefined) return [];
  const version = { groupVersion: apiVersionOf(kind), version: kind.version };
  return { name, versions: [version], preferredVersion: version };
});

/** All that kubectl must read before it edits: that the server itself finds unknown fields in a patch. */
const validatedPatches = (path: string) => ({
  openapi: '3.0.0',
  info: { title: 'garden', version: 'v1' },
  paths: Object.fromEntries(
    kindsAt(path).map(({ group, version, kind, plural }) => [
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

const resourceList = (path: string) => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: path.replace(/^\/apis?\//, ''),
  resources: kindsAt(path).map(({ plural, kind, namespaced }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: ['get', 'list', 'watch', 'patch', 'delete'],
  })),
});

/** What kubectl asks before it works, by path: discovery in the unaggregated form, without subresources. */
export const discoveryDocuments: Readonly<Record<string, unknown>> = {
  '/version': { major: '1', minor: '34', gitVersion: 'v1.34.1' },
  '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
  '/openapi/v3': {
    paths: Object.fromEntries(paths.map((path) => [path.slice(1), { serverRelativeURL: `/openapi/v3${path}` }])),
  },
  ...Object.fromEntries(paths.map((path) => [`/openapi/v3${path}`, validatedPatches(path)])),
  ...Object.fromEntries(paths.map((path) => [path, resourceList(path)])),
};
