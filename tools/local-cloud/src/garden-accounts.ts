import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { PolicyRule } from './kube/serve-kube.js';

export const accountNames = ['technical-user', 'cluster-api', 'reconciler'] as const;
export type AccountName = (typeof accountNames)[number];

export interface Account {
  /** User name as the API server shows it. */
  readonly userName: string;
  /** What the manifest of a service grants. */
  readonly granted: readonly PolicyRule[];
  /** Those in force. Tests change them. */
  rules: readonly PolicyRule[];
}

/** The manifests, as far up from this file as from the bundled program. */
const MANIFESTS = new URL('../../../infra/garden/', import.meta.url);

function accountIn(file: string): Account {
  const documents = parseAllDocuments(readFileSync(new URL(file, MANIFESTS), 'utf8')).map((each) => each.toJS());
  const { metadata } = documents.find(({ kind }) => kind === 'ServiceAccount');
  const { rules } = documents.find(({ kind }) => kind === 'ClusterRole');
  return { userName: `system:serviceaccount:${metadata.namespace}:${metadata.name}`, granted: rules, rules };
}

const everything: readonly PolicyRule[] = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

/** The accounts of people and services. Those of the services have the rights that their manifests grant. */
export const openAccounts = (): Readonly<Record<AccountName, Account>> => ({
  'technical-user': {
    userName: 'system:serviceaccount:garden:technical-user',
    granted: everything,
    rules: everything,
  },
  'cluster-api': accountIn('cluster-api.yaml'),
  reconciler: accountIn('reconciler.yaml'),
});
