import { listOf, objectSchema, struct, text } from '../fields/schema.js';
import { type FieldError, immutable, required } from '../kube/field-error.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { forbidden } from '../kube/status-error.js';
import { allVerbs, type Kind, nameColumn, textColumn } from './kind.js';
import { objectReference } from './shoot/reference-schema.js';

export interface CredentialsBinding extends KubeObject {
  provider: { type: string };
  credentialsRef: { apiVersion?: string; kind?: string; name?: string; namespace?: string };
  quotas?: unknown[];
}

export const credentialsBindings: Kind<CredentialsBinding> = {
  group: 'security.gardener.cloud',
  version: 'v1alpha1',
  kind: 'CredentialsBinding',
  plural: 'credentialsbindings',
  singular: 'credentialsbinding',
  shortNames: ['cb'],
  namespaced: true,
  nameIsLabel: false,
  schema: objectSchema({
    provider: struct({ type: text }),
    credentialsRef: objectReference,
    quotas: listOf(objectReference),
  }),
  subresources: [],
  userVerbs: allVerbs,
  unconditionalUpdate: true,
  columns: [
    nameColumn,
    textColumn('Provider', (object) => (object as CredentialsBinding).provider.type),
    textColumn('Credentials', ({ credentialsRef }) => {
      const { namespace = '', name = '' } = credentialsRef as CredentialsBinding['credentialsRef'];
      return `${namespace}/${name}`;
    }),
  ],
  selectable: [],
  setDefaults(binding) {
    binding.provider ??= { type: '' };
    binding.credentialsRef ??= {};
  },
  validate(binding, old) {
    const errors: FieldError[] = [];
    const { apiVersion = '', kind = '', name = '', namespace = '' } = binding.credentialsRef;
    if ((binding.provider.type ?? '') === '') errors.push(required('provider.type', 'must specify a provider type'));
    for (const [field, value] of Object.entries({ apiVersion, kind, name, namespace })) {
      if (value === '') errors.push(required(`credentialsRef.${field}`, `must provide ${field}`));
    }
    if (old === null) return errors;
    for (const field of ['provider', 'credentialsRef', 'quotas'] as const) {
      if (!equalJson(binding[field], old[field])) errors.push(immutable(field, binding[field]));
    }
    return errors;
  },
  judge(binding, old, { find }) {
    if (old !== null) return;
    const { kind, name = '', namespace = '' } = binding.credentialsRef;
    const refuse = (why: string) => forbidden(credentialsBindings, binding.metadata.name ?? '', why);
    if (kind !== 'Secret') throw refuse(`unknown credentials reference kind ${JSON.stringify(kind)}`);
    if (find('secrets', namespace, name) === null) throw refuse(`secrets ${JSON.stringify(name)} not found`);
  },
};
