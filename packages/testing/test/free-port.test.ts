import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort } from '../src/free-port.js';

it('freePort returns ports that can be listened on at the same time', async () => {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);

  const servers = ports.map((port) => createServer().listen(port, '127.0.0.1'));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));

  for (const server of servers) server.close();
  expect(new Set(ports).size).toBe(3);
});

it('freePort returns no port that the kernel may use for an outgoing connection', async () => {
  for (let turn = 0; turn < 100; turn += 1) expect(await freePort()).toBeLessThan(32_768);
});

it('freePort returns each port once, and to one Jest worker only', async () => {
  const own = process.env.JEST_WORKER_ID;
  const ports: number[] = [];
  try {
    for (const worker of ['1', '2', '1', '2']) {
      process.env.JEST_WORKER_ID = worker;
      for (let count = 0; count < 20; count += 1) ports.push(await freePort());
    }
  } finally {
    process.env.JEST_WORKER_ID = own;
  }

  expect(new Set(ports).size).toBe(80);
  expect(ports.map((port) => port % 16)).toEqual(
    [1, 2, 1, 2].flatMap((worker) => Array.from({ length: 20 }, () => worker)),
  );
});
