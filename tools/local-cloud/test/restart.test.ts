import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const journal = () => join(dataDir, 'dns.jsonl');

/** Runs `work` on a cloud with the data folder and stops it. */
async function run<T>(work: (cloud: TestCloud) => Promise<T> | T): Promise<T> {
  const cloud = await startTestCloud({ dataDir });
  try {
    return await work(cloud);
  } finally {
    await cloud.close();
  }
}

const create = (cloud: TestCloud, name: string) =>
  cloud.call('POST', '/zones/7001/rrsets', { name, type: 'A', records: records('192.0.2.1') });

describe('a restart', () => {
  it('keeps rrsets, actions, writes and zones', async () => {
    const read = async (cloud: TestCloud) => ({
      zones: cloud.admin.zones(),
      writes: cloud.admin.writes(),
      list: (await cloud.call('GET', '/zones/7001/rrsets')).body,
      actions: (await cloud.call('GET', '/actions?id=880001&id=880002&id=880003')).body,
    });
    const before = await run(async (cloud) => {
      await create(cloud, 'b');
      await create(cloud, 'a');
      await cloud.call('DELETE', '/zones/7001/rrsets/b/A');
      cloud.admin.putRrset('demo.test', 'c', 'A', { records: records('192.0.2.1') });
      return read(cloud);
    });

    const after = [await run(read), await run(read)];

    expect(after).toEqual([before, before]);
  });

  it('never reuses an action id', async () => {
    const first = await run((cloud) => create(cloud, 'a'));
    const second = await run((cloud) => create(cloud, 'b'));

    expect([first.body.action.id, second.body.action.id]).toEqual([880001, 880002]);
  });

  it('drops a truncated last line', async () => {
    await run((cloud) => create(cloud, 'a'));
    appendFileSync(journal(), '{"kind":"change","cha');

    const names = await run(async (cloud) => {
      await create(cloud, 'b');
      return cloud.admin.zones()[0]?.rrsets.map(({ name }) => name);
    });

    expect(names).toEqual(['@', '@', 'a', 'b']);
    expect(await run((cloud) => cloud.admin.writes().length)).toBe(2);
  });

  it('refuses a journal with damage elsewhere, and says what to do', async () => {
    await run((cloud) => create(cloud, 'a'));
    writeFileSync(journal(), readFileSync(journal(), 'utf8').replace('{"kind":"zone"', '{"kind"'));

    await expect(run(() => {})).rejects.toThrow(/damaged at line 2. Delete the file/);
  });

  it('compacts the journal to the current state', async () => {
    await run(async (cloud) => {
      await create(cloud, 'a');
      for (let ttl = 60; ttl < 80; ttl += 1)
        await cloud.call('POST', '/zones/7001/rrsets/a/A/actions/change_ttl', { ttl });
    });
    const changes = () =>
      readFileSync(journal(), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{"kind":"change"')).length;
    const before = changes();

    await run(() => {});

    expect([before, changes()]).toEqual([25, 5]);
  });
});
