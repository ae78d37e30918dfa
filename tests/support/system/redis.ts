import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort, type RunningProcess, startRedisServer } from '@corral/testing';

/** A Redis that a test may kill and start again at the same address. Each restart deletes its data. */
export async function restartableRedis() {
  const port = await freePort();
  let running: RunningProcess | undefined;
  return {
    url: `redis://127.0.0.1:${port}`,
    async start(): Promise<void> {
      running = await startRedisServer(port);
    },
    async flush(): Promise<void> {
      const socket = connect(port, '127.0.0.1');
      socket.write('FLUSHALL\r\n');
      await once(socket, 'data');
      socket.destroy();
    },
    async kill(): Promise<void> {
      running?.kill('SIGKILL');
      await running?.exited;
    },
  };
}
