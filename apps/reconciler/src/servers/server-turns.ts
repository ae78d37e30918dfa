import type { Turns } from '../loop/lease-store.js';

export const serverTurns: Turns = { table: 'adopted_server', isWorkedOn: 'true', onTaken: '' };
