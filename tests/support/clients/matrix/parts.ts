import { troubles } from './faults.js';

export const STORY = 'create, change, delete';
export const NEAR_QUOTA = 'near the quota';

/** What each client is shown to do, in the order of the page. */
export const partNames: readonly string[] = [STORY, ...troubles.map(({ name }) => name), NEAR_QUOTA];
