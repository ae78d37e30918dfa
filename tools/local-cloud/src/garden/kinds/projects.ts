import { any, atomicStruct, objectSchema, struct, text } from '../fields/schema.js';
import { type FieldError, immutable, invalid, required } from '../kube/field-error.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { forbidden } from '../kube/status-error.js';
import type { Kind } from './kind.js';

export interface Project extends KubeObject {
  spec: { namespace?: string; [field: string]: unknown };
  status?: { phase?: string };
}

const NAME_MAX = 10;

export const projects: Kind<Project> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'Project',
  plural: 'projects',
  namespaced: false,
  nameIsLabel: true,
  schema: objectSchema({
    spec: struct({
      createdBy: any,
      description: text,
      owner: any,
      purpose: text,
      members: any,
      namespace: text,
    }),
    status: struct({ phase: text }),
  }),
  setDefaults(project) {
    project.spec ??= {};
  },
  prepare(project, old, { user }) {
    if (old === null) {
      project.spec.createdBy ??= { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user };
      project.spec.owner ??= project.spec.createdBy;
      delete project.status;
    } else if (old.status === undefined) delete project.status;
    else project.status = old.status;
  },
  validate(project, old) {
    const { name = '' } = project.metadata;
    const errors: FieldError[] = [];
    if (old === null) {
      if (name.length > NAME_MAX) errors.push(invalid('metadata.name', name, 'must not exceed 10 characters'));
      if (name.includes('--'))
        errors.push(invalid('metadata.name', name, 'name may not contain two consecutive hyphens'));
    }
    const { namespace } = project.spec;
    if (namespace !== undefined && namespace !== 'garden' && !namespace.startsWith('garden-')) {
      errors.push(invalid('spec.namespace', namespace, 'must start with garden-'));
    }
    if (old?.spec.namespace !== undefined && old.spec.namespace !== namespace) {
      errors.push(immutable('spec.namespace', namespace));
    }
    return errors;
  },
};

export interface CredentialsBinding extends KubeObject {
  provider: { type: string };
  credentialsRef: { apiVersion?: string; kind?: string; name?: string; namespace?: string };
}

export const credentialsBindings: Kind<CredentialsBinding> = {
  group: 'security.gardener.cloud',
  version: 'v1alpha1',
  kind: 'CredentialsBinding',
  plural: 'credentialsbindings',
  namespaced: true,
  schema: objectSchema({
    provider: struct({ type: text }),
    credentialsRef: atomicStruct({ apiVersion: text, kind: text, name: text, namespace: text }),
    quotas: any,
  }),
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
    for (const field of ['provider', 'credentialsRef'] as const) {
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
