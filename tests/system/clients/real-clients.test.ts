import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hcloudGo, hcloudPython, missingOf, walk } from '../../support/clients/client-programs.js';
import { type System, startSystem, type Team, ZONE } from '../../support/system/start-system.js';

const [go, python] = [await hcloudGo(), await hcloudPython()];

let system: System;
beforeAll(async () => {
  system = await startSystem({ teams: ['acme', 'globex'] });
});
afterAll(() => system?.stop());

const team = (slug: string): Team => system.teams.find((each) => each.slug === slug) as Team;
/** Each test has its own team, as a client lists everything of its team. */
const settings = (slug: string) => ({ HCLOUD_ENDPOINT: system.url, HCLOUD_TOKEN: team(slug).token });

describeNeeding(describe, missingOf(go), 'hcloud-go', () => {
  it('creates, changes, labels, lists and deletes record sets, and waits for each action', async () => {
    const steps = await walk(go, ['walk', ZONE, 'acme'], settings('acme'));

    const id = 'go.acme/A';
    expect(steps).toMatchObject({
      zone: { name: ZONE, mode: 'primary', ttl: 3600 },
      create: { id, ttl: 300, labels: { 'made-by': 'hcloud-go' }, values: ['192.0.2.1'] },
      add: { id, ttl: 300, values: ['192.0.2.1', '192.0.2.2'] },
      set: { id, ttl: 300, values: ['192.0.2.3', '192.0.2.4'] },
      remove: { id, ttl: 300, values: ['192.0.2.4'] },
      change_ttl: { id, ttl: null },
      action: { status: 'success' },
      update: { id, labels: { 'made-by': 'somebody' } },
      list: { all: 31, texts: 30, labelled: 1 },
      refusals: { foreignIsForbidden: true, foreignIsAbsent: true },
      delete: { absent: true },
    });
  });
});

describeNeeding(describe, missingOf(python), 'hcloud-python', () => {
  it('creates, changes, labels, lists and deletes record sets, and waits for each action', async () => {
    const steps = await walk(python, [ZONE, 'globex'], settings('globex'));

    const id = 'python.globex/TXT';
    expect(steps).toMatchObject({
      zone: { name: ZONE, mode: 'primary' },
      zones: { names: [ZONE] },
      create: { id, ttl: 300, labels: { 'made-by': 'hcloud-python' }, values: ['"one"'] },
      add: { id, values: ['"one"', '"two"'] },
      set: { id, values: ['"three"', '"four"'] },
      remove: { id, values: ['"four"'] },
      change_ttl: { id, ttl: 600 },
      update: { id, labels: { 'made-by': 'somebody' } },
      list: { ids: expect.arrayContaining([id]) },
      filter: { ids: [id], total: 1 },
      action: { status: true },
      foreign: { code: 'forbidden' },
      delete: { code: 'not_found' },
    });
  });
});
