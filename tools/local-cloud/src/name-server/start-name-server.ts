import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import { LOOPBACK } from '../listen.js';
import { answerQuery } from './answer-query.js';
import type { ServedZone } from './resolve.js';

export interface NameServer {
  /** UDP and TCP use the same port. */
  readonly port: number;
  close(): Promise<void>;
}

type FindZone = (name: string) => ServedZone | null;

const IDLE_MS = 10_000;
const PORT_ATTEMPTS = 20;

/** Serves the zones over UDP and TCP. Port 0 selects a port that is free for both. */
export async function startNameServer(port: number, findZone: FindZone): Promise<NameServer> {
  for (let attempt = 1; ; attempt += 1) {
    const udp = await bindUdp(port, findZone);
    try {
      const tcp = await listenTcp(udp.address().port, findZone);
      return { port: udp.address().port, close: () => close(udp, tcp) };
    } catch (error) {
      udp.close();
      // A port that is free for UDP may be in use for TCP.
      if (port !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function bindUdp(port: number, findZone: FindZone): Promise<UdpSocket> {
  const socket = createSocket('udp4');
  socket.on('message', (message, sender) => {
    const answer = answerQuery(message, 'udp', findZone);
    // Ignore send errors: the client may be gone.
    if (answer !== null) socket.send(answer, sender.port, sender.address, () => {});
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, LOOPBACK, resolve);
  });
  socket.on('error', () => {});
  return socket;
}

interface TcpServer {
  readonly server: Server;
  readonly connections: ReadonlySet<Socket>;
}

async function listenTcp(port: number, findZone: FindZone): Promise<TcpServer> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    answerStream(socket, findZone);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, resolve);
  });
  return { server, connections };
}

/** RFC 1035 section 4.2.2: a two-byte length precedes each message. */
function answerStream(socket: Socket, findZone: FindZone): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, Buffer.from(chunk)]);
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0);
      const answer = answerQuery(pending.subarray(2, end), 'tcp', findZone);
      pending = pending.subarray(end);
      if (answer === null) continue;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      socket.write(Buffer.concat([length, answer]));
    }
  });
}

async function close(udp: UdpSocket, { server, connections }: TcpServer): Promise<void> {
  const udpClosed = new Promise<void>((resolve) => udp.close(() => resolve()));
  const tcpClosed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of connections) socket.destroy();
  await Promise.all([udpClosed, tcpClosed]);
}
