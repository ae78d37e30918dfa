import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler } from 'express';

export interface StaticPage {
  /** The whole `Content-Type`. */
  readonly type: string;
  /** The same for as long as the process lives. */
  readonly content: string | Buffer;
}

interface Packed {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

/** A new version of the service is seen after so long at the latest. */
const CACHE_CONTROL = 'public, max-age=300';

/**
 * Serves what never changes: compressed once, however often it is asked for, and not sent to who has it.
 *
 * @param read called once, when the page is first asked for: most processes end without anybody having asked
 */
export function staticPage(read: () => StaticPage | Promise<StaticPage>): RequestHandler {
  let packed: Promise<Packed> | undefined;
  const packedOnce = (): Promise<Packed> => {
    packed ??= pack(read);
    return packed;
  };
  return async (req, res) => {
    const { type, plain, gzipped, tag } = await packedOnce();
    res.set({ 'Content-Type': type, 'Cache-Control': CACHE_CONTROL, ETag: tag, Vary: 'Accept-Encoding' });
    if (req.fresh) {
      res.status(304).end();
      return;
    }
    const compressed = req.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (compressed) res.set('Content-Encoding', 'gzip');
    const body = compressed ? gzipped : plain;
    res.set('Content-Length', String(body.length)).end(body);
  };
}

async function pack(read: () => StaticPage | Promise<StaticPage>): Promise<Packed> {
  const { type, content } = await read();
  const plain = Buffer.from(content);
  // Weak, for it is the tag of both forms.
  const tag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 27)}"`;
  return { type, plain, gzipped: await promisify(gzip)(plain, { level: 9 }), tag };
}
