import type { FieldTree, Kind, WriteContext } from '../kinds/kind.js';
import { aggregate, forbidden, invalidObject } from '../kube/errors.js';
import { equalJson } from '../kube/object.js';
import { judgeByCatalogue, prepareWorkers } from './catalogue.js';
import type { Shoot, ShootStatus } from './shoot.js';

const specFields: FieldTree = {
  cloudProfile: { kind: null, name: null },
  region: null,
  purpose: null,
  seedName: null,
  credentialsBindingName: null,
  kubernetes: { version: null },
  networking: { type: null, nodes: null, pods: null, services: null, ipFamilies: null },
  hibernation: { enabled: null, schedules: null },
  controlPlane: { highAvailability: null },
  maintenance: {
    autoUpdate: { kubernetesVersion: null, machineImageVersion: null },
    timeWindow: { begin: null, end: null },
    confineSpecUpdateRollout: null,
  },
  provider: {
    type: null,
    infrastructureConfig: null,
    controlPlaneConfig: null,
    workers: {
      name: null,
      minimum: null,
      maximum: null,
      maxSurge: null,
      maxUnavailable: null,
      zones: null,
      priority: null,
      labels: null,
      annotations: null,
      taints: null,
      machine: { type: null, architecture: null, image: { name: null, version: null, providerConfig: null } },
      cri: null,
      providerConfig: null,
      systemComponents: null,
      updateStrategy: null,
    },
  },
};

const NAMES_LENGTH_MAX = 21;
const CONFIRMATION = 'confirmation.gardener.cloud/deletion';
const blankStatus: ShootStatus = { hibernated: false, technicalID: '', uid: '' };

export const shoots: Kind<Shoot> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'Shoot',
  plural: 'shoots',
  namespaced: true,
  subresources: ['adminkubeconfig', 'viewerkubeconfig'],
  specFields,
  prepare(shoot, old, context) {
    const { spec } = shoot;
    spec.maintenance = {
      timeWindow: { begin: '220000+0000', end: '230000+0000' },
      ...spec.maintenance,
      autoUpdate: { machineImageVersion: true, ...(spec.maintenance?.autoUpdate as object | undefined) },
    };
    const errors = prepareWorkers(shoot, old, context);
    if (errors.length > 0) throw forbidden(shoots, shoot.metadata.name ?? '', aggregate(errors));
    shoot.status = old?.status ?? blankStatus;
    shoot.metadata.generation = old === null ? 1 : generationAfter(shoot, old);
  },
  judge(shoot, old, context) {
    const { name = '', namespace = '', deletionTimestamp } = shoot.metadata;
    if (deletionTimestamp !== undefined && !equalJson(shoot.spec, old?.spec))
      throw invalidObject(shoots, name, 'spec', 'Forbidden: cannot update shoot spec if deletion timestamp is set');
    const project = projectOf(namespace, context);
    if (old === null && project.length + name.length > NAMES_LENGTH_MAX) {
      const rule = `the length of the shoot name and the project name must not exceed ${NAMES_LENGTH_MAX} characters`;
      throw forbidden(shoots, name, `${rule} (project: ${project}; shoot: ${name})`);
    }
    const errors = judgeByCatalogue(shoot, old, context);
    if (errors.length > 0) throw forbidden(shoots, name, aggregate(errors));
  },
  judgeDeletion({ metadata: { name = '', annotations } }) {
    if (annotations?.[CONFIRMATION] === 'true') return;
    throw forbidden(shoots, name, `must have a "${CONFIRMATION}" annotation to delete`);
  },
};

/** Name of the Project that a namespace belongs to. */
const projectOf = (namespace: string, { find }: WriteContext): string =>
  find('namespaces', '', namespace)?.metadata.labels?.['project.gardener.cloud/name'] ?? namespace;

const OPERATION = 'gardener.cloud/operation';

/** Changes of the specification, the begin of a deletion, and an order that is heeded raise the generation. */
function generationAfter({ metadata, spec, status }: Shoot, old: Shoot): number {
  const { generation = 1, deletionTimestamp } = old.metadata;
  const heeded = status.lastOperation?.state === 'Failed' ? 'retry' : 'reconcile';
  const isOrdered = status.lastOperation !== undefined && metadata.annotations?.[OPERATION] === heeded;
  if (isOrdered) delete metadata.annotations?.[OPERATION];
  const isRaised = isOrdered || metadata.deletionTimestamp !== deletionTimestamp || !equalJson(spec, old.spec);
  return isRaised ? generation + 1 : generation;
}
