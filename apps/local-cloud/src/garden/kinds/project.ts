import { any, flag, integer, keyedBy, listOf, objectSchema, struct, text } from '../fields/schema.js';
import { type FieldError, immutable, invalid } from '../kube/field-error.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { forbidden } from '../kube/status-error.js';
import { annotationNames, isDeletionConfirmed } from './annotations.js';
import { allVerbs, type Kind, nameColumn, textColumn } from './kind.js';

export interface Project extends KubeObject {
  spec: { namespace?: string; [field: string]: unknown };
  status?: { phase?: string; observedGeneration?: number };
}

const NAME_MAX = 10;

const member = struct({ apiGroup: text, kind: text, name: text, namespace: text, role: text, roles: listOf(text) });

export const projects: Kind<Project> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'Project',
  plural: 'projects',
  singular: 'project',
  shortNames: [],
  namespaced: false,
  nameIsLabel: true,
  schema: objectSchema({
    spec: struct({
      createdBy: any,
      description: text,
      owner: any,
      purpose: text,
      members: listOf(member),
      namespace: text,
      tolerations: any,
      dualApprovalForDeletion: listOf(struct({ resource: text, selector: any, includeServiceAccounts: flag })),
    }),
    status: struct({
      observedGeneration: integer,
      phase: text,
      staleSinceTimestamp: text,
      staleAutoDeleteTimestamp: text,
      lastActivityTimestamp: text,
      conditions: keyedBy('type', any),
    }),
  }),
  subresources: [],
  userVerbs: allVerbs,
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    textColumn('Namespace', (object) => (object as Project).spec.namespace ?? ''),
    textColumn('Status', (object) => (object as Project).status?.phase ?? ''),
  ],
  selectable: [
    { field: 'spec.namespace', read: ({ spec }) => spec.namespace ?? '' },
    { field: 'status.phase', read: ({ status }) => status?.phase ?? '' },
  ],
  setDefaults(project) {
    project.spec ??= {};
  },
  prepare(project, old, { user }) {
    const { generation = 1 } = old?.metadata ?? {};
    project.metadata.generation = old === null || equalJson(project.spec, old.spec) ? generation : generation + 1;
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
  judgeDeletion(project, { list }) {
    const { name = '', annotations } = project.metadata;
    if (!isDeletionConfirmed(annotations)) {
      throw forbidden(projects, name, `must have a "${annotationNames.confirmDeletion}" annotation to delete`);
    }
    for (const shoot of list('shoots')) {
      if (shoot.metadata.namespace === project.spec.namespace) {
        throw forbidden(projects, name, 'cannot delete project because it still contains shoots');
      }
    }
  },
};
