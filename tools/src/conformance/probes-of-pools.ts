import { otherManagersOf } from '@corral/garden';
import { waitFor } from '@corral/testing';
import {
  addPool,
  aShoot,
  endOf,
  type Probe,
  poolsOf,
  present,
  resting,
  scale,
  shootPath,
  shownPools,
  WORKER,
  worker,
} from './probe.js';

/** The owners of fields and pools, and what an apply does with those that it leaves out. In the order in which they run. */
export const probesOfPools: readonly Probe[] = [
  {
    name: 'removes what an apply leaves out',
    expected: 'p1=3',
    async run({ garden, namespace }) {
      await garden.applyShoot(aShoot(namespace, 'less', [worker(), worker({ name: 'p2' })]));
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'less'));
      return shownPools(shoot);
    },
  },
  {
    name: 'names field and manager of a conflict',
    expected: `conflict, 409, ${WORKER}.maximum of kubectl-edit`,
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'held'));
      await scale(probing, 'held', 7);
      return endOf(garden.applyShoot(aShoot(namespace, 'held', [worker({ maximum: 5 })])));
    },
  },
  {
    name: 'names the manager of a field, and the time',
    expected: 'kubectl-edit, with times',
    async run({ garden, namespace }) {
      const held = await garden.readTimedShoot({ namespace, name: 'held' });
      const holders = otherManagersOf(held?.shoot.managers ?? [], `${WORKER}.maximum`);
      const isTimed = held?.at instanceof Date && holders.every(({ time }) => time !== null);
      return `${holders.map(({ manager }) => manager).join(' ')}, ${isTimed ? 'with' : 'without'} times`;
    },
  },
  {
    name: 'refuses a forced apply on an old version, and takes over fields on the current one',
    expected: 'conflict, 409, then p1=5 held by no other manager',
    async run({ garden, namespace }) {
      const { metadata } = await present(garden, namespace, 'held');
      const override = (resourceVersion: string) =>
        garden.overrideShoot({
          ...aShoot(namespace, 'held', [worker({ maximum: 5 })]),
          metadata: { ...aShoot(namespace, 'held').metadata, resourceVersion },
        });
      const old = await endOf(override('1'));
      await waitFor('no write in between', async () => {
        const { metadata: now } = await present(garden, namespace, 'held');
        return endOf(override(now.resourceVersion)).then((end) => {
          if (end !== 'ok') throw new Error(`${end} after ${metadata.resourceVersion}`);
          return true;
        });
      });
      const shoot = await present(garden, namespace, 'held');
      const others = otherManagersOf(shoot.managers, `${WORKER}.maximum`).map(({ manager }) => manager);
      return `${old}, then ${shownPools(shoot)} held by ${others.join(' ') || 'no other manager'}`;
    },
  },
  {
    name: 'keeps fields that an apply leaves out and others hold',
    expected: 'p1=8',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'kept'));
      await scale(probing, 'kept', 8);
      const { maximum: _, ...rest } = worker();
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'kept', [rest]));
      return shownPools(shoot);
    },
  },
  {
    name: 'removes a pool that an apply leaves out even if another manager holds a field in it',
    expected: 'p0=3',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'scaled', [worker(), worker({ name: 'p0' })]));
      await scale(probing, 'scaled', 8);
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'scaled', [worker({ name: 'p0' })]));
      return shownPools(shoot);
    },
  },
  {
    name: 'keeps a pool that another manager added after an apply that does not know it',
    expected: 'p1=5 p9=3',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'joined'));
      await addPool(probing, 'joined', 'p9');
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'joined', [worker({ maximum: 5 })]));
      return shownPools(shoot);
    },
  },
  {
    name: 'names who added a pool, and shows that no other manager holds the others',
    expected: 'p9 of kubectl-edit, p1 of no other manager',
    async run({ garden, namespace }) {
      const { managers } = await present(garden, namespace, 'joined');
      const holders = (pool: string): string =>
        otherManagersOf(managers, `.spec.provider.workers[name="${pool}"].name`)
          .map(({ manager }) => manager)
          .join(' ') || 'no other manager';
      return `p9 of ${holders('p9')}, p1 of ${holders('p1')}`;
    },
  },
  {
    name: 'assigns to before-first-apply the fields that a restore has forgotten',
    expected: new RegExp(`^conflict, 409, .*${'maximum'} of before-first-apply`),
    async run(probing) {
      const { target, garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'restored'));
      await waitFor('the Shoot to rest', () => resting(probing, 'restored'));
      await target.forgetManagers(shootPath(namespace, 'restored'));
      return endOf(garden.applyShoot(aShoot(namespace, 'restored', [worker({ maximum: 5 })])));
    },
  },
  {
    name: 'keeps a pool that an apply leaves out after a restore, until the list is replaced',
    expected: 'p1=3 p0=3, then p0=3',
    async run(probing) {
      const { target, garden, namespace } = probing;
      const [first, second] = [worker(), worker({ name: 'p0' })];
      await garden.applyShoot(aShoot(namespace, 'left', [first, second]));
      await waitFor('the Shoot to rest', () => resting(probing, 'left'));
      await target.forgetManagers(shootPath(namespace, 'left'));
      await garden.applyShoot(aShoot(namespace, 'left', [first, second]));
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'left', [second]));
      const replaced = await waitFor('no write in between', async () => {
        const seen = await present(garden, namespace, 'left');
        const { uid, resourceVersion } = seen.metadata;
        const workers = poolsOf(seen).filter(({ name }) => name === 'p0');
        return garden.replaceWorkers({ namespace, name: 'left', uid, resourceVersion, workers });
      });
      return `${shownPools(shoot)}, then ${shownPools(replaced)}`;
    },
  },
  {
    name: 'refuses an unknown field, and names it',
    expected: 'refused, 500, spec.unheardOf',
    async run({ garden, namespace }) {
      const manifest = aShoot(namespace, 'newer');
      return endOf(garden.applyShoot({ ...manifest, spec: { ...manifest.spec, unheardOf: true } }));
    },
  },
  {
    name: 'refuses an unknown field of a pool, and names it',
    expected: `refused, 500, ${WORKER.slice(1)}.unheardOf`,
    async run({ garden, namespace }) {
      return endOf(garden.applyShoot(aShoot(namespace, 'newer', [worker({ unheardOf: 1 })])));
    },
  },
];
