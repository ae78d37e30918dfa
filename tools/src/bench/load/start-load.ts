import { fileURLToPath } from 'node:url';
import { startProcess } from '@corral/testing';
import type { Tenant } from '../neighbours/neighbours-rig.js';
import type { RudeName } from '../neighbours/rude-callers.js';
import type { Senders } from './crowd.js';

/** The work of a load process, which lasts for some seconds. */
export type Load =
  | { readonly kind: 'rude'; readonly name: RudeName; readonly team: Tenant; readonly seconds: number }
  | { readonly kind: 'crowd'; readonly senders: readonly Senders[]; readonly seconds: number };

const program = fileURLToPath(new URL('./load-process.js', import.meta.url));

/** @returns the process, and its output as JSON once it has ended */
export async function startLoad(load: Load): Promise<{ pid: number; ended: Promise<string> }> {
  const started = await startProcess({
    command: process.execPath,
    args: [program],
    env: { LOAD: JSON.stringify(load) },
  });
  const ended = started.exited.then(({ code }) => {
    if (code !== 0) throw new Error(`A load ended with ${code}: ${started.output()}`);
    return started.output();
  });
  return { pid: started.pid, ended };
}
