import { type ChildProcess, spawn } from 'node:child_process';

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
      running?.kill('SIGINT');
    },

    /** @returns whether all tasks succeeded */
    run({ packages, patterns, env, packagesAtOnce }: TurboRun): Promise<boolean> {
      if (packages.length === 0 || isInterrupted) return Promise.resolve(true);
      const flags = ['--continue', '--output-logs=new-only', '--log-order=grouped', `--concurrency=${packagesAtOnce}`];
      const filters = packages.map((name) => `--filter=${name}`);
      const rest = patterns.length > 0 ? ['--', ...patterns] : [];
      const turbo = spawn('turbo', ['run', 'test', ...flags, ...filters, ...rest], {
        cwd: root,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'inherit', 'inherit'],
        detached: true, // Ctrl-C at the terminal reaches us only, and we end turbo before Postgres
      });
      running = turbo;
      return new Promise((resolve) => {
        turbo.once('exit', (code) => resolve(code === 0));
        turbo.once('error', (error) => {
          console.error(`turbo could not be started: ${error.message}`);
          resolve(false);
        });
      });
    },
  };
}
