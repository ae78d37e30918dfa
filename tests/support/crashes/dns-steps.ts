import fc from 'fast-check';
import type { FaultRule } from '../system/local-cloud.js';
import { htmlAnswer } from './draw.js';

type Operation = 'create' | 'set_records' | 'add_records' | 'remove_records' | 'change_ttl' | 'update' | 'delete';

export interface SetKey {
  readonly name: string;
  readonly type: string;
}

/** One step of a client: its request, the gateway for it, and what it does without an answer. */
export interface Step {
  readonly set: number;
  readonly gateway: number;
  readonly operation: Operation;
  /** Send a write that fits the current set; otherwise send `operation` in any case. */
  readonly readsFirst: boolean;
  /** The body contains these of the few values of the set. */
  readonly values: readonly number[];
  /** How often the same request is repeated if there was no answer or a 5xx. */
  readonly resends: number;
  readonly thinkMs: number;
}

/** The sets that all clients of one team write to. */
export function setsOf(slug: string): SetKey[] {
  return [
    { name: slug, type: 'A' },
    { name: slug, type: 'TXT' },
    { name: `www.${slug}`, type: 'A' },
    { name: `www.${slug}`, type: 'AAAA' },
    { name: `*.apps.${slug}`, type: 'A' },
    { name: `api.${slug}`, type: 'A' },
    { name: `api.${slug}`, type: 'TXT' },
    { name: `db.${slug}`, type: 'AAAA' },
    { name: `alias.${slug}`, type: 'CNAME' },
  ];
}
const SETS = setsOf('').length;

export const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  set: fc.nat(SETS - 1),
  gateway: fc.nat(5),
  operation: fc.constantFrom<Operation>(
    'create',
    'set_records',
    'set_records',
    'add_records',
    'add_records',
    'remove_records',
    'change_ttl',
    'update',
    'delete',
  ),
  readsFirst: fc.integer({ min: 0, max: 9 }).map((tenths) => tenths < 8),
  values: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
  resends: fc.constantFrom(0, 0, 1, 2),
  thinkMs: fc.integer({ min: 10, max: 200 }),
});

const slowest = 1_150; // a little more than a gateway waits for the upstream, and less than it waits to settle

const effects: fc.Arbitrary<FaultRule['effect']> = fc.constantFrom(
  { delayMs: 50 },
  { delayMs: 300 },
  { delayMs: 300 },
  { delayMs: slowest },
  { status: 500, perform: true },
  { status: 500, perform: false },
  { status: 502, perform: true, ...htmlAnswer },
  { status: 503, perform: false, ...htmlAnswer },
  { reset: 'before' },
  { reset: 'after' },
  { reset: 'after' },
  { truncate: true },
  { truncate: true },
  { status: 429 },
  { hang: true },
);

const faults: fc.Arbitrary<FaultRule> = fc.record({
  match: fc.constantFrom<{ method?: string; path?: string }>(
    { method: 'POST' },
    { method: 'POST' },
    { path: '_records$' },
    { method: 'PUT' },
    { method: 'DELETE' },
    { path: 'change_ttl$' },
    { method: 'GET', path: '/rrsets/' },
    { method: 'GET' },
  ),
  times: fc.integer({ min: 1, max: 3 }),
  effect: effects,
});

/** An accepted write whose action fails changes nothing, whether it fails immediately or late. */
const failingActions: fc.Arbitrary<FaultRule> = fc.record({
  match: fc.constantFrom(
    { method: 'POST', path: '/rrsets$' },
    { method: 'POST', path: '_records$' },
    { path: 'change_ttl$' },
    { method: 'DELETE' },
  ),
  times: fc.constantFrom(1, 1, 3),
  effect: fc.constantFrom(0, 100, 700, 3_000).map((afterMs) => ({
    actionError: { code: 'action_failed', message: 'injected fault', afterMs },
  })),
});

export const faultArbitrary = fc.oneof({ weight: 8, arbitrary: faults }, { weight: 2, arbitrary: failingActions });

const recordValue: Readonly<Record<string, (number: number) => string>> = {
  A: (number) => `192.0.2.${number}`,
  AAAA: (number) => `2001:db8::${number}`,
  TXT: (number) => `"text ${number}"`,
  CNAME: (number) => `target${number}.example.net.`,
};

export interface WriteRequest {
  readonly method: string;
  /** The path below that of the zone. */
  readonly path: string;
  readonly body?: object;
}

/** @param mark makes each body unique, so that the request can be found in the upstream log and the audit log */
export function requestOf({ operation, values }: Step, { name, type }: SetKey, mark: number): WriteRequest {
  const path = `/rrsets/${encodeURIComponent(name)}/${type}`;
  const numbers = type === 'CNAME' ? values.slice(0, 1) : values;
  const records = numbers.map((number) => ({ value: recordValue[type]?.(number), comment: `write ${mark}` }));
  switch (operation) {
    case 'create':
      return { method: 'POST', path: '/rrsets', body: { name, type, records, labels: { write: `${mark}` } } };
    case 'change_ttl':
      return { method: 'POST', path: `${path}/actions/change_ttl`, body: { ttl: 60 + mark } };
    case 'update':
      return { method: 'PUT', path, body: { labels: { write: `${mark}` } } };
    case 'delete':
      return { method: 'DELETE', path };
    default:
      return { method: 'POST', path: `${path}/actions/${operation}`, body: { records } };
  }
}

/** The operation of a client that reads the set first. */
export function fitting(step: Step, isPresent: boolean): Step {
  if (!isPresent) return step.operation === 'add_records' ? step : { ...step, operation: 'create' };
  return step.operation === 'create' ? { ...step, operation: 'set_records' } : step;
}
