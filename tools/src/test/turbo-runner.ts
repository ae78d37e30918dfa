import { type ChildProcess, spawn } from 'node:child_process';
import { endWithUs } from '@corral/testing';

export type TurboRun = {
  packages: string[];
  /** For Jest: of paths of test files. */
  patterns: string[];
  env: Record<string, string>;
  packagesAtOnce: number;
};

/** Runs the tests of packages through turbo, whose output goes where ours goes, a package at a time. */
export function turboRunner(root: string) {
  let running: ChildProcess | undefined;
  let isInterrupted = false;
  return {
    isInterrupted: () => isInterrupted,

    /** Ends what runs, and starts no more. */
    interrupt() {
      isInterrupted = true;
      if (running?.pid !== undefined && running.exitCode === null) process.kill(-running.pid, 'SIGTERM');
    },

    /** @returns whether all tasks succeeded */
    run({ packages, patterns, env, packagesAtOnce }: TurboRun): Promise<boolean> {
      if (packages.length === 0 || isInterrupted) return Promise.resolve(true);
      const flags = [
        '--continue=dependencies-successful',
        '--output-logs=new-only',
        '--log-order=grouped',
        `--concurrency=${packagesAtOnce}`,
      ];
      const filters = packages.map((name) => `--filter=${name}`);
      const rest = patterns.length > 0 ? ['--', ...patterns] : [];
      const turbo = spawn('turbo', ['run', 'test', ...flags, ...filters, ...rest], {
        cwd: root,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'inherit', 'inherit'],
        // Ctrl-C at the terminal reaches us only, and we end turbo before Postgres. We tell all of its group: what we
        // start is a launcher, which keeps signals to itself.
        detached: true,
      });
      running = turbo;
      const callOff =
        turbo.pid === undefined ? () => undefined : endWithUs({ pid: turbo.pid, signal: 'TERM', whom: 'group' });
      return new Promise((resolve) => {
        turbo.once('exit', (code) => {
          callOff();
          resolve(code === 0);
        });
        turbo.once('error', (error) => {
          console.error(`turbo could not be started: ${error.message}`);
          resolve(false);
        });
      });
    },
  };
}
