import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { pageCall } from './list-shoots.js';
import { textOf } from './page-bytes.js';

const call = pageCall({ labelSelector: 'managed=true' });
const pageBytes = 2_000_000;

it('keeps the memory of few compressed pages, however many come', async () => {
  const packed = gzipSync(Buffer.alloc(pageBytes, 'Shoot'));
  const before = process.memoryUsage().arrayBuffers;

  let most = 0;
  for (let page = 0; page < 40; page += 1) {
    expect(textOf(call, { 'content-encoding': 'gzip' }, packed, pageBytes)).toHaveLength(pageBytes);
    await nextTurn();
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }

  expect(most).toBeLessThan(10 * pageBytes);
});
