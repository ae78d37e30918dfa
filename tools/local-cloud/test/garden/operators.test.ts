import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeNeeding, unlessInstalled } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NAMESPACE } from './objects.js';
import { startTestGarden, type TestGarden } from './start-test-garden.js';

const run = promisify(execFile);
const missing = unlessInstalled(['kubectl', 'version', '--client'], { what: 'kubectl', how: 'put kubectl on PATH' });

describeNeeding(describe, missing, 'kubectl', () => {
  let garden: TestGarden;
  let folder: string;
  beforeAll(async () => {
    garden = await startTestGarden();
    folder = mkdtempSync(join(tmpdir(), 'local-cloud-kubectl-'));
    writeFileSync(join(folder, 'kubeconfig'), garden.cloud.gardenKubeconfig);
    await garden.createReady({ name: 'web' });
  });
  afterAll(async () => {
    await garden.stop();
    rmSync(folder, { recursive: true });
  });

  const kubectl = (args: readonly string[], editor = 'false') =>
    run('kubectl', ['--cache-dir', folder, '--namespace', NAMESPACE, ...args], {
      env: { ...process.env, KUBECONFIG: join(folder, 'kubeconfig'), EDITOR: editor, TMPDIR: folder },
    });
  const maximum = async () => (await garden.readShoot('web')).spec.provider.workers[0].maximum;

  it('patches a Shoot by a merge patch', async () => {
    await kubectl(['patch', 'shoot', 'web', '--type=merge', '--patch', '{"spec":{"purpose":"testing"}}']);

    expect((await garden.readShoot('web')).spec.purpose).toBe('testing');
  });

  it('patches a Shoot by a JSON patch', async () => {
    const patch = [{ op: 'replace', path: '/spec/provider/workers/0/maximum', value: 5 }];
    await kubectl(['patch', 'shoot', 'web', '--type=json', '--patch', JSON.stringify(patch)]);

    expect(await maximum()).toBe(5);
  });

  it('applies a Secret by a server-side apply', async () => {
    const file = join(folder, 'secret.yaml');
    writeFileSync(file, 'apiVersion: v1\nkind: Secret\nmetadata:\n  name: by-hand\n');

    await kubectl(['apply', '--server-side', '--filename', file]);

    expect((await kubectl(['get', 'secret', 'by-hand', '--output', 'name'])).stdout.trim()).toBe('secret/by-hand');
  });

  it('edits a Shoot, and refuses a field that it does not have', async () => {
    await kubectl(['edit', 'shoot', 'web'], "sed -i 's/maximum: .*/maximum: 6/'");
    const typo = kubectl(['edit', 'shoot', 'web'], "sed -i 's/maximum: .*/maximun: 7/'");

    await expect(typo).rejects.toThrow('shoots.core.gardener.cloud "web" is invalid');
    expect(await maximum()).toBe(6);
  });

  it('annotates and labels a Shoot', async () => {
    await kubectl(['annotate', 'shoot', 'web', 'example.org/note=by-hand']);
    await kubectl(['label', 'shoot', 'web', 'team=a']);

    const { annotations, labels } = (await garden.readShoot('web')).metadata;
    expect([annotations['example.org/note'], labels.team]).toEqual(['by-hand', 'a']);
  });
});
