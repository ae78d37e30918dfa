import { dnsBodyLimits } from '@corral/contracts';
import { type IsRespelled, jsonObjectOf } from '@corral/http-api';
import type { Request } from 'express';
import { DnsError } from '../dns-error.js';

/**
 * The body of a write as a JSON object, beside its very bytes, which are what is forwarded.
 *
 * @throws DnsError `invalid_input` for another content type
 * @throws UnreadableBody for what is no JSON object, is past its bounds, or what two parsers could read differently
 */
export function jsonObjectBody(
  req: Request,
  bounds: (typeof dnsBodyLimits)[keyof typeof dnsBodyLimits] = dnsBodyLimits.recordSets,
): { bytes: Buffer; value: object } {
  return jsonObjectOf(req, {
    bounds,
    isRespelled,
    takesType: (type) => type === undefined || /^application\/json\s*(;|$)/i.test(type),
    refuseType: () =>
      new DnsError('invalid_input', 'The body must be JSON. Send it with Content-Type: application/json.'),
  });
}

const checkedMembers = new Set(['name', 'type', 'ttl', 'labels', 'records', 'value', 'comment']);

/** By way of capitals, because decoders that ignore case take a long s (U+017F) for an s, too: `recordſ` is `records`. */
function foldCase(member: string): string {
  return member.toUpperCase().toLowerCase();
}

/**
 * Whether a member is one of those that are checked, in another case: which of them counts differs between parsers, so
 * what is checked here might not be what the upstream reads.
 */
export const isRespelled: IsRespelled = (member, top) => {
  if (top === 'labels') return false;
  const folded = foldCase(member);
  return folded !== member && checkedMembers.has(folded);
};
