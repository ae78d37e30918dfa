import { createServer, type IncomingMessage } from 'node:http';
import { openWriteFloor } from './write-floor.js';

/** The floor of a write as a program: what remains is a request to a server that does nothing else. */
const env = (name: string): string => process.env[name] as string;
const floor = await openWriteFloor({
  databaseUrl: env('DATABASE_URL'),
  cloudUrl: env('CLOUD_URL'),
  cloudToken: env('CLOUD_TOKEN'),
});

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

createServer(async (request, response) => {
  // Asked until the server is ready.
  if (request.method === 'GET') {
    response.end();
    return;
  }
  try {
    const answer = await floor.write(request.url as string, await textOf(request));
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
    response.end(answer);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}).listen(Number(env('PORT')), '127.0.0.1');
