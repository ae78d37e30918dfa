import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a server, which can be interrupted and restored. */
export interface FlakyProxy {
  readonly port: number;
  /** How many bytes the server has sent so far, over all connections. */
  bytesSent(): number;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /**
   * Keeps connections open but forwards nothing, not even their ends, like an unplugged cable.
   *
   * @param opening limits this to connections whose first bytes from the client contain this text; default: all
   */
  hang(opening?: string): void;
  /** Closes hanging connections and forwards again. */
  restore(): void;
  close(): Promise<void>;
}

export async function startFlakyProxy(target: { host: string; port: number }): Promise<FlakyProxy> {
  let isCut = false;
  let hanging: string | null = null;
  let bytesSent = 0;
  const sockets = new Set<Socket>();
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };

  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(target);
    let opening = '';
    client.once('data', (chunk) => {
      opening = chunk.toString('latin1');
    });
    const hangs = (): boolean => hanging !== null && opening.includes(hanging);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('data', (chunk) => hangs() || to.write(chunk));
      if (from === upstream)
        from.on('data', (chunk) => {
          bytesSent += chunk.length;
        });
      from.on('close', () => {
        sockets.delete(from);
        if (from === client || !hangs()) to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    bytesSent: () => bytesSent,
    cut() {
      isCut = true;
      dropAll();
    },
    hang(opening = '') {
      hanging = opening;
    },
    restore() {
      isCut = false;
      hanging = null;
      dropAll();
    },
    async close() {
      isCut = true;
      dropAll();
      server.close();
      await once(server, 'close');
    },
  };
}
