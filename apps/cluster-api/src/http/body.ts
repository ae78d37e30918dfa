import { clusterLimits } from '@corral/contracts';
import express, { type Request, type RequestHandler } from 'express';
import { Problem } from '../problem.js';
import { findUnstorable } from './storable.js';

/** Takes the body as it comes, up to the limit. Compressed ones are refused: nothing here is worth a zip bomb. */
export function readBody(): RequestHandler {
  return express.raw({ type: () => true, limit: clusterLimits.bodyBytesMax, inflate: false });
}

/** The bytes of the body, none where there is no body. */
export const bytesOf = (req: Request): Buffer => (Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0));

/**
 * The body of a request as parsed JSON, for a schema to judge.
 *
 * @param absent what an absent body stands for; without it a body is required
 * @throws Problem `unsupported_media_type`, `invalid_json`, or `validation_failed` for what Postgres cannot hold
 */
export function bodyOf(req: Request, { absent }: { absent?: object } = {}): object {
  const bytes = bytesOf(req);
  if (bytes.length === 0 && absent !== undefined) return absent;
  const type = req.headers['content-type'];
  if (type === undefined || !/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)) {
    throw new Problem('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.');
  }
  const body = parseJson(decodeUtf8(bytes));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('invalid_json', 'The body is not a JSON object. Send one object.');
  }
  const unstorable = findUnstorable(body);
  if (unstorable !== null) {
    throw new Problem('validation_failed', `${unstorable.pointer || 'The body'} ${unstorable.message}.`, {
      errors: [unstorable],
    });
  }
  return body;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Problem('invalid_json', 'The body is not UTF-8 text. Encode it anew.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(
      'invalid_json',
      text === '' ? 'The body is empty. Send one JSON object.' : 'The body cannot be parsed as JSON. Check its syntax.',
    );
  }
}
