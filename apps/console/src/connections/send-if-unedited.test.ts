import { CorralError } from '@corral/client';
import { expect, test } from '@jest/globals';
import { sendIfUnedited } from './send-if-unedited.js';

const version = (generation: number, etag: string) => ({ metadata: { generation, etag } });
const refused = (status: number) => new CorralError({ status, code: 'precondition_failed', detail: 'No.' });

test.each([
  ['is sent again while only the status has changed', version(1, 'b'), 412, ['a', 'b'], 'done'],
  ['is not sent again after another person’s change', version(2, 'b'), 412, ['a'], refused(412)],
  ['is given up after three attempts', version(1, 'c'), 412, ['a', 'c', 'c'], refused(412)],
  ['is not repeated for other refusals', version(1, 'b'), 409, ['a'], refused(409)],
])('a conditional change %s', async (_what, now, status, sent, outcome) => {
  const tags: string[] = [];
  const send = async (etag: string) => {
    tags.push(etag);
    if (etag === 'b') return 'done';
    throw refused(status);
  };
  const ended = await sendIfUnedited(version(1, 'a'), async () => now, send).catch((error: unknown) => error);
  expect([tags, ended]).toEqual([sent, outcome]);
});
