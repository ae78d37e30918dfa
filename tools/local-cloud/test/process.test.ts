import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text as textOf } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const main = new URL('../programs/main.js', import.meta.url).pathname;

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const env = () => ({
  LOCAL_CLOUD_TOKENS: 'secret',
  LOCAL_CLOUD_ZONES: 'example.net',
  LOCAL_CLOUD_DATA_DIR: dataDir,
});

async function start(): Promise<{ child: ChildProcess; ready: Record<string, unknown> }> {
  const child = spawn(process.execPath, [main], { env: env(), stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, ready: JSON.parse(line) };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown[]> {
  child.kill(signal);
  return once(child, 'exit');
}

describe('the process', () => {
  it('loses no acknowledged write when it is killed', async () => {
    const headers = { Authorization: 'Bearer secret' };
    const first = await start();
    const body = JSON.stringify({ name: 'app', type: 'A', records: [{ value: '192.0.2.1' }] });
    const created = await fetch(`${first.ready.apiUrl}/zones/7001/rrsets`, { method: 'POST', headers, body });
    await stop(first.child, 'SIGKILL');

    const second = await start();
    const found = await fetch(`${second.ready.apiUrl}/zones/7001/rrsets/app/A`, { headers });
    await stop(second.child, 'SIGTERM');

    expect([created.status, found.status]).toEqual([201, 200]);
  });

  it('ends with one sentence on a folder of an earlier version, and says what to do', async () => {
    const path = join(dataDir, 'garden.jsonl');
    writeFileSync(path, '[["namespaces /default",{"text":"{}","simulation":{}}]]\n');
    const child = spawn(process.execPath, [main], { env: env(), stdio: ['ignore', 'pipe', 'pipe'] });
    const [said, [code]] = await Promise.all([textOf(child.stderr), once(child, 'exit')]);

    const whence = `${path} was written by another version of the local cloud`;
    expect(said).toBe(`${whence}. Run \`npm run reset\`, which deletes the state, and start again.\n`);
    expect(code).toBe(78);
  });
});
