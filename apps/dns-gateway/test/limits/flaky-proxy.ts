import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP address in front of a server, which can be taken away and given back. */
export interface FlakyProxy {
  readonly port: number;
  /** Cuts all connections and refuses new ones. */
  cut(): void;
  /** Keeps connections open and passes nothing on any more. */
  hang(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startFlakyProxy(target: { host: string; port: number }): Promise<FlakyProxy> {
  let mode: 'passes' | 'hangs' | 'cut' = 'passes';
  const sockets = new Set<Socket>();
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (mode === 'cut') return void client.destroy();
    const upstream = connect(target);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('data', (chunk) => mode === 'passes' && to.write(chunk));
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      mode = 'cut';
      dropAll();
    },
    hang() {
      mode = 'hangs';
    },
    restore() {
      mode = 'passes';
      dropAll();
    },
    async close() {
      dropAll();
      server.close();
      await once(server, 'close');
    },
  };
}
