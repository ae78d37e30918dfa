import { allVerbs, type Kind, nameColumn, textColumn } from '../kind.js';
import { raiseGeneration } from './generation.js';
import { judgeShoot, judgeShootDeletion } from './judge.js';
import { setUsageLabels } from './labels.js';
import { mutateShoot } from './mutate.js';
import { shootSchema } from './schema.js';
import { setShootDefaults } from './set-defaults.js';
import { blankStatus, type Shoot, wantsHibernation } from './shoot.js';
import { validateShoot } from './validate-spec.js';
import { validateShootUpdate } from './validate-update.js';

const asShoot = (object: unknown): Shoot => object as Shoot;

const conditionOf = (shoot: Shoot, type: string): string =>
  shoot.status.conditions?.find((condition) => condition.type === type)?.status ?? '';

const shownHibernation = ({ spec, status }: Shoot): string => {
  if (wantsHibernation(spec)) return status.hibernated ? 'Hibernated' : 'Hibernating';
  return status.hibernated ? 'Waking Up' : 'Awake';
};

export const shoots: Kind<Shoot> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'Shoot',
  plural: 'shoots',
  singular: 'shoot',
  shortNames: [],
  namespaced: true,
  nameIsLabel: true,
  schema: shootSchema,
  subresources: [
    { name: 'adminkubeconfig', kind: 'AdminKubeconfigRequest', verbs: ['create'] },
    { name: 'viewerkubeconfig', kind: 'ViewerKubeconfigRequest', verbs: ['create'] },
    { name: 'binding', kind: 'Shoot', verbs: ['get', 'patch', 'update'] },
    { name: 'status', kind: 'Shoot', verbs: ['get', 'patch', 'update'] },
  ],
  userVerbs: allVerbs,
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    textColumn('CloudProfile', (object) => asShoot(object).spec.cloudProfile?.name ?? ''),
    textColumn('Provider', (object) => asShoot(object).spec.provider.type),
    textColumn('Region', (object) => asShoot(object).spec.region),
    textColumn('K8S Version', (object) => asShoot(object).spec.kubernetes.version),
    textColumn('Hibernation', (object) => shownHibernation(asShoot(object))),
    textColumn('Last Operation', (object) => {
      const { lastOperation } = asShoot(object).status;
      if (lastOperation === undefined) return '<pending>';
      return `${lastOperation.type} ${lastOperation.state} (${lastOperation.progress}%)`;
    }),
    textColumn('Status', ({ metadata }) => metadata.labels?.['shoot.gardener.cloud/status'] ?? ''),
    textColumn('Purpose', (object) => asShoot(object).spec.purpose ?? '', 1),
    textColumn('API Server', (object) => conditionOf(asShoot(object), 'APIServerAvailable'), 1),
    textColumn('Control Plane', (object) => conditionOf(asShoot(object), 'ControlPlaneHealthy'), 1),
    textColumn('Nodes', (object) => conditionOf(asShoot(object), 'EveryNodeReady'), 1),
  ],
  selectable: [
    { field: 'spec.seedName', read: ({ spec }) => spec.seedName ?? '' },
    { field: 'status.seedName', read: ({ status }) => status.seedName ?? '' },
    { field: 'spec.cloudProfileName', read: ({ spec }) => spec.cloudProfileName ?? '' },
    { field: 'spec.cloudProfile.name', read: ({ spec }) => spec.cloudProfile?.name ?? '' },
    { field: 'spec.cloudProfile.kind', read: ({ spec }) => spec.cloudProfile?.kind ?? '' },
  ],
  setDefaults: (shoot) => setShootDefaults(shoot),
  admit: (shoot, old, context) => mutateShoot(shoots, shoot, old, context),
  prepare(shoot, old) {
    if (old === null) {
      shoot.metadata.generation = 1;
      shoot.status = blankStatus();
    } else {
      shoot.status = old.status;
      raiseGeneration(shoot, old);
    }
    syncCloudProfile(shoot);
    setUsageLabels(shoot);
  },
  validate: (shoot, old) => [...(old === null ? [] : validateShootUpdate(shoot, old)), ...validateShoot(shoot)],
  judge: (shoot, old, context) => judgeShoot(shoots, shoot, old, context),
  judgeDeletion: (shoot, context) => judgeShootDeletion(shoots, shoot, context),
};

/** The old and the new way to name a profile are kept alike, as long as the old one is allowed at all. */
function syncCloudProfile({ spec }: Shoot): void {
  const { cloudProfileName = '' } = spec;
  if (spec.cloudProfile === undefined && cloudProfileName !== '') {
    spec.cloudProfile = { kind: 'CloudProfile', name: cloudProfileName };
  }
  if (spec.cloudProfile !== undefined) spec.cloudProfile.kind ??= 'CloudProfile';
}
