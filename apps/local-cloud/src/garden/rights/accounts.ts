import { allKinds } from '../kinds/all-kinds.js';

/** What a rule of a ClusterRole grants. A subresource is written `shoots/adminkubeconfig`. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export const accountNames = ['technical-user', 'cluster-api', 'reconciler'] as const;
export type AccountName = (typeof accountNames)[number];

export interface Account {
  /** As the API server names it. */
  readonly userName: string;
  readonly rules: readonly Rule[];
}

const core = 'core.gardener.cloud';
const security = 'security.gardener.cloud';

/** Somebody at play: a member of every Project who may make Projects and read the catalogue. */
const ofMembers: readonly Rule[] = allKinds.flatMap(({ group, plural, userVerbs, subresources }) => [
  { apiGroups: [group], resources: [plural], verbs: userVerbs },
  ...subresources.map(({ name }) => ({
    apiGroups: [group],
    resources: [`${plural}/${name}`],
    verbs: [name.endsWith('kubeconfig') ? 'create' : 'get'],
  })),
]);

/** The documented rights of each account, which `infra/garden` has as manifests. */
export const accounts: Readonly<Record<AccountName, Account>> = {
  'technical-user': { userName: 'system:serviceaccount:garden:technical-user', rules: ofMembers },
  'cluster-api': {
    userName: 'system:serviceaccount:garden:corral-cluster-api',
    rules: [
      { apiGroups: [core], resources: ['cloudprofiles'], verbs: ['get'] },
      { apiGroups: [core], resources: ['shoots'], verbs: ['get'] },
      { apiGroups: [core], resources: ['shoots/adminkubeconfig'], verbs: ['create'] },
    ],
  },
  reconciler: {
    userName: 'system:serviceaccount:garden:corral-reconciler',
    rules: [
      { apiGroups: [core], resources: ['cloudprofiles'], verbs: ['get'] },
      { apiGroups: [core], resources: ['projects'], verbs: ['get', 'create', 'patch'] },
      {
        apiGroups: [core],
        resources: ['shoots'],
        verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
      },
      { apiGroups: [core], resources: ['shoots/adminkubeconfig'], verbs: ['create'] },
      { apiGroups: [core], resources: ['shoots/viewerkubeconfig'], verbs: ['create'] },
      { apiGroups: [security], resources: ['credentialsbindings'], verbs: ['get', 'create', 'patch', 'delete'] },
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
      { apiGroups: [''], resources: ['namespaces'], verbs: ['patch'] },
    ],
  },
};
