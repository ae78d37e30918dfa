import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@corral/testing';
import type { Program } from '../system/program.js';

/** What a process holds after garbage collection, in bytes. */
export interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
}

/** Options for the Node.js of a program whose memory is measured. */
export const REPORTS_MEMORY = ['--import', fileURLToPath(new URL('report-memory.mjs', import.meta.url))] as const;

/** Makes a program that was started with `REPORTS_MEMORY` collect its garbage and report what is left. */
async function readMemory({ pid, name, output }: Program): Promise<Memory> {
  const reports = (): Memory[] =>
    output()
      .split('\n')
      .filter((line) => line.startsWith('{"holds"'))
      .map((line) => (JSON.parse(line) as { holds: Memory }).holds);
  const before = reports().length;
  process.kill(pid, 'SIGUSR2');
  await waitFor(`${name} to report what it holds`, () => reports().length > before);
  return reports().at(-1) as Memory;
}

const SAMPLE_EVERY_MS = 4_000;

/** Measures a program at intervals, until the run is over. */
export async function sampleMemory(program: Program, samples: Memory[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    samples.push(await readMemory(program));
    await pause(SAMPLE_EVERY_MS);
  }
}

/** How much more a program held in the last third of the time than in the first: of the medians. */
export function growthOf(samples: readonly Memory[]): Memory {
  const of = (kind: keyof Memory): number => {
    const third = samples.length / 3;
    const medianOf = (from: number, to: number): number => {
      const own = samples.slice(Math.floor(from), Math.floor(to)).map((sample) => sample[kind]);
      return own.sort((one, other) => one - other)[Math.floor(own.length / 2)] ?? Number.NaN;
    };
    return medianOf(2 * third, 3 * third) - medianOf(0, third);
  };
  return { heapUsed: of('heapUsed'), rss: of('rss') };
}
