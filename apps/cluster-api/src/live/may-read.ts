import { roleCovers } from '@corral/auth';
import type { Role } from '@corral/contracts';
import type { EventRecord } from './event-record.js';

/** One who follows, as their session says just now. */
export interface Viewer {
  readonly userId: string;
  readonly role: Role;
}

/** Whether a GET shows it to them: of DNS tokens members see their own, all else is the whole team's. */
export function mayRead({ kind, ownerId }: Pick<EventRecord, 'kind' | 'ownerId'>, { userId, role }: Viewer): boolean {
  return kind !== 'DnsToken' || roleCovers(role, 'admin') || ownerId === userId;
}
