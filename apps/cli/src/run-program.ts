import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs a program on the terminal of this one until it ends. Ctrl-C reaches both; SIGTERM is passed on, so that the program does
 * not go on alone.
 *
 * @returns its exit code, as shells count that of a signal; null when it cannot be started
 */
export function runProgram([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env, stdio: 'inherit' });
    const passOn = () => void child.kill('SIGTERM');
    process.on('SIGTERM', passOn);
    const end = (code: number | null) => {
      process.off('SIGTERM', passOn);
      resolve(code);
    };
    child.once('error', () => end(null));
    child.once('exit', (code, signal) => end(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
  });
}
