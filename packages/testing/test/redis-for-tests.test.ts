import { createConnection } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { isRedisInstalled, redisForTests } from '../src/redis-for-tests.js';

describe('redisForTests', () => {
  it('returns the Redis of the environment and leaves it running', async () => {
    const redis = await redisForTests({ CORRAL_TEST_REDIS_URL: 'redis://127.0.0.1:1' });

    await redis?.stop();

    expect(redis?.url).toBe('redis://127.0.0.1:1');
  });

  it('starts a server per caller when redis-server is installed, and otherwise returns null', async () => {
    const redis = [await redisForTests({}), await redisForTests({})];

    const answers = await Promise.all(redis.map((each) => each && ping(each.url)));

    await Promise.all(redis.map((each) => each?.stop()));
    expect(answers).toEqual(isRedisInstalled() ? ['+PONG\r\n', '+PONG\r\n'] : [null, null]);
    expect(new Set(redis.map((each) => each?.url)).size).toBe(isRedisInstalled() ? 2 : 1);
  });
});

function ping(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), hostname, () => socket.write('PING\r\n'));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(String(answer));
    });
  });
}
