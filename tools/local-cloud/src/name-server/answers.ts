import type { Answer } from 'dns-packet';
import { isRrsetType } from '../dns/model.js';
import { isRecordValue, parseCharacterStrings } from '../dns/record-values.js';
import type { ServedRrset } from './resolve.js';
import { absoluteName } from './resolve.js';

type Render = (value: string, host: (name: string) => string) => unknown;

const numberAt = (fields: readonly string[], index: number): number => Number(fields[index]);

/** Types that dns-packet can encode. HTTPS and SVCB are stored but not served over DNS. */
const renders: Readonly<Record<string, Render>> = {
  A: (value) => value,
  AAAA: (value) => value,
  CNAME: (value, host) => host(value),
  NS: (value, host) => host(value),
  PTR: (value, host) => host(value),
  TXT: (value) => parseCharacterStrings(value),
  MX(value, host) {
    const fields = value.split(' ');
    return { preference: numberAt(fields, 0), exchange: host(fields[1] ?? '.') };
  },
  SRV(value, host) {
    const fields = value.split(' ');
    const [priority, weight, port] = [0, 1, 2].map((index) => numberAt(fields, index));
    return { priority, weight, port, target: host(fields[3] ?? '.') };
  },
  CAA(value) {
    const [flags = '0', tag = ''] = value.split(' ', 2);
    const text = value.slice(flags.length + tag.length + 2);
    return { flags: Number(flags), tag, value: parseCharacterStrings(text)?.[0]?.toString() ?? '' };
  },
  SOA(value, host) {
    const fields = value.split(' ');
    const [serial, refresh, retry, expire, minimum] = [2, 3, 4, 5, 6].map((index) => numberAt(fields, index));
    return { mname: host(fields[0] ?? '.'), rname: host(fields[1] ?? '.'), serial, refresh, retry, expire, minimum };
  },
  DS(value) {
    const fields = value.split(' ');
    const digest = Buffer.from(fields[3] ?? '', 'hex');
    const [keyTag, algorithm, digestType] = [0, 1, 2].map((index) => numberAt(fields, index));
    return { keyTag, algorithm, digestType, digest };
  },
  TLSA(value) {
    const fields = value.split(' ');
    const certificate = Buffer.from(fields[3] ?? '', 'hex');
    const [usage, selector, matchingType] = [0, 1, 2].map((index) => numberAt(fields, index));
    return { usage, selector, matchingType, certificate };
  },
  RP(value, host) {
    const [mbox = '.', txt = '.'] = value.split(' ');
    return { mbox: host(mbox), txt: host(txt) };
  },
  HINFO(value) {
    const strings = parseCharacterStrings(value)?.map(String) ?? value.split(' ');
    return { cpu: strings[0] ?? '', os: strings[1] ?? '' };
  },
};

/**
 * Converts a set to DNS records, one per value.
 *
 * @throws Error for an invalid value, which only a forced set can contain
 */
export function renderAnswers({ owner, ttl, rrset, zoneName }: ServedRrset): Answer[] {
  const render = renders[rrset.type];
  if (render === undefined) return [];
  const host = (name: string): string => absoluteName(name, zoneName);
  return rrset.records.map(({ value }) => {
    if (!isRrsetType(rrset.type) || !isRecordValue(rrset.type, value)) throw new Error('The value is not of its type.');
    return { type: rrset.type, name: owner, class: 'IN', ttl, data: render(value, host) } as Answer;
  });
}
