export type { Transaction } from '@corral/database';
