import { waitFor } from '@corral/testing';
import { aShoot, endOf, type Probe, present, shootPath } from './probe.js';
import { call, mergeType, must } from './rest.js';
import type { Target } from './target.js';

const SHOOTS = '/apis/core.gardener.cloud/v1beta1/shoots';
const asKind = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1`;
const list = ({ admin }: Target, accept: string) =>
  call(admin, 'GET', SHOOTS, undefined, undefined, { Accept: accept });
const versionOf = ({ metadata }: { metadata: { uid?: string; resourceVersion?: string } }): string =>
  `${metadata.uid} ${metadata.resourceVersion}`;

/** Their states may change between two lists. */
const namesIn = ({ body }: { body: { items: { metadata: { name: string } }[] } }): string =>
  body.items.map(({ metadata }) => metadata.name).join();

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
    name: 'lists only the metadata, with the same versions, for those who ask for it',
    expected: 'PartialObjectMetadataList, 200; items: kind apiVersion metadata; first name namespace uid; the same',
    async run({ target }) {
      const whole = await must(target.admin, 'GET', SHOOTS);
      const { status, body } = await list(target, asKind('PartialObjectMetadataList'));
      const versions = ({ items }: { items: Parameters<typeof versionOf>[0][] }) =>
        JSON.stringify(items.map(versionOf).sort());
      const members = Object.keys(body.items[0]);
      const first = Object.keys(body.items[0].metadata).slice(0, 3);
      const isSame = versions(body) === versions(whole.body);
      return `${body.kind}, ${status}; items: ${members.join(' ')}; first ${first.join(' ')}; ${isSame ? 'the same' : 'others'}`;
    },
  },
  {
    name: 'sends whole objects if it cannot send what is asked for first, and refuses if nothing else is asked for',
    expected: 'ShootList; 406 NotAcceptable; 406 NotAcceptable',
    async run({ target }) {
      const otherwise = await list(target, `${asKind('Cake')}, application/json`);
      const refused = [await list(target, asKind('Cake')), await list(target, asKind('PartialObjectMetadata'))];
      return [otherwise.body.kind, ...refused.map(({ status, body }) => `${status} ${body?.reason}`)].join('; ');
    },
  },
  {
    name: 'compresses a long list for those who accept it, and nothing else',
    expected: 'none, gzip; the same; short: none, none',
    async run({ target: { admin }, garden, namespace }) {
      const note = (name: string, value: string | null) =>
        must(admin, 'PATCH', shootPath(namespace, name), { metadata: { annotations: { note: value } } }, mergeType);
      const encodingsOf = async (path: string) => {
        const plain = await must(admin, 'GET', path);
        const packed = await must(admin, 'GET', path, undefined, undefined, { 'Accept-Encoding': 'br, gzip' });
        const [names, others] = [plain, packed].map(namesIn);
        const encodings = [plain, packed].map(({ encoding }) => encoding ?? 'none').join(', ');
        return { encodings, isSame: names === others };
      };
      await garden.applyShoot(aShoot(namespace, 'long'));
      await note('long', 'x'.repeat(140_000));
      const long = await encodingsOf(SHOOTS);
      await note('long', null);
      const short = await encodingsOf(`${SHOOTS}?limit=1`);
      return `${long.encodings}; ${long.isSame ? 'the same' : 'others'}; short: ${short.encodings}`;
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
