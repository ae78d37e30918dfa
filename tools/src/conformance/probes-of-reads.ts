import { waitFor } from '@corral/testing';
import { aShoot, endOf, type Probe, present } from './probe.js';
import { call, must } from './rest.js';

const SHOOTS = '/apis/core.gardener.cloud/v1beta1/shoots';
/** How Corral follows all Shoots, also over a restart. In the order in which they run. */
export const probesOfReads: readonly Probe[] = [
  {
    name: 'reports to a watch that its resource version is too old',
    expected: 'ERROR 410 Expired',
    async run({ target }) {
      await target.expireHistory();
      const path = '/apis/core.gardener.cloud/v1beta1/shoots?watch=true&resourceVersion=1&timeoutSeconds=2';
      const { text } = await call(target.accounts.reconciler, 'GET', path);
      const { type, object } = JSON.parse(text.split('\n')[0] ?? '{}') as {
        type: string;
        object: { code: number; reason: string };
      };
      return `${type} ${object.code} ${object.reason}`;
    },
  },
  {
    name: 'lists in pages of one snapshot',
    expected: 'pages, all',
    async run({ garden, target }) {
      const selector = { labelSelector: 'corral.dev/managed=true' };
      const { body } = await must(target.admin, 'GET', SHOOTS);
      let [count, pages, after] = [0, 0, null as string | null];
      do {
        const page = await garden.listShoots({ ...selector, limit: 3, continue: after });
        count += page.shoots.length;
        pages += 1;
        after = page.continue;
      } while (after !== null);
      return `${pages > 1 ? 'pages' : 'a page'}, ${count === body.items.length ? 'all' : `${count} of ${body.items.length}`}`;
    },
  },
  {
    name: 'has lost nothing after a restart, and is only unreachable meanwhile',
    expected: /^(not done here|away only, then unchanged)$/,
    async run({ target, garden, namespace }) {
      if (target.restart === null) return 'not done here';
      const before = (await present(garden, namespace, 'make')).metadata.resourceVersion;
      await target.restart();
      const seen = new Set<string>();
      await waitFor(
        'the server to be back',
        async () => {
          const end = await endOf(garden.readShoot({ namespace, name: 'make' }));
          if (end === 'ok') return true;
          seen.add(end.split(', ')[0] ?? '');
          throw new Error(end);
        },
        { timeoutMs: 120_000 },
      );
      const others = [...seen].filter(
        (kind) => !['unreachable', 'server_error', 'unusable', 'throttled'].includes(kind),
      );
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'make'));
      const isSame = shoot.metadata.resourceVersion === before;
      return `away ${others.length === 0 ? 'only' : `and ${others.join(' ')}`}, then ${isSame ? 'unchanged' : 'changed'}`;
    },
  },
];
