import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler } from 'express';
import { page } from '../mount-routes.js';

export interface StaticPage {
  /** The whole `Content-Type`. */
  readonly type: string;
  /** Constant during the life of the process. */
  readonly content: string | Buffer;
}

interface Packed {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

/** Maximum time until browsers see a new version of the service. */
const CACHE_CONTROL = 'public, max-age=300';

/**
 * Serves content that never changes: compressed once, and not sent again to clients that have it. Mount it with `all`.
 *
 * @param read called once, on first use: most processes end without serving it
 */
export function staticPage(read: () => StaticPage | Promise<StaticPage>): RequestHandler {
  let packed: Promise<Packed> | undefined;
  const packedOnce = (): Promise<Packed> => {
    packed ??= pack(read);
    return packed;
  };
  return page(async (req, res) => {
    const { type, plain, gzipped, tag } = await packedOnce();
    res.set({ 'Content-Type': type, 'Cache-Control': CACHE_CONTROL, ETag: tag }).vary('Accept-Encoding');
    if (req.fresh) {
      res.status(304).end();
      return;
    }
    const compressed = req.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (compressed) res.set('Content-Encoding', 'gzip');
    const body = compressed ? gzipped : plain;
    res.set('Content-Length', String(body.length)).end(body);
  });
}

async function pack(read: () => StaticPage | Promise<StaticPage>): Promise<Packed> {
  const { type, content } = await read();
  const plain = Buffer.from(content);
  // Weak, because both encodings share the tag.
  const tag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 27)}"`;
  return { type, plain, gzipped: await promisify(gzip)(plain, { level: 9 }), tag };
}
