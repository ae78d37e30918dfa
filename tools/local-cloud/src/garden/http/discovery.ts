import { allKinds } from '../kinds/all-kinds.js';
import { allVerbs, apiVersionOf, type Kind } from '../kinds/kind.js';
import { basePath } from './routes.js';

const groupVersions = [...new Map(allKinds.map((kind) => [apiVersionOf(kind), kind])).values()];

const groups = groupVersions
  .filter(({ group }) => group !== '')
  .map((kind) => {
    const version = { groupVersion: apiVersionOf(kind), version: kind.version };
    return { name: kind.group, versions: [version], preferredVersion: version };
  });

const resourceOf = (kind: Kind) => ({
  name: kind.plural,
  singularName: kind.kind.toLowerCase(),
  namespaced: kind.namespaced,
  kind: kind.kind,
  verbs: [...(kind.userVerbs ?? allVerbs)].sort(),
});

/** Discovery documents by path, in the unaggregated form only and without subresources. */
export const discoveryDocuments: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['/api', { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }],
  ['/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups }],
  ...groups.map((group): [string, unknown] => [
    `/apis/${group.name}`,
    { kind: 'APIGroup', apiVersion: 'v1', ...group },
  ]),
  ...groupVersions.map((kind): [string, unknown] => [
    basePath(kind),
    {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: apiVersionOf(kind),
      resources: allKinds.filter((other) => apiVersionOf(other) === apiVersionOf(kind)).map(resourceOf),
    },
  ]),
]);

export const serverVersion = (gitVersion: string) => {
  const [major = '1', minor = '0'] = gitVersion.replace(/^v/, '').split('.');
  return { major, minor, gitVersion };
};
