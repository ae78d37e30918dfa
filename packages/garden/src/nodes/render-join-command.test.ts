import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { JoinData } from './client.js';
import { renderJoinCommand, renderJoinUserData } from './render-join-command.js';

const aJoin: JoinData = {
  server: 'https://api.c1234567.t1234567.shoots.example.com',
  certificateAuthority: `-----BEGIN CERTIFICATE-----\n${`${'MIIB'.repeat(16)}\n`.repeat(3)}-----END CERTIFICATE-----\n`,
  bootstrapToken: 'abc123.0123456789abcdef',
  configSecretName: 'gardener-node-agent-pabc12-5e0f5',
  kubernetesVersion: '1.34.2',
  nodeAgentImage: 'europe-docker.pkg.dev/gardener-project/releases/gardener/node-agent:v1.130.0',
};
const nodeName = 'dedicated-321';

/** Each logs its arguments. */
const programs = { id: 'echo "$UID_HERE"', systemctl: '', hostnamectl: '' };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'join-'));
  for (const folder of ['bin', 'dev']) mkdirSync(join(root, folder));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(root, 'bin', name), `#!/bin/bash\necho "$(basename "$0") $*" >> "$CALLS"\n${script}\n`, {
      mode: 0o755,
    });
  }
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

/** Runs the command as pasted, with its folders in a temporary directory. */
function run(command = renderJoinCommand(aJoin, nodeName), uid = '0') {
  const calls = join(root, 'calls');
  rmSync(calls, { force: true });
  const { status, stderr } = spawnSync('bash', ['-c', command.replaceAll(' /', ` ${root}/`)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, CALLS: calls, UID_HERE: uid },
  });
  return { status, stderr: stderr.toString(), calls: readFileSync(calls, 'utf8').trim().split('\n') };
}

describe('join command', () => {
  it('writes the same files and starts the same unit as the user data of a rebuilt server', () => {
    const { status, calls } = run();

    expect(status).toBe(0);
    const { write_files: files } = parse(renderJoinUserData(aJoin, nodeName), { version: '1.1' });
    expect(files).toHaveLength(6);
    for (const { path, permissions, content } of files) {
      expect(readFileSync(join(root, path), 'utf8')).toBe(content);
      expect(statSync(join(root, path)).mode & 0o777).toBe(Number.parseInt(permissions, 8));
    }
    expect(calls).toEqual([
      'id -u',
      `hostnamectl set-hostname ${nodeName}`,
      'systemctl daemon-reload',
      'systemctl enable --now --no-block gardener-node-init.service',
    ]);
  });

  it('can run again with another token', () => {
    run();
    const other = renderJoinCommand({ ...aJoin, bootstrapToken: 'abc124.0123456789abcdef' }, nodeName);

    expect(run(other).status).toBe(0);

    const token = join(root, 'var/lib/gardener-node-agent/credentials/bootstrap-token');
    expect(readFileSync(token, 'utf8')).toBe('abc124.0123456789abcdef');
  });

  it('does nothing unless it runs as root', () => {
    const { status, stderr, calls } = run(undefined, '1000');

    expect([status, stderr, calls]).toEqual([1, 'Run this as root.\n', ['id -u']]);
  });

  it('does nothing on a machine that has been a node', () => {
    mkdirSync(join(root, 'var/lib/kubelet/pki'), { recursive: true });
    writeFileSync(join(root, 'var/lib/kubelet/pki/kubelet-client-current.pem'), '');

    const { status, stderr, calls } = run();

    expect([status, calls]).toEqual([1, ['id -u']]);
    expect(stderr).toContain('Reinstall its operating system first');
  });

  it('does nothing when its end is truncated', () => {
    const command = renderJoinCommand(aJoin, nodeName);
    writeFileSync(join(root, 'calls'), '');

    const { status } = spawnSync('bash', ['-c', command.slice(0, -'exit\n}\nEND-OF-COMMAND\n'.length)], {
      env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, CALLS: join(root, 'calls'), UID_HERE: '0' },
    });

    expect(status).not.toBe(0);
    expect(readFileSync(join(root, 'calls'), 'utf8')).toBe('');
  });

  it('never passes the token to a program as an argument', () => {
    expect(run().calls.join()).not.toContain('0123456789abcdef');
  });

  it.each<[keyof JoinData, string]>([
    ['server', 'https://api.example.com/$(reboot)'],
    ['bootstrapToken', "abc123.'; reboot #"],
    ['nodeAgentImage', "registry.example.com/a:v1';reboot;'"],
  ])('refuses a %s that a shell could read as more than a value', (part, value) => {
    expect(() => renderJoinCommand({ ...aJoin, [part]: value }, nodeName)).toThrow(
      new TypeError(`No server can join with this ${part}.`),
    );
  });

  it('refuses an invalid machine name', () => {
    expect(() => renderJoinCommand(aJoin, 'a; reboot')).toThrow(TypeError);
  });
});
