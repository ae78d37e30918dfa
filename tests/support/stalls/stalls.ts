import { fileURLToPath } from 'node:url';
import { waitFor } from '@corral/testing';
import type { Program } from '../system/program.js';

/** Options for the Node.js of a program whose stalls are measured. */
export const reportsStalls: readonly string[] = [
  '--import',
  fileURLToPath(new URL('report-stalls.mjs', import.meta.url)),
];

export interface StallMeter {
  /** The longest stall of the event loop of the program during some work, in milliseconds. */
  during(work: () => Promise<unknown>): Promise<number>;
}

export function stallMeter(program: Program): StallMeter {
  const reports = (): number[] =>
    program
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{"stalledMs":'))
      .map((line) => (JSON.parse(line) as { stalledMs: number }).stalledMs);
  const sinceLast = async (): Promise<number> => {
    const before = reports().length;
    process.kill(program.pid, 'SIGUSR2');
    return waitFor(`${program.name} to report its stalls`, () => {
      const all = reports();
      return all.length > before ? { ms: all.at(-1) as number } : null;
    }).then(({ ms }) => ms);
  };
  return {
    async during(work) {
      await sinceLast();
      await work();
      return sinceLast();
    },
  };
}
