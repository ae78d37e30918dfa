import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { askNameServer } from '../../support/clients/ask-name-server.js';
import {
  hcloudGo,
  hcloudPython,
  missingCurl,
  missingDig,
  missingOf,
  walk,
} from '../../support/clients/client-programs.js';
import { runCommand } from '../../support/clients/run-command.js';
import { type System, startSystem, type Team, ZONE } from '../../support/system/start-system.js';

const [go, python] = [await hcloudGo(), await hcloudPython()];

let system: System;
beforeAll(async () => {
  system = await startSystem({ teams: ['acme', 'globex', 'initech'] });
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

describe('a written name', () => {
  const create = async (name: string, type: string, value: string): Promise<void> => {
    const response = await fetch(`${system.url}/zones/${ZONE}/rrsets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${team('initech').token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name, type, ttl: 300, records: [{ value }] }),
    });
    expect(response.status).toBe(201);
  };

  it('is resolved by the name server, as are wildcards and aliases', async () => {
    await create('host.initech', 'A', '192.0.2.10');
    await create('*.apps.initech', 'A', '192.0.2.11');
    await create('alias.initech', 'CNAME', 'host.initech');

    const ask = (name: string) => askNameServer(system.cloud.dnsPort, `${name}.${ZONE}`, 'A');
    expect(await ask('host.initech')).toEqual(['192.0.2.10']);
    expect(await ask('shop.apps.initech')).toEqual(['192.0.2.11']);
    expect(await ask('alias.initech')).toEqual([`host.initech.${ZONE}`, '192.0.2.10']);
  });
});

describeNeeding(describe, missingCurl(), 'curl', () => {
  it('creates a record set, reads it back and changes it', async () => {
    const curl = async (path: string, ...args: string[]) => {
      const { stdout } = await runCommand([
        'curl',
        '-sS',
        '-H',
        `Authorization: Bearer ${team('initech').token}`,
        '-H',
        'Content-Type: application/json',
        `${system.url}/zones/${ZONE}${path}`,
        ...args,
      ]);
      return JSON.parse(stdout);
    };

    const body = { name: 'curl.initech', type: 'A', ttl: 300, records: [{ value: '192.0.2.20' }] };
    const created = await curl('/rrsets', '-d', JSON.stringify(body));
    const added = await curl(
      '/rrsets/curl.initech/A/actions/add_records',
      '-d',
      '{"records":[{"value":"192.0.2.21"}]}',
    );
    const read = await curl('/rrsets/curl.initech/A');
    const deleted = await curl('/rrsets/curl.initech/A', '-X', 'DELETE');

    expect(created).toMatchObject({ rrset: { id: 'curl.initech/A' }, action: { command: 'create_rrset' } });
    expect(added).toMatchObject({ action: { command: 'add_rrset_records' } });
    expect(read.rrset.records.map((record: { value: string }) => record.value)).toEqual(['192.0.2.20', '192.0.2.21']);
    expect(deleted).toMatchObject({ action: { command: 'delete_rrset' } });
  });
});

describeNeeding(describe, missingDig(), 'dig', () => {
  it('resolves the written names', async () => {
    await system.cloud.putRrset('dig.acme', 'A', { records: [{ value: '192.0.2.30' }] });
    const port = String(system.cloud.dnsPort);

    const { stdout } = await runCommand(['dig', '@127.0.0.1', '-p', port, `dig.acme.${ZONE}`, '+short']);

    expect(stdout).toBe('192.0.2.30\n');
  });
});
