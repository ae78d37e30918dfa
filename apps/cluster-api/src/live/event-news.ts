import { type ListenOptions, listen } from '@corral/database';
import type { LiveChangesDeps } from './live-changes.js';

/** The channel on which triggers tell whose events there are. */
const CHANNEL = 'team_event';

/** Listens, on one connection of this process, for teams that have events. */
export function listenToTeamEvents(options: Pick<ListenOptions, 'databaseUrl' | 'applicationName' | 'onError'>) {
  const subscribers = new Set<(teamId: string | null) => void>();
  const tell = (teamId: string | null): void => {
    for (const onNews of subscribers) onNews(teamId);
  };
  const listener = listen({ ...options, channels: { [CHANNEL]: tell }, onGap: () => tell(null) });
  const subscribe: LiveChangesDeps['onNews'] = (onNews) => void subscribers.add(onNews);
  return { subscribe, close: listener.close };
}
