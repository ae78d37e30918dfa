import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nothing listens on. Another process may take it before its user binds it, so whoever can
 * should listen on port 0 instead.
 */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('The listening socket has no port.')),
      );
    });
  });
}
