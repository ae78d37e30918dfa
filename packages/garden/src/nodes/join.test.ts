import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { JoinData } from './client.js';
import { initScript } from './init-script.js';
import { newBootstrapToken } from './join-data.js';
import { renderJoinCommand, renderJoinUserData } from './render-join-command.js';

const certificate = (lines: number) =>
  `-----BEGIN CERTIFICATE-----\n${`${'MIIB'.repeat(16)}\n`.repeat(lines)}-----END CERTIFICATE-----\n`;
const aJoin: JoinData = {
  server: 'https://api.c1234567.t1234567.shoots.example.com',
  certificateAuthority: certificate(3),
  bootstrapToken: 'abc123.0123456789abcdef',
  configSecretName: 'gardener-node-agent-pabc12-5e0f5',
  kubernetesVersion: '1.34.2',
  nodeAgentImage: 'europe-docker.pkg.dev/gardener-project/releases/gardener/node-agent:v1.130.0',
};

/** Runs scripts of bash in a folder of each test, with programs that log their arguments. */
function sandboxWith(programs: Readonly<Record<string, string>>, folders: readonly string[]) {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'join-'));
    for (const folder of ['bin', ...folders]) mkdirSync(join(root, folder));
    for (const [name, script] of Object.entries(programs)) {
      const text = `#!/bin/bash\necho "$(basename "$0") $*" >> "$CALLS"\n${script}\n`;
      writeFileSync(join(root, 'bin', name), text, { mode: 0o755 });
    }
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const at = (...path: string[]) => join(root, ...path);
  function run(script: string, environment: Record<string, string>) {
    writeFileSync(at('calls'), '');
    const { status, stderr } = spawnSync('bash', ['-c', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: `${at('bin')}:/usr/bin:/bin`, CALLS: at('calls'), ...environment },
    });
    const calls = readFileSync(at('calls'), 'utf8').replaceAll(root, '').trim();
    return { status, stderr: stderr.toString(), calls: calls === '' ? [] : calls.split('\n') };
  }
  return { at, run };
}

describe('a bootstrap token', () => {
  it('has the format that Kubernetes requires, and uses the whole alphabet', () => {
    const texts = Array.from({ length: 2_000 }, () => Object.values(newBootstrapToken()).join('.'));

    for (const text of texts) expect(text).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
    const used = [0, 5, 7, 22].map((at) => new Set(texts.map((text) => text[at])).size);
    expect(used).toEqual([36, 36, 36, 36]);
  });
});

describe('the init script of a node', () => {
  const image = 'registry.example.com/node-agent:v1';

  /** Each logs its arguments. */
  const programs = {
    'apt-get': '[[ "$*" != *install* ]] || cp "$BIN/containerd.off" "$BIN/containerd"',
    'containerd.off': 'echo version = 2',
    systemctl: '',
    ctr: `case "$*" in
  *--help) echo "$PULL_HELP" ;;
  'images mount '*) cp "$AGENT" "$4/$AGENT_AT" 2> /dev/null || { mkdir -p "$4/ko-app"; cp "$AGENT" "$4/$AGENT_AT"; } ;;
  'images unmount '*) rm -r "$3"/* ;;
esac`,
    agent: `case "$*" in
  --version) echo 'Kubernetes v1.130.0' ;;
  'bootstrap --help') echo "$AGENT_HELP" ;;
esac`,
  };

  const { at, run: runIn } = sandboxWith(programs, ['home', 'tmp']);
  beforeEach(() => writeFileSync(at('home', 'config.yaml'), 'a: 1\n'));

  /** Runs the script with its folders and programs in a temporary directory. */
  function run(environment: Record<string, string> = {}) {
    const script = initScript(image)
      .replaceAll('/var/lib/gardener-node-agent', at('home'))
      .replaceAll('/opt/bin', at('opt'))
      .replaceAll('/etc/containerd', at('etc'));
    return runIn(script, {
      BIN: at('bin'),
      TMPDIR: at('tmp'),
      AGENT: at('bin', 'agent'),
      AGENT_AT: 'gardener-node-agent',
      PULL_HELP: '',
      AGENT_HELP: '--config-dir',
      ...environment,
    });
  }

  it('installs missing packages, fetches the node agent and starts it', () => {
    const { status, calls } = run();

    expect(status).toBe(0);
    expect(calls.filter((call) => !call.includes('mount') && !call.includes('--help'))).toEqual([
      'apt-get -qq -o DPkg::Lock::Timeout=300 update',
      expect.stringMatching(/^apt-get .* install --no-upgrade containerd /),
      'containerd config default',
      'systemctl enable --now containerd.service',
      `ctr images pull ${image}`,
      'gardener-node-agent --version',
      'gardener-node-agent bootstrap --config-dir=/home',
    ]);
    expect(readFileSync(at('home', 'config-v1.130.0.yaml'), 'utf8')).toBe('a: 1\n');
    expect(statSync(at('home', 'config-v1.130.0.yaml')).mode & 0o777).toBe(0o600);
  });

  it('leaves nothing mounted and can run again', () => {
    run();
    const { status, calls } = run();

    expect(status).toBe(0);
    expect(calls.join()).not.toMatch(/apt-get|config default/);
    expect(readdirSync(at('tmp'))).toEqual([]);
  });

  it.each([
    [
      'passes an older agent the path of its config',
      { AGENT_HELP: '--config string' },
      'bootstrap --config=/home/config.yaml',
    ],
    [
      'finds the agent in an image with another layout',
      { AGENT_AT: 'ko-app/gardener-node-agent' },
      'bootstrap --config-dir=',
    ],
    [
      'makes a newer containerd pull one architecture only',
      { PULL_HELP: 'a\n--skip-metadata' },
      'pull --skip-metadata',
    ],
  ])('%s', (_what, environment, call) => {
    const { status, calls } = run(environment);

    expect(status).toBe(0);
    expect(calls.join('\n')).toContain(call);
  });

  it('fails, and is run again, when the image has no node agent', () => {
    expect(run({ AGENT: '/nowhere' }).status).not.toBe(0);
    expect(existsSync(at('opt', 'gardener-node-agent'))).toBe(false);
  });
});

describe('the join command', () => {
  const nodeName = 'dedicated-321';

  /** Each logs its arguments. */
  const programs = { id: 'echo "$UID_HERE"', systemctl: '', hostnamectl: '' };

  const { at, run: runIn } = sandboxWith(programs, ['dev']);

  /** Runs the command as pasted, with its folders in a temporary directory. */
  const run = (command = renderJoinCommand(aJoin, nodeName), uid = '0') =>
    runIn(command.replaceAll(' /', ` ${at()}/`), { UID_HERE: uid });

  it('writes the same files and starts the same unit as the user data of a rebuilt server', () => {
    const { status, calls } = run();

    expect(status).toBe(0);
    const { write_files: files } = parse(renderJoinUserData(aJoin, nodeName), { version: '1.1' });
    expect(files).toHaveLength(6);
    for (const { path, permissions, content } of files) {
      expect(readFileSync(at(path), 'utf8')).toBe(content);
      expect(statSync(at(path)).mode & 0o777).toBe(Number.parseInt(permissions, 8));
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

    const token = at('var/lib/gardener-node-agent/credentials/bootstrap-token');
    expect(readFileSync(token, 'utf8')).toBe('abc124.0123456789abcdef');
  });

  it('does nothing unless it runs as root', () => {
    const { status, stderr, calls } = run(undefined, '1000');

    expect([status, stderr, calls]).toEqual([1, 'Run this as root.\n', ['id -u']]);
  });

  it('does nothing on a machine that has been a node', () => {
    mkdirSync(at('var/lib/kubelet/pki'), { recursive: true });
    writeFileSync(at('var/lib/kubelet/pki/kubelet-client-current.pem'), '');

    const { status, stderr, calls } = run();

    expect([status, calls]).toEqual([1, ['id -u']]);
    expect(stderr).toContain('Reinstall its operating system first');
  });

  it('does nothing when its end is truncated', () => {
    const whole = renderJoinCommand(aJoin, nodeName);

    const { status, calls } = run(whole.slice(0, -'exit\n}\nEND-OF-COMMAND\n'.length));

    expect(status).not.toBe(0);
    expect(calls).toEqual([]);
  });

  it('never passes the token to a program as an argument', () => {
    expect(run().calls.join()).not.toContain('0123456789abcdef');
  });

  it.each<[keyof JoinData, string]>([
    ['server', 'https://api.example.com/$(reboot)'],
    ['bootstrapToken', "abc123.'; reboot #"],
    ['nodeAgentImage', "registry.example.com/a:v1';reboot;'"],
    ['nodeAgentImage', '--help'],
    ['server', 'http://api.example.com'],
    ['server', 'https://user:word@api.example.com'],
    ['certificateAuthority', certificate(1).replaceAll('CERTIFICATE', 'PRIVATE KEY')],
    ['configSecretName', '../secrets'],
  ])('refuses a %s like %j, and does not quote it', (part, value) => {
    expect(() => renderJoinCommand({ ...aJoin, [part]: value }, nodeName)).toThrow(
      new TypeError(`No server can join with this ${part}.`),
    );
  });
});

describe('join user data', () => {
  const golden = fileURLToPath(new URL('golden/join-user-data.yaml', import.meta.url));

  const nodeName = 'corral-web-1';

  interface CloudConfig {
    hostname: string;
    write_files: { path: string; permissions: string; content: string }[];
  }

  /** Parses user data like cloud-init. */
  const read = (text: string): CloudConfig => parse(text, { version: '1.1' });
  const contentOf = (text: string, path: string): string =>
    read(text).write_files.find((file) => file.path === path)?.content ?? '';

  const home = '/var/lib/gardener-node-agent';

  it('matches the documented format', () => {
    const text = renderJoinUserData(aJoin, nodeName);
    // Formatted for readers.
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, text);

    expect(text).toBe(readFileSync(golden, 'utf8'));
  });

  it('contains a script that a shell can parse', () => {
    const script = contentOf(renderJoinUserData(aJoin, nodeName), `${home}/init.sh`);

    expect(() => execFileSync('bash', ['-n'], { input: script })).not.toThrow();
  });

  it('fits into the limit of the provider with the largest authority', () => {
    const long = {
      ...aJoin,
      certificateAuthority: certificate(152),
      nodeAgentImage: `registry.example.com/${'a'.repeat(300)}:v1`,
    };

    expect(Buffer.byteLength(renderJoinUserData(long, nodeName))).toBeLessThan(32_768);
  });

  it.each<[keyof JoinData, string]>([
    ['server', 'https://127.0.0.1:6443'],
    ['server', 'https://[2001:db8::1]:443/'],
    ['certificateAuthority', `${certificate(20)}${certificate(20)}`],
    ['certificateAuthority', certificate(1).trimEnd()],
    ['configSecretName', 'a'],
    ['nodeAgentImage', 'garden.local.gardener.cloud:5001/gardener__x/node-agent:v1.2-3_4'],
    ['nodeAgentImage', `registry.k8s.io/agent@sha256:${'0123456789abcdef'.repeat(4)}`],
    ['kubernetesVersion', '1.35.0'],
  ])('accepts a %s like %s', (part, value) => {
    expect(renderJoinUserData({ ...aJoin, [part]: value }, nodeName)).toContain('#cloud-config');
  });

  it.each(['no', '1e5', '0x10', '12', '1-2', 'a.b.c'])('keeps the name %s a string', (name) => {
    const text = renderJoinUserData(aJoin, name);

    expect(read(text).hostname).toBe(name);
    expect(contentOf(text, `${home}/machine-name`)).toBe(name);
  });

  it('refuses every value that a shell, YAML or systemd could read as more than a value', () => {
    const hostile = fc.constantFrom(...'\'"`$\\;&|<>(){}*?#!%~^ \t\r\n\0\u2028é');
    const parts = fc.constantFrom(...(Object.keys(aJoin) as (keyof JoinData)[]), 'nodeName' as const);

    fc.assert(
      fc.property(parts, hostile, fc.nat(), (part, character, at) => {
        const value = part === 'nodeName' ? nodeName : aJoin[part];
        const place = at % (value.length + 1);
        const spoilt = value.slice(0, place) + character + value.slice(place);
        const isHarmless = part === 'certificateAuthority' && character === '\n';
        fc.pre(!isHarmless);

        const render = () =>
          part === 'nodeName'
            ? renderJoinUserData(aJoin, spoilt)
            : renderJoinUserData({ ...aJoin, [part]: spoilt }, nodeName);
        expect(render).toThrow(TypeError);
      }),
      { numRuns: 200 },
    );
  });

  it('is parsed from YAML unchanged, or refused', () => {
    const parts = fc.constantFrom(...(Object.keys(aJoin) as (keyof JoinData)[]));

    fc.assert(
      fc.property(parts, fc.string({ unit: 'binary', maxLength: 80 }), (part, value) => {
        let text: string;
        try {
          text = renderJoinUserData({ ...aJoin, [part]: value }, nodeName);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
        expect(
          read(text)
            .write_files.map(({ content }) => content)
            .join(),
        ).toContain(value);
      }),
    );
  });
});
