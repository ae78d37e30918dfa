import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An upstream that does nothing but count, as documented: a bucket that refills evenly. */
export interface BucketUpstream {
  readonly baseUrl: string;
  /** Calls so far that were answered 429. */
  refusals(): number;
  close(): Promise<void>;
}

export async function startBucketUpstream(limitPerHour: number, remaining = limitPerHour): Promise<BucketUpstream> {
  let refusals = 0;
  let level = remaining;
  let asOf = performance.now();
  const refill = (): number => {
    const now = performance.now();
    level = Math.min(limitPerHour, level + ((now - asOf) * limitPerHour) / 3_600_000);
    asOf = now;
    return level;
  };
  const take = (): boolean => {
    if (refill() < 1) return false;
    level -= 1;
    return true;
  };
  const server = createServer((_req, res) => {
    const isAllowed = take();
    if (!isAllowed) refusals += 1;
    res.writeHead(isAllowed ? 201 : 429, {
      'Content-Type': 'application/json',
      'RateLimit-Limit': String(limitPerHour),
      'RateLimit-Remaining': String(Math.floor(level)),
    });
    res.end(
      isAllowed ? '{"action": {}}' : '{"error": {"code": "rate_limit_exceeded", "message": "limit", "details": null}}',
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    refusals: () => refusals,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
