import { EventEmitter } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import { BEHIND_ALL } from './cluster-rig.js';
import { crowd } from './crowd.js';
import { actRudely } from './rude-callers.js';
import type { Load } from './start-load.js';

const act = async (load: Load): Promise<unknown> =>
  load.kind === 'rude'
    ? actRudely(load.name, load.team, load.seconds)
    : Object.fromEntries(await crowd(load.senders, load.seconds));

// What it costs to send much is not the cost of who measures. Elsewhere who sends it has a machine of its own and takes no
// CPU from the services; here it gets what they leave.
setPriority(Math.min(BEHIND_ALL, getPriority() + 10));
EventEmitter.defaultMaxListeners = 0;
process.stdout.write(JSON.stringify(await act(JSON.parse(process.env.LOAD ?? ''))), () => process.exit(0));
