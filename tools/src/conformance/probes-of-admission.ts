import { waitFor } from '@corral/testing';
import { expiredImage, machineWith, OBSTACLE, raisedImage } from './obstacles.js';
import { aShoot, editPools, endOf, type Probe, type Probing, present, resting, worker } from './probe.js';

/** What operators of a garden put in the way of writes, in the order in which the probes run. */
export const probesOfAdmission: readonly Probe[] = [
  {
    name: 'refuses to set back an image that has expired and was raised, and takes the pool with the raised one',
    expected: /^refused, 4\d\d, spec\.provider\.workers\[0\]\.machine\.image\.version.*, then ok$/,
    async run(probing) {
      const { target, garden, namespace } = probing;
      const pools = (maximum: number, image: object) => [worker({ maximum, machine: machineWith(image) })];
      await garden.applyShoot(aShoot(namespace, 'aged', pools(3, expiredImage)));
      await waitFor('the Shoot to rest', () => resting(probing, 'aged'));
      await target.obstruct(namespace, 'expired image');
      await editPools(
        target,
        await present(garden, namespace, 'aged'),
        () => pools(3, raisedImage),
        'gardener-controller-manager',
      );
      const { metadata, spec } = aShoot(namespace, 'aged', pools(5, expiredImage));
      // The garden writes, too: a version that it has just replaced says nothing about the image.
      const back = await waitFor('an answer about the newest version', async () => {
        const { resourceVersion } = (await waitFor('the Shoot to rest', () => resting(probing, 'aged'))).metadata;
        const end = await endOf(garden.overrideShoot({ metadata: { ...metadata, resourceVersion }, spec }));
        return end.startsWith('conflict') ? false : end;
      });
      const kept = await endOf(garden.applyShoot(aShoot(namespace, 'aged', pools(5, raisedImage))));
      await target.obstruct(namespace, null);
      return `${back}, then ${kept}`;
    },
  },
  {
    name: 'tells the words of a policy that refuses, and who refuses',
    expected: `refused, 422, ${OBSTACLE}: At most 8 nodes. Ask platform@example.org., then ok`,
    run: (probing) => between(probing, 'policy'),
  },
  {
    name: 'names a webhook that does not answer, and goes on without it elsewhere',
    expected: `webhook_unavailable, 500, ${OBSTACLE}, then ok; elsewhere ok`,
    async run(probing) {
      const { garden, namespace } = probing;
      let elsewhere = '';
      const end = await between(probing, 'dead webhook', async () => {
        elsewhere = await endOf(garden.applyCredentials({ ...credentials(probing), namespace }));
      });
      return `${end}; elsewhere ${elsewhere}`;
    },
  },
];

const credentials = ({ projectToken: token }: Probing) => ({ name: 'conn', token, labels: {}, force: true });

/** How a write ends with the obstacle in the way, and without it. */
async function between(
  { target, garden, namespace }: Probing,
  obstacle: 'policy' | 'dead webhook',
  meanwhile = async (): Promise<void> => undefined,
): Promise<string> {
  const write = () => endOf(garden.applyShoot(aShoot(namespace, 'obstructed', [worker({ maximum: 9 })])));
  await target.obstruct(namespace, obstacle);
  const refused = await write();
  await meanwhile();
  await target.obstruct(namespace, null);
  return `${refused}, then ${await write()}`;
}
