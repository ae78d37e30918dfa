import { waitFor } from '@corral/testing';
import { aShoot, endOf, type Probe, present, resting, shootPath, worker } from './probe.js';
import { mergeType, must } from './rest.js';

/** How a Shoot is created, identified and deleted. In the order in which they run. */
export const probesOfShoots: readonly Probe[] = [
  {
    name: 'creates a Shoot with an apply, and says so',
    expected: 'created, then not',
    async run({ garden, namespace }) {
      const first = await garden.applyShoot(aShoot(namespace, 'make'));
      const again = await garden.applyShoot(aShoot(namespace, 'make'));
      return `${first.created ? 'created' : 'found'}, then ${again.created ? 'created' : 'not'}`;
    },
  },
  {
    name: 'raises the generation for changes of the specification, not of annotations',
    expected: 'spec +1, annotation +0',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'count'));
      // The scheduler also raises it once, when it binds the Shoot to a seed.
      const before = await waitFor('the Shoot to rest', () => resting(probing, 'count'));
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'count', [worker({ maximum: 4 })]));
      const { uid } = shoot.metadata;
      const marked = await garden.annotateShoot({
        namespace,
        name: 'count',
        uid,
        annotations: { 'example.org/a': 'b' },
      });
      const { generation } = shoot.metadata;
      return `spec +${generation - before.metadata.generation}, annotation +${marked.metadata.generation - generation}`;
    },
  },
  {
    name: 'treats another uid in a patch as a change of the uid',
    expected: 'merge: conflict, 422, another uid; apply: conflict, 422, another uid',
    async run({ garden, namespace }) {
      await garden.applyShoot(aShoot(namespace, 'meant'));
      const uid = '00000000-0000-4000-8000-000000000000';
      const merged = await endOf(garden.annotateShoot({ namespace, name: 'meant', uid, annotations: { a: 'b' } }));
      const applied = await endOf(garden.applyShoot(aShoot(namespace, 'meant', [worker()], { uid })));
      return `merge: ${merged}; apply: ${applied}`;
    },
  },
  {
    name: 'does not recreate an object that an apply names by uid',
    expected: 'conflict, 409, another uid',
    async run({ garden, namespace }) {
      const uid = '00000000-0000-4000-8000-000000000000';
      return endOf(garden.applyShoot(aShoot(namespace, 'absent', [worker()], { uid })));
    },
  },
  {
    name: 'refuses a patch of an old version',
    expected: 'conflict, 409',
    async run({ garden, namespace }) {
      const { uid } = (await garden.applyShoot(aShoot(namespace, 'slot'))).shoot.metadata;
      const order = { namespace, name: 'slot', uid, resourceVersion: '1', annotations: { a: 'b' } };
      return endOf(garden.annotateShoot(order));
    },
  },
  {
    name: 'refuses to delete with another uid, and deletes with the right one after the finalizers',
    expected: 'conflict, 422, another uid; going; gone',
    async run({ target, garden, namespace }) {
      await garden.applyShoot(aShoot(namespace, 'going'));
      const path = shootPath(namespace, 'going');
      const { uid } = (await present(garden, namespace, 'going')).metadata;
      if (!target.hasControllers) {
        await must(target.admin, 'PATCH', path, { metadata: { finalizers: ['gardener.cloud/gardener'] } }, mergeType);
      }
      const other = await endOf(
        garden.deleteShoot({ namespace, name: 'going', uid: '00000000-0000-4000-8000-000000000000' }),
      );
      await garden.deleteShoot({ namespace, name: 'going', uid });
      const after = await garden.readShoot({ namespace, name: 'going' });
      const isGoing = after === null || after.metadata.deletionTimestamp !== null;
      if (!target.hasControllers)
        await must(target.admin, 'PATCH', path, { metadata: { finalizers: null } }, mergeType);
      await waitFor('the Shoot to be gone', async () => {
        if ((await garden.readShoot({ namespace, name: 'going' })) !== null) throw new Error('it is there');
        return true;
      });
      return `${other}; ${isGoing ? 'going' : 'there'}; gone`;
    },
  },
];
