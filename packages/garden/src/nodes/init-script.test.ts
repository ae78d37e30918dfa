import { spawnSync } from 'node:child_process';
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
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { initScript } from './init-script.js';

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

let root: string;
let home: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'init-'));
  home = join(root, 'home');
  for (const folder of ['home', 'bin', 'tmp']) mkdirSync(join(root, folder));
  writeFileSync(join(home, 'config.yaml'), 'a: 1\n');
  for (const [name, script] of Object.entries(programs)) {
    const text = `#!/bin/bash\necho "$(basename "$0") $*" >> "$CALLS"\n${script}\n`;
    writeFileSync(join(root, 'bin', name), text, { mode: 0o755 });
  }
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

/** Runs the script with its folders and programs in a temporary directory. */
function run(environment: Record<string, string> = {}) {
  const script = initScript(image)
    .replaceAll('/var/lib/gardener-node-agent', home)
    .replaceAll('/opt/bin', join(root, 'opt'))
    .replaceAll('/etc/containerd', join(root, 'etc'));
  const bin = join(root, 'bin');
  const calls = join(root, 'calls');
  rmSync(calls, { force: true });
  const { status } = spawnSync('bash', ['-c', script], {
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      BIN: bin,
      TMPDIR: join(root, 'tmp'),
      CALLS: calls,
      AGENT: join(bin, 'agent'),
      AGENT_AT: 'gardener-node-agent',
      PULL_HELP: '',
      AGENT_HELP: '--config-dir',
      ...environment,
    },
  });
  return { status, calls: readFileSync(calls, 'utf8').replaceAll(root, '').trim().split('\n') };
}

describe('init script of a node', () => {
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
    expect(readFileSync(join(home, 'config-v1.130.0.yaml'), 'utf8')).toBe('a: 1\n');
    expect(statSync(join(home, 'config-v1.130.0.yaml')).mode & 0o777).toBe(0o600);
  });

  it('leaves nothing mounted and can run again', () => {
    run();
    const { status, calls } = run();

    expect(status).toBe(0);
    expect(calls.join()).not.toMatch(/apt-get|config default/);
    expect(readdirSync(join(root, 'tmp'))).toEqual([]);
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
    expect(existsSync(join(root, 'opt', 'gardener-node-agent'))).toBe(false);
  });
});
