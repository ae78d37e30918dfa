import { waitFor } from '@corral/testing';
import { aShoot, endOf, type Probe, present, resting, shootPath, worker } from './probe.js';
import { mergeType, must } from './rest.js';

/** What a Shoot is made, meant and deleted by. In the order in which they run. */
export const probesOfShoots: readonly Probe[] = [
  {
    name: 'makes a Shoot by an apply, and says so',
    expected: 'created, then not',
    async run({ garden, namespace }) {
      const first = await garden.applyShoot(aShoot(namespace, 'make'));
      const again = await garden.applyShoot(aShoot(namespace, 'make'));
      return `${first.created ? 'created' : 'found'}, then ${again.created ? 'created' : 'not'}`;
    },
  },
  {
    name: 'counts generations by the specification, not by annotations',
    expected: 'spec +1, annotation +0',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'count'));
      // Whoever binds it to a seed raises it as well, once.
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
    name: 'takes another uid in a patch for a change of it',
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
    name: 'makes nothing anew that an apply names by uid',
    expected: 'conflict, 409, another uid',
    async run({ garden, namespace }) {
      const uid = '00000000-0000-4000-8000-000000000000';
      return endOf(garden.applyShoot(aShoot(namespace, 'absent', [worker()], { uid })));
    },
  },
  {
    name: 'sets nothing on a version that is old',
    expected: 'conflict, 409',
    async run({ garden, namespace }) {
      const { uid } = (await garden.applyShoot(aShoot(namespace, 'slot'))).shoot.metadata;
      const order = { namespace, name: 'slot', uid, resourceVersion: '1', annotations: { a: 'b' } };
      return endOf(garden.annotateShoot(order));
    },
  },
  {
    name: 'deletes nothing of another uid, and what is meant after its finalizers',
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
