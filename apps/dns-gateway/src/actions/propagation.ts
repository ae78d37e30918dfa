import { absoluteName, canonicalAddress } from '@corral/contracts';
import { type PropagatingWrite, readRrsetBody, withMember } from '@corral/dns-data';
import type { ServedRecord } from '../name-servers.js';

/** What name servers answer once they have a write. */
export interface Expectation {
  readonly present: readonly string[];
  readonly absent: readonly string[];
  /** Seconds; null if the write did not change it, or to the default of the zone. */
  readonly ttl: number | null;
}

/**
 * What to expect of a write. Later writes to the set count: values that they took away again, or brought back, are not waited for, so
 * that a write which was replaced is over.
 */
export function expectationOf(
  { type, before, after, current }: Pick<PropagatingWrite, 'type' | 'before' | 'after' | 'current'>,
  zoneName: string,
): Expectation {
  const [was, made, is] = [before, after, current].map((body) => valuesOf(type, body, zoneName)) as [V, V, V];
  const [ttlBefore, ttl, ttlNow] = [before, after, current].map((body) => body && readRrsetBody(body).ttl);
  return {
    present: [...made].filter((value) => is.has(value)),
    absent: [...was].filter((value) => !made.has(value) && !is.has(value)),
    ttl: typeof ttl === 'number' && ttl !== ttlBefore && ttl === ttlNow ? ttl : null,
  };
}

type V = ReadonlySet<string>;

const valuesOf = (type: string, body: string | null, zoneName: string): V =>
  new Set(body === null ? [] : readRrsetBody(body).records.map(({ value }) => canonicalValue(type, value, zoneName)));

/** @param served null for no usable answer */
export function isServed({ present, absent, ttl }: Expectation, served: readonly ServedRecord[] | null): boolean {
  if (served === null) return false;
  const values = new Set(served.map(({ value }) => value));
  const fits = present.every((value) => values.has(value)) && !absent.some((value) => values.has(value));
  return fits && (ttl === null || served.every((record) => record.ttl === ttl));
}

/**
 * The text that equal values share, however they are written.
 *
 * @param value as the API has it. Names without a final dot are relative to the zone
 */
export function canonicalValue(type: string, value: string, zoneName: string): string {
  switch (type) {
    case 'AAAA':
      return canonicalAddress(value) ?? value;
    case 'CNAME':
      return absoluteName(value, `${zoneName}.`).slice(0, -1);
    case 'TXT':
      return joinedText(value);
    default:
      return value;
  }
}

/** The bytes of all strings together, one character each: where a text is split has no meaning (RFC 7208 section 3.3). */
function joinedText(value: string): string {
  const bytes = Buffer.from(value).toString('latin1');
  const strings = [...bytes.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, string = '']) => string);
  return strings.join('').replace(/\\(?:(\d{3})|(.))/gs, (_all, code?: string, character?: string) => {
    return code === undefined ? (character ?? '') : String.fromCharCode(Number(code));
  });
}

/** How far an action is whose write has succeeded upstream and must reach the name servers: `n` of `of` have it. */
export interface Reached {
  readonly n: number;
  readonly of: number;
}

/** The body of such an action as clients see it. Other members keep their bytes. */
export function propagatingBody(body: string, { n, of }: Reached): string {
  const shown = { status: 'running', progress: 50 + Math.floor((50 * n) / of), finished: null };
  return Object.entries(shown).reduce((text, [member, value]) => withMember(text, member, value), body);
}
