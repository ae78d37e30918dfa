import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { type GardenRule, reconcilerRights } from '../src/index.js';
import { aClient, answerJson, startServer, type TestServer } from './a-garden.js';

const manifest = readFileSync(new URL('../../../infra/garden/reconciler.yaml', import.meta.url), 'utf8');
const shoots = (rule: Partial<GardenRule> = {}) => ({
  apiGroups: ['core.gardener.cloud'],
  resources: ['shoots'],
  verbs: ['get', 'patch'],
  ...rule,
});

describe('rights in the garden', () => {
  let server: TestServer | undefined;
  afterEach(() => server?.close());

  async function missingWith(granted: readonly object[], needed: readonly GardenRule[]): Promise<string[]> {
    server = await startServer((_request, response) => {
      answerJson(response, 201, { kind: 'SelfSubjectRulesReview', status: { resourceRules: granted } });
    });
    const { client } = aClient(server.url);
    const missing = await client.missingRights(needed);
    await client.close();
    return missing;
  }

  it('are those of the manifest that operators apply', () => {
    const documents = parseAllDocuments(manifest).map((each) => each.toJS() as { kind: string; rules: unknown });

    expect(documents.find(({ kind }) => kind === 'ClusterRole')?.rules).toEqual(reconcilerRights);
  });

  it.each<[what: string, granted: object[], missing: string[]]>([
    ['are there', [shoots()], []],
    ['are there in several rules', [shoots({ verbs: ['get'] }), shoots({ verbs: ['patch'] })], []],
    ['are there by wildcards', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], []],
    ['lack a verb', [shoots({ verbs: ['get'] })], ['patch shoots.core.gardener.cloud']],
    [
      'belong to a subresource',
      [shoots({ resources: ['shoots/status'] })],
      ['get shoots.core.gardener.cloud', 'patch shoots.core.gardener.cloud'],
    ],
    [
      'belong to single objects',
      [{ ...shoots(), resourceNames: ['web'] }],
      ['get shoots.core.gardener.cloud', 'patch shoots.core.gardener.cloud'],
    ],
  ])('%s', async (_what, granted, missing) => {
    expect(await missingWith(granted, [shoots()])).toEqual(missing);
  });

  it('are named without a group where there is none', async () => {
    expect(await missingWith([], [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }])).toEqual([
      'get secrets',
    ]);
  });
});
