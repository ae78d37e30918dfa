import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { aWorker, NAMESPACE } from './a-shoot.js';
import { type JoinConfigChange, renderJoinConfig } from './join-config.js';
import { aToken, SECRETS, type ShootClient, shootClient } from './shoot-client.js';
import { isHealthy, startTestGarden, type TestGarden } from './start-test-garden.js';

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind are picked apart
type Part = any;

let garden: TestGarden;
let shoot: ShootClient;
let secretName: string;
beforeEach(async () => {
  garden = await startTestGarden({ joinMs: 20 }, { actionMs: 20 });
  await garden.createReady({ name: 'web', workers: [aWorker({ labels: { team: 'blue' } })] });
  shoot = await shootClient(garden, 'web');
  secretName = (await shoot.call('GET', SECRETS)).body.items[0].metadata.name;
  await shoot.call('POST', SECRETS, aToken());
});
afterEach(async () => {
  shoot.close();
  await garden.stop();
});

const joinConfig = (change: JoinConfigChange = {}) => renderJoinConfig(shoot, secretName, change);
const readyOf = (node: Part) => node?.status.conditions.find(({ type }: Part) => type === 'Ready');

describe('a machine that runs a join command', () => {
  const run = (change: JoinConfigChange = {}, more: object = {}) => {
    const { write_files: files } = parse(joinConfig(change));
    const puts = files.map(
      ({ path, content, encoding }: Part) =>
        `put 0600 ${path} <<'END-OF-FILE'\n${encoding === 'b64' ? content : Buffer.from(content).toString('base64')}\nEND-OF-FILE`,
    );
    const ending =
      'hostnamectl set-hostname onprem-1\nsystemctl enable --now --no-block gardener-node-init.service\nexit';
    const command = `bash -s <<'END-OF-COMMAND'\n{\n${puts.join('\n')}\n${ending}\n}\nEND-OF-COMMAND\n`;
    return adminCall('POST', '/garden/machines', { command, ...more });
  };
  const adminCall = async (method: string, path: string, body: object) => {
    const answer = await fetch(`${garden.cloud.adminUrl}/admin${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Part };
  };

  it('is a node immediately, without a provider id, and can run it again', async () => {
    expect(await run()).toEqual({ status: 201, body: { node: 'onprem-1' } });
    expect((await run()).status).toBe(201);

    const { body: node } = await shoot.call('GET', '/api/v1/nodes/onprem-1');
    expect([readyOf(node).status, node.spec]).toEqual(['True', {}]);
    expect(garden.cloud.admin.garden.nodes(NAMESPACE, 'web')).toContainEqual(
      expect.objectContaining({ name: 'onprem-1', serverId: null, isReady: true }),
    );
    expect((await shoot.call('DELETE', '/api/v1/nodes/onprem-1')).status).toBe(200);
  });

  it.each<[string, () => Promise<{ status: number; body: Part }>, RegExp]>([
    ['its token does not exist', () => run({ token: 'zzzzzz.0123456789abcdef' }), /turns the machine away/],
    ['it has another architecture', () => run({}, { architecture: 'arm64' }), /turns the machine away/],
    [
      'it runs another command',
      () => adminCall('POST', '/garden/machines', { command: 'reboot' }),
      /no whole join command/,
    ],
    ['it runs no command', () => adminCall('POST', '/garden/machines', {}), /no whole join command/],
  ])('gets an error that names the reason when %s', async (_what, work, why) => {
    const { status, body } = await work();

    expect([status, body.error]).toEqual([400, expect.stringMatching(why)]);
    expect(garden.cloud.admin.garden.nodes(NAMESPACE, 'web')).toHaveLength(1);
  });

  it('is asked to retry while the API server is unavailable', async () => {
    await garden.patch('web', { spec: { hibernation: { enabled: true } } });
    await garden.waitForShoot('web', 'asleep', (read) => read.status.hibernated && isHealthy(read));

    expect((await run()).body.error).toMatch(/Run the command again/);
  });
});
