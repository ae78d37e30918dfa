import { dnsLimits } from '@corral/contracts';
import express, { type Request, type RequestHandler } from 'express';
import { visit } from 'jsonc-parser';
import { DnsError } from '../dns-error.js';

/** Takes the body as it comes: what is forwarded upstream are the very bytes that were sent. */
export function rawBody(): RequestHandler {
  return express.raw({ type: () => true, limit: dnsLimits.bodyBytesMax });
}

/**
 * The body of a write as a JSON object.
 *
 * @throws DnsError `invalid_input` for another content type, for what is no JSON object, and for a body that two
 *   parsers could read differently
 */
export function jsonObjectBody(req: Request): { bytes: Buffer; value: object } {
  const bytes: Buffer = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  const type = req.headers['content-type'];
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(type)) {
    throw new DnsError('invalid_input', 'The body has to be JSON: send it with Content-Type: application/json.');
  }
  const text = decodeUtf8(bytes);
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DnsError('invalid_input', 'The body has to be a JSON object.');
  }
  const ambiguous = findAmbiguousMember(text);
  if (ambiguous !== null) {
    throw new DnsError('invalid_input', `The body has the member "${ambiguous}" in more than one spelling or place.`);
  }
  return { bytes, value };
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DnsError('invalid_input', 'The body has to be UTF-8 text.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DnsError('invalid_input', 'The body is not valid JSON.');
  }
}

const checkedMembers = new Set(['name', 'type', 'ttl', 'labels', 'records', 'value', 'comment']);

/** By way of capitals, because decoders that ignore case take a long s (U+017F) for an s, too: `recordſ` is `records`. */
function foldCase(member: string): string {
  return member.toUpperCase().toLowerCase();
}

/**
 * Finds a member that is there twice, or once in another case: which of them counts differs between parsers, so what
 * is checked here might not be what the upstream reads.
 *
 * @returns the member, or null when every reader agrees
 */
export function findAmbiguousMember(text: string): string | null {
  let found: string | null = null;
  const seen: Set<string>[] = [];
  try {
    visit(text, {
      onObjectBegin: () => void seen.push(new Set()),
      onObjectEnd: () => void seen.pop(),
      onObjectProperty: (member, _offset, _length, _line, _character, pathOf) => {
        const members = seen[seen.length - 1] as Set<string>;
        const folded = foldCase(member);
        const respelled = folded !== member && checkedMembers.has(folded) && pathOf()[0] !== 'labels';
        if (members.has(member) || respelled) found ??= member.slice(0, 64);
        members.add(member);
      },
    });
  } catch (error) {
    // The visitor recurses, so only absurd nesting overflows it.
    if (error instanceof RangeError) throw new DnsError('invalid_input', 'The body is nested too deeply.');
    throw error;
  }
  return found;
}
