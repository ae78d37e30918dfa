import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import { type Answer, decode, encode, type Packet, RECURSION_AVAILABLE, RECURSION_DESIRED } from 'dns-packet';

export interface Resolver {
  readonly port: number;
  stop(): Promise<void>;
}

const ALIASES_MAX = 8;

/**
 * A resolver over UDP. A name server answers for its zones one by one; a resolver also follows an alias from one zone into
 * another, as the delegation of a challenge needs it.
 *
 * @param nameServer the port on this machine of the name server for all zones
 */
export async function startResolver(nameServer: number): Promise<Resolver> {
  const server = createSocket('udp4');
  server.on('message', (message, client) => {
    void resolve(message, nameServer).then(
      (answer) => server.send(answer, client.port, client.address),
      () => undefined, // as if the question was lost: the client asks again
    );
  });
  await new Promise<void>((listening) => server.bind(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise((closed) => server.close(() => closed())),
  };
}

async function resolve(message: Buffer, nameServer: number): Promise<Buffer> {
  const { id, questions = [] } = decode(message);
  const [question] = questions;
  if (question === undefined) throw new Error('There is no question.');
  const answers: Answer[] = [];
  let last: Packet & { rcode?: string } = {};
  for (let name = question.name, aliases = 0; aliases < ALIASES_MAX; aliases += 1) {
    last = await askOnce({ ...question, name }, nameServer);
    answers.push(...(last.answers ?? []));
    const alias = answers.at(-1);
    if (alias?.type !== 'CNAME' || question.type === 'CNAME') break;
    name = alias.data;
  }
  const { rcode = 'NOERROR', authorities = [] } = last;
  const flags = RECURSION_DESIRED | RECURSION_AVAILABLE | (rcode === 'NXDOMAIN' ? NXDOMAIN : 0);
  return encode({ type: 'response', id: id ?? 0, flags, questions, answers, authorities });
}

const NXDOMAIN = 3;
const TIMEOUT_MS = 5_000;

function askOnce(
  question: NonNullable<Packet['questions']>[number],
  port: number,
): Promise<Packet & { rcode?: string }> {
  const socket: Socket = createSocket('udp4');
  return new Promise<Packet>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer for ${question.name}.`)), TIMEOUT_MS);
    socket.once('error', reject);
    socket.once('message', (message: Buffer, _from: RemoteInfo) => {
      clearTimeout(timer);
      resolve(decode(message));
    });
    socket.send(encode({ type: 'query', id: 1, questions: [question] }), port, '127.0.0.1');
  }).finally(() => socket.close());
}
