import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';

export interface HostileBody {
  readonly what: string;
  readonly body: string | Buffer;
  readonly headers: readonly (readonly [string, string])[];
}

const json = ['Content-Type', 'application/json'] as const;

/**
 * Bodies that cost a reader without limits far more than their size.
 *
 * @param example a valid body of the route
 * @param bytes the size of most of the bodies
 */
export function hostileBodies(example: object, bytes: number): HostileBody[] {
  const filled = (head: string, unit: string, tail: string): string =>
    head + unit.repeat(Math.floor((bytes - head.length - tail.length) / unit.length)) + tail;
  const plain: [string, string][] = [
    ['open arrays', filled('{"a":', '[', '')],
    ['closed arrays', closed(bytes)],
    ['open objects', filled('', '{"a":', '')],
    ['empty objects', filled('{"records":[', '{},', '{}]}')],
    ['empty objects as a specification', filled('{"spec":{"nodePools":[', '{},', '{}]}}')],
    ['numbers', filled('{"records":[', '1,', '1]}')],
    ['the same member again and again', filled('{', '"a":1,', '"a":1}')],
    [
      'many different members',
      `{${Array.from({ length: bytes / 12 }, (_, at) => `"m${at}":0`).join(',')}}`.slice(0, bytes),
    ],
    ['a long text', filled('{"name":"', 'x', '"}')],
    ['a text full of escapes', filled('{"name":"', '\\"', '"}')],
    ['a text without an end', filled('{"name":"', '\\\\', '')],
    ['a long name', filled('{"', 'x', '":1}')],
    ['a long number', filled('{"ttl":', '9', '}')],
    ['blanks', filled('', ' ', '{}')],
    ['an address without an end', filled('{"email":"', 'a.', '"}')],
    ...placesOf(example).map((place): [string, string] => [`${place.at} without an end`, place.filled(filled)]),
    ...fc
      .sample(fc.json({ maxDepth: 6 }), { numRuns: 5, seed: 1 })
      .map((text, at): [string, string] => [`anything, ${at + 1}`, filled('{"a":[', `${text},`, '1]}')]),
  ];
  const nested = Buffer.from('['.repeat(1_000_000));
  return [
    ...plain.map(([what, body]) => ({ what, body, headers: [json] })),
    { what: 'arrays, gzipped', body: gzipSync(nested), headers: [json, ['Content-Encoding', 'gzip']] },
    { what: 'arrays, as brotli', body: brotliCompressSync(nested), headers: [json, ['Content-Encoding', 'br']] },
    {
      what: 'chunks of one byte',
      body: '1\r\n[\r\n'.repeat(Math.min(bytes, 50_000)).concat('0\r\n\r\n'),
      headers: [json, ['Transfer-Encoding', 'chunked']],
    },
  ];
}

const closed = (bytes: number): string => {
  const depth = Math.floor((bytes - 6) / 2);
  return `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
};

interface Place {
  readonly at: string;
  filled(fill: (head: string, unit: string, tail: string) => string): string;
}

/** Every text, list and object of a valid body, each to be filled up to the size. */
function placesOf(example: object): Place[] {
  const mark = '\u0001mark\u0001';
  const places: Place[] = [];
  const walk = (value: unknown, at: string, rebuild: (part: unknown) => unknown): void => {
    const place = (unit: string, open = '', close = ''): void => {
      const [head = '', tail = ''] = JSON.stringify(rebuild(mark)).split(JSON.stringify(mark));
      places.push({ at: at || 'the body', filled: (fill) => fill(`${head}${open}`, unit, `${close}${tail}`) });
    };
    if (typeof value === 'string') place('x', '"', '"');
    else if (Array.isArray(value)) {
      const unit = JSON.stringify(value[0] ?? {});
      place(`${unit},`, '[', `${unit}]`);
      if (value.length > 0) walk(value[0], `${at}/0`, (part) => rebuild([part, ...value.slice(1)]));
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value))
        walk(one, `${at}/${name}`, (part) => rebuild({ ...value, [name]: part }));
    }
  };
  walk(example, '', (part) => part);
  return places;
}
