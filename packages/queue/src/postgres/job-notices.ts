import type { PostgresConnection } from 'bullmq';

type Listener = Awaited<ReturnType<PostgresConnection['getListenClient']>>;
type Notice = { readonly channel: string; readonly payload?: string };

/** The channel on which BullMQ announces jobs, with the queue as payload. */
const CHANNEL = 'bullmq_jobs';

/** What Postgres has announced about the queues of a process, over one connection. */
export interface JobNotices {
  /** Changes with every announcement for the queue, and when one may have been missed. Null before the first `listen`. */
  mark(queue: string): string | null;
  /** Resolves when announcements are received. @throws when the connection cannot be made */
  listen(): Promise<void>;
  /** Calls `wake` for every announcement until the function that is returned is called. */
  onNotice(queue: string, wake: () => void): () => void;
}

export function jobNotices(connection: PostgresConnection): JobNotices {
  const counts = new Map<string, number>();
  const wakers = new Map<string, Set<() => void>>();
  let listening: Promise<Listener> | null = null;
  let isListening = false;
  /** Counts connections: what was announced between two of them is unknown. */
  let connections = 0;

  const note = ({ channel, payload = '' }: Notice): void => {
    if (channel !== CHANNEL) return;
    counts.set(payload, (counts.get(payload) ?? 0) + 1);
    for (const wake of [...(wakers.get(payload) ?? [])]) wake();
  };
  const start = async (): Promise<Listener> => {
    const client = await connection.getListenClient();
    client.on('notification', note);
    await client.query(`LISTEN ${CHANNEL}`);
    connections += 1;
    isListening = true;
    return client;
  };
  connection.on('listenerinvalidated', () => {
    listening = null;
    isListening = false;
    for (const waiting of wakers.values()) for (const wake of [...waiting]) wake();
  });
  return {
    mark: (queue) => (isListening ? `${connections}/${counts.get(queue) ?? 0}` : null),
    async listen() {
      const started = listening ?? start();
      listening = started;
      try {
        await started;
      } catch (error) {
        if (listening === started) listening = null;
        throw error;
      }
    },
    onNotice(queue, wake) {
      const waiting = wakers.get(queue) ?? new Set();
      wakers.set(queue, waiting.add(wake));
      return () => void waiting.delete(wake);
    },
  };
}
