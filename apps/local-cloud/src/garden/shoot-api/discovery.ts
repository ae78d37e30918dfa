const policy = {
  name: 'policy',
  versions: [{ groupVersion: 'policy/v1', version: 'v1' }],
  preferredVersion: { groupVersion: 'policy/v1', version: 'v1' },
};

const resourceList = (groupVersion: string, resources: readonly object[]) => ({
  ...{ kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources },
});

const secret = { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret' };
const pod = { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', shortNames: ['po'] };
const node = { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', shortNames: ['no'] };
const eviction = { name: 'pods/eviction', singularName: '', namespaced: true, kind: 'Eviction' };

/** What clients ask a Shoot for before they know a path; by path. It names what is served here and nothing else. */
export const shootDiscovery: Readonly<Record<string, unknown>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [policy] },
  '/apis/policy': { kind: 'APIGroup', apiVersion: 'v1', ...policy },
  '/apis/policy/v1': resourceList('policy/v1', []),
  '/api/v1': resourceList('v1', [
    { ...node, verbs: ['delete', 'get', 'list', 'patch'] },
    { ...pod, verbs: ['get', 'list'] },
    { ...eviction, group: 'policy', version: 'v1', verbs: ['create'] },
    { ...secret, verbs: ['create', 'delete', 'get', 'list'] },
  ]),
};
