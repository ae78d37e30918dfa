import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type FakeService,
  type Folder,
  runCorral,
  sendJson,
  startService,
  temporaryFolder,
} from './support/run-corral.js';

/* What `dns import` refuses, before and while it writes: no record set may be lost by a file that cannot be followed. */

const KEPT = ['one.acme', 'two.acme', 'three.acme'];
const MOVING = 'the zone is being moved';

let folder: Folder;
let api: FakeService;
/** What was written, such as `POST /rrsets`. */
let sent: string[];
/** Whether new record sets are refused. */
let isMoving: boolean;
beforeEach(async () => {
  folder = await temporaryFolder();
  [sent, isMoving] = [[], false];
  api = await startService((request, body, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '').replace('/v1/zones/example.test', '');
    const error = (status: number, code: string, message: string) =>
      sendJson(response, status, { error: { code, message } });
    if (path === '/v1/token') return sendJson(response, 200, { token });
    if (path === '') return sendJson(response, 200, { zone: { id: 7001, name: 'example.test', ttl: 3_600 } });
    if (request.method === 'GET' && path === '/rrsets')
      return sendJson(response, 200, { rrsets: KEPT.map(setOf), meta: { pagination: { next_page: null } } });
    const read = KEPT.find((name) => request.method === 'GET' && path === `/rrsets/${name}/TXT`);
    if (read !== undefined) return sendJson(response, 200, { rrset: setOf(read) });
    if (request.method === 'GET') return error(404, 'not_found', 'There is no such set.');
    if (isMoving && request.method === 'POST') return error(422, 'invalid_input', MOVING);
    sent.push(`${request.method} ${path}`);
    return sendJson(response, 201, { rrset: JSON.parse(body || '{}'), action: { id: 91, status: 'success' } });
  });
});
afterEach(async () => {
  await api.close();
  await folder.remove();
});

const token = {
  kind: 'team',
  team: 'acme',
  demo: null,
  zone: { name: 'example.test' },
  names: ['acme'],
  types: ['A', 'AAAA', 'CNAME', 'TXT'],
  records: { used: 3, reserved: 0, limit: 200 },
};
const setOf = (name: string) => ({
  name,
  type: 'TXT',
  ttl: null,
  labels: {},
  records: [{ value: '"kept"', comment: '' }],
});
const kept = KEPT.map((name) => `${name}.example.test. TXT "kept"`);
const added = 'new.acme.example.test. A 192.0.2.1';

async function importOf(lines: readonly string[], ...options: string[]) {
  const file = folder.file('acme.zone');
  await writeFile(file, lines.map((line) => `${line}\r\n`).join(''));
  return runCorral(['dns', 'import', ...options, file], {
    env: {
      CORRAL_CONFIG: folder.file('none.yaml'),
      CORRAL_DNS_URL: `${api.url}/v1`,
      CORRAL_DNS_TOKEN: 'a-token-of-acme',
      TERM: 'dumb',
    },
  });
}

describe('an import of a zone file', () => {
  it.each<[what: string, lines: string[], options: string[], code: number, message: RegExp]>([
    [
      'all names are of others, also with --partial',
      ['www.globex.example.test. A 192.0.2.1'],
      ['--prune', '--partial', '--yes'],
      1,
      /Nothing was changed: the file has no record set that can be written/,
    ],
    [
      'no line can be read, also with --partial',
      ['one.acme TXT "x', 'nonsense'],
      ['--prune', '--partial', '--yes'],
      1,
      /Nothing was changed: the file has no record set that can be written/,
    ],
    [
      'a line cannot be read',
      [added, 'nonsense'],
      ['--yes'],
      1,
      /acme\.zone:2: .*\n(.*\n)*.*Nothing was changed: 1 line cannot be read\. Correct the file, or add --partial/,
    ],
    [
      'a set cannot be written',
      [added, 'www.globex.example.test. A 192.0.2.1'],
      ['--yes'],
      1,
      /Nothing was changed: 1 set cannot be written\. Correct the file, or add --partial/,
    ],
    [
      'more sets would go than was said',
      [added],
      ['--prune=2', '--yes'],
      2,
      /removes 3 of 3 record sets\. .*--prune=3/,
    ],
    ['it is a dry run', [added], ['--prune', '--dry-run'], 0, /removes 3 of 3 record sets\. It needs --prune=3\./],
  ])('writes nothing if %s', async (_what, lines, options, code, message) => {
    const { err, ...ended } = await importOf(lines, ...options);

    expect({ code: ended.code, sent }).toEqual({ code, sent: [] });
    expect(err).toMatch(message);
  });

  it('writes what can be written with --partial, and says what it leaves out', async () => {
    const { code, out, err } = await importOf([...kept, added, '@ MX 10 mx', 'nonsense'], '--partial', '--yes');

    expect({ code, sent }).toEqual({ code: 0, sent: ['POST /rrsets'] });
    expect(out).toContain('Left out, because the API does not write these types: 1 MX.');
    expect(err).toContain('acme.zone:6:');
  });

  it('loses no set if the upstream refuses what the file adds, and says so once', async () => {
    isMoving = true;
    const { code, err } = await importOf([...kept.slice(1), added], '--prune=9', '--yes');

    expect({ code, sent }).toEqual({ code: 1, sent: [] });
    expect(err.split(MOVING)).toHaveLength(2);
    expect(err).toContain('one.acme TXT: skipped: Left as it is, because not everything before it was written.');
    expect(err).toContain('Correct what is refused');
  });

  it('removes what the file lacks, after it has added the rest', async () => {
    expect(await importOf([...kept.slice(1), added], '--prune=1', '--yes')).toMatchObject({ code: 0 });
    expect(sent).toEqual(['POST /rrsets', 'DELETE /rrsets/one.acme/TXT']);
  });
});
