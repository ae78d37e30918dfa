import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aServer, aVersion, endAll, eventually, watching, watchNumber } from './a-shoot-server.js';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'setInterval', 'Date'] });
});
afterEach(async () => {
  jest.useRealTimers();
  await endAll();
});

it('a watch that the garden does not end in time is ended by the client, even if events arrive', async () => {
  const server = await aServer();
  const { reported } = await watching(server, { relistEveryMs: 100_000_000, watchSeconds: 300 });
  const watch = await watchNumber(server, 1);
  const agreedSeconds = Number(watch.query.get('timeoutSeconds'));

  for (let sent = 1; sent * 100 <= agreedSeconds + 200; sent += 1) {
    if (server.watches.length === 1) watch.send('MODIFIED', aVersion(String(100 + sent)));
    if (sent * 100 < agreedSeconds) await eventually(() => expect(reported).toHaveLength(2 + sent));
    jest.advanceTimersByTime(100_000);
  }
  const next = await watchNumber(server, 2);

  expect(next.query.get('resourceVersion')).not.toBe('100');
  expect(server.lists).toHaveLength(1);
});
