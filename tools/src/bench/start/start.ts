import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMiB } from '../clusters/cluster-rig.js';
import { commandsBelow } from '../load/cpu-shares.js';
import { say } from '../load/report.js';
import { repository } from '../rig.js';
import { atMost, type Verdict } from '../verdicts.js';

/** The aims, in MiB, by the end of a process's command. */
const memoryAims = {
  'tools/run.mjs start': ['the start command', 80],
  'apps/cluster-api/dist/main.js': ['cluster API', 130],
  'apps/dns-gateway/dist/main.js': ['DNS gateway', 110],
  'apps/reconciler/dist/main.js': ['reconciler', 110],
} as const;

const FIRST_START_SECONDS = 25;
const LATER_START_SECONDS = 3;
/** After this time at rest, garbage of the start has been collected. */
const REST_MS = 20_000;
const READY = 'Ctrl-C stops everything';

/**
 * Runs `npm start` twice in a fresh clone of what is committed: how long the first start takes, with what pnpm has in its store,
 * how long the second takes, and the memory at rest after it.
 */
export async function benchStart(): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-bench-start-'));
  // Postgres runs as another user when we are root.
  chmodSync(folder, 0o755);
  try {
    const clone = join(folder, 'clone');
    execFileSync('git', ['clone', '--quiet', repository, clone]);
    const first = await start(clone);
    await first.stop();
    const second = await start(clone);
    try {
      await pause(REST_MS);
      return [
        atMost({ what: 'the first `npm start`', value: first.seconds, aim: FIRST_START_SECONDS, unit: 's' }),
        atMost({ what: 'a later `npm start`', value: second.seconds, aim: LATER_START_SECONDS, unit: 's' }),
        ...memoryOf(second.pid),
      ];
    } finally {
      await second.stop();
      // Under root, the data of Postgres are not in the clone.
      execFileSync(process.execPath, ['tools/run.mjs', 'reset'], { cwd: clone });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function memoryOf(pid: number): Verdict[] {
  const running = commandsBelow(pid);
  return Object.entries(memoryAims).map(([command, [name, aim]]) => {
    const found = running.find((each) => each.command.endsWith(command));
    if (found === undefined) throw new Error(`No process runs ${command}`);
    const value = residentMiB(found.pid);
    say(`${name}: ${value} MiB`);
    return atMost({ what: `memory at rest, ${name}`, value, aim, unit: 'MiB' });
  });
}

interface Started {
  readonly pid: number;
  /** From the command until everything is ready. */
  readonly seconds: number;
  stop(): Promise<void>;
}

async function start(clone: string): Promise<Started> {
  const begunAt = performance.now();
  const child = spawn(process.execPath, ['tools/run.mjs', 'start'], {
    cwd: clone,
    env: { ...process.env, CORRAL_STATE_DIR: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes(READY)) resolve();
      });
    }
    void exited.then(() => reject(new Error(`npm start has ended: ${output.trim().slice(-500)}`)));
  });
  return {
    pid: child.pid as number,
    seconds: (performance.now() - begunAt) / 1_000,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
