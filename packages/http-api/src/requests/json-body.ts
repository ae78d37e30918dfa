import { outside } from '@corral/admission';
import { cutText } from '@corral/contracts';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { type JSONVisitor, visit } from 'jsonc-parser';
import { scopeOf } from '../admit-requests.js';
import { RequestFault } from '../errors.js';

/** Bounds of a JSON text. */
export interface JsonBounds {
  /** Nesting depth. */
  readonly depth: number;
  /** Members of objects and elements of arrays, counted over the whole text. */
  readonly entries: number;
}

/** Why a text is refused. */
export type JsonFault =
  | { readonly kind: 'too_deep' | 'too_many' }
  /** A member that JSON parsers could read differently. */
  | { readonly kind: 'ambiguous'; readonly member: string };

/**
 * Whether parsers could take a member for another one.
 *
 * @param top the member of the outermost object that contains it; null for a member of the outermost object
 */
export type IsRespelled = (member: string, top: string | null) => boolean;

/** Maximum length of a name in a message. */
const NAME_CHARACTERS = 64;

/** Ends the visit of a text. Null: it is no JSON. */
class Found extends Error {
  constructor(readonly fault: JsonFault | null) {
    super('found');
  }
}

/**
 * Checks a JSON text in one pass before it is parsed: its depth, its size, and whether a member is repeated. Stops at the first
 * fault. Invalid JSON may pass: the parser reports it.
 *
 * @returns null without a fault
 */
export function findJsonFault(
  text: string,
  bounds: JsonBounds,
  isRespelled: IsRespelled = () => false,
): JsonFault | null {
  /** The names so far of each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  let top: string | null = null;
  // The outermost value is not counted.
  let entries = -1;

  const stop = (fault: JsonFault | null): never => {
    throw new Found(fault);
  };
  const count = (): void => {
    entries += 1;
    if (entries > bounds.entries) stop({ kind: 'too_many' });
  };
  const enter = (names: Set<string> | null): void => {
    count();
    if (open.length === bounds.depth) stop({ kind: 'too_deep' });
    open.push(names);
  };
  const leave = (): void => void open.pop();
  const note = (name: string): void => {
    const names = open.at(-1) as Set<string>;
    if (names.has(name) || isRespelled(name, open.length === 1 ? null : top)) {
      stop({ kind: 'ambiguous', member: cutText(name, NAME_CHARACTERS) });
    }
    names.add(name);
    if (open.length === 1) top = name;
  };
  const visitor: JSONVisitor = {
    onObjectBegin: () => enter(new Set()),
    onArrayBegin: () => enter(null),
    onObjectEnd: leave,
    onArrayEnd: leave,
    onLiteralValue: count,
    onObjectProperty: note,
    onError: () => stop(null),
  };
  try {
    visit(text, visitor, { disallowComments: true });
    return null;
  } catch (error) {
    if (error instanceof Found) return error.fault;
    throw error;
  }
}

export interface BodySize {
  /** The most bytes of a body. */
  readonly bytes: number;
}

/** Reads the body as it is, up to its limit. Compressed bodies are refused unread: they could expand to any size. */
export function rawBody({ bytes }: BodySize): RequestHandler {
  const read = express.raw({ type: () => true, limit: bytes, inflate: false });
  return (req, res, next) => {
    // A `Content-Encoding` counts even without a body: what is forwarded upstream must be what was sent.
    if (isEncoded(req)) {
      next(new RequestFault('encoded', 'The body has a Content-Encoding. Send it uncompressed.'));
      return;
    }
    // Slow senders have their own limits.
    const received = outside(scopeOf(res), () => readBody(read, req, res)).catch((error: unknown) => {
      throw unreadable(error, bytes);
    });
    received.then(() => next(), next);
  };
}

/** Reads the body into `req.body`. */
const readBody = (read: RequestHandler, req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    read(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)));
    if (req.headers['transfer-encoding'] === undefined) return;
    cutPieces(req, res, () => {
      reject(new RequestFault('in_pieces', 'The body arrives in too many small chunks. Send larger chunks.'));
    });
  });

const isEncoded = ({ headers }: Request): boolean =>
  (headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity';

/** A chunk costs about as much as a thousand bytes. Beyond this number, chunks must be at least that large. */
const PIECES_FREE = 1_024;
const PIECE_BYTES_MIN = 64;

function cutPieces(req: Request, res: Response, refuse: () => void): void {
  let pieces = 0;
  let bytes = 0;
  const count = (piece: Buffer): void => {
    pieces += 1;
    bytes += piece.length;
    if (pieces <= PIECES_FREE || bytes >= pieces * PIECE_BYTES_MIN) return;
    req.off('data', count);
    req.pause();
    // Discarding the rest chunk by chunk would cost as much as reading it. Closing the connection costs less.
    res.setHeader('Connection', 'close');
    refuse();
  };
  req.on('data', count);
}

/** The bytes that `rawBody` read; empty without a body. */
export const bytesOf = (req: Request): Buffer => (Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0));

/** Refuses what `rawBody` read, unless it says nothing: some clients send `{}` or `null` with every request. */
export const refuseBody: RequestHandler = (req, _res, next) => {
  if (['', '{}', 'null'].includes(bytesOf(req).toString('latin1').replace(/\s/g, ''))) {
    req.body = undefined;
    return next();
  }
  next(new RequestFault('unexpected', 'This request takes no body, and nothing was changed. Leave it out.'));
};

/** Errors of the body reader carry a `type`, see the body-parser documentation. */
function unreadable(error: unknown, bytes: number): unknown {
  switch (error instanceof Error ? (error as { type?: unknown }).type : undefined) {
    case 'entity.too.large':
      return new RequestFault('too_large', `The body is larger than ${sizeOf(bytes)}. Send a smaller one.`);
    case 'request.aborted':
    case 'request.size.invalid':
      return new RequestFault('incomplete', 'The body is shorter or longer than its Content-Length.');
    default:
      return error;
  }
}

const sizeOf = (bytes: number): string =>
  bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_024} KiB`;

interface JsonBodyOptions {
  readonly bounds: JsonBounds;
  /** Finds ambiguous members other than repeated ones. Default: none. */
  readonly isRespelled?: IsRespelled;
  /** Whether a body with this `Content-Type` is accepted. */
  readonly takesType: (type: string | undefined) => boolean;
  /** The API's own error for another type. */
  readonly refuseType: () => Error;
}

/**
 * The body that `rawBody` read: its bytes, and the JSON object in them.
 *
 * @throws RequestFault as `parseJsonObject`, and the error of `refuseType`
 */
export function jsonObjectOf(req: Request, options: JsonBodyOptions): { bytes: Buffer; value: object } {
  const { bounds, isRespelled, takesType, refuseType } = options;
  if (!takesType(req.headers['content-type'])) throw refuseType();
  const bytes = bytesOf(req);
  return { bytes, value: parseJsonObject(bytes, bounds, isRespelled) };
}

/**
 * Parses bytes as a JSON object, in time limited by its bounds.
 *
 * @throws RequestFault when it is not a JSON object, exceeds the bounds, or has a member that two parsers could read
 *   differently
 */
function parseJsonObject(bytes: Buffer, bounds: JsonBounds, isRespelled?: IsRespelled): object {
  const text = decodeUtf8(bytes);
  const fault = findJsonFault(text, bounds, isRespelled);
  if (fault?.kind === 'too_deep') {
    throw new RequestFault('too_deep', `The body is nested more than ${bounds.depth} levels deep. Send a flatter one.`);
  }
  if (fault?.kind === 'too_many') {
    throw new RequestFault('too_many', `The body has more than ${bounds.entries} members and elements. Send fewer.`);
  }
  if (fault?.kind === 'ambiguous') {
    throw new RequestFault(
      'ambiguous',
      `The body has the member "${fault.member}" more than once or in another spelling. Send it once, as documented.`,
    );
  }
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RequestFault('not_an_object', 'The body is not a JSON object. Send one object.');
  }
  return value;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new RequestFault('not_utf8', 'The body is not valid UTF-8. Encode it as UTF-8.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestFault(
      'not_json',
      text === '' ? 'The body is empty. Send one JSON object.' : 'The body cannot be parsed as JSON. Check its syntax.',
    );
  }
}
