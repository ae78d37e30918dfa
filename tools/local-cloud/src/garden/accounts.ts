import { allKinds } from './kinds/all-kinds.js';
import { allVerbs } from './kinds/kind.js';

/** A rule of a ClusterRole. A subresource is written `shoots/adminkubeconfig`. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export const accountNames = ['technical-user', 'cluster-api', 'reconciler'] as const;
export type AccountName = (typeof accountNames)[number];

interface Account {
  /** User name as the API server shows it. */
  readonly userName: string;
  readonly rules: readonly Rule[];
}

const core = 'core.gardener.cloud';
const security = 'security.gardener.cloud';

/** A member of every Project who may also create Projects and read the catalogue. */
const ofMembers: readonly Rule[] = allKinds.flatMap(({ group, plural, userVerbs = allVerbs, subresources = [] }) => [
  { apiGroups: [group], resources: [plural], verbs: userVerbs },
  ...subresources.map((name) => ({ apiGroups: [group], resources: [`${plural}/${name}`], verbs: ['create'] })),
]);

/** The documented rights of each account. The manifests are in `infra/garden`. */
export const accounts: Readonly<Record<AccountName, Account>> = {
  'technical-user': { userName: 'system:serviceaccount:garden:technical-user', rules: ofMembers },
  'cluster-api': {
    userName: 'system:serviceaccount:garden:corral-cluster-api',
    rules: [
      { apiGroups: [core], resources: ['cloudprofiles'], verbs: ['get'] },
      { apiGroups: [core], resources: ['shoots'], verbs: ['get'] },
      { apiGroups: [core], resources: ['shoots/adminkubeconfig', 'shoots/viewerkubeconfig'], verbs: ['create'] },
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

/** Role-based access control of the accounts. */
export class Rights {
  readonly #rules = new Map<AccountName, readonly Rule[]>();

  /** @param resource with its subresource, for example `shoots/adminkubeconfig` */
  allows(account: AccountName, verb: string, group: string, resource: string): boolean {
    return this.of(account).some(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
    );
  }

  of(account: AccountName): readonly Rule[] {
    return this.#rules.get(account) ?? accounts[account].rules;
  }

  /** @param rules null restores the documented rules */
  set(account: AccountName, rules: readonly Rule[] | null): void {
    this.#rules.set(account, rules ?? accounts[account].rules);
  }
}
