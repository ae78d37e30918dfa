import { createSocket, type Socket } from 'node:dgram';
import { type AddressInfo, createServer } from 'node:net';
import {
  type Answer,
  decode,
  encode,
  type Packet,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  type RecordType,
} from 'dns-packet';

export interface Resolver {
  /** The port for UDP and TCP. */
  readonly port: number;
  stop(): Promise<void>;
}

const ALIASES_MAX = 8;
/** The length of a message before the message, over TCP. */
const LENGTH_BYTES = 2;

/**
 * A resolver. A name server answers for its zones one by one; a resolver also follows an alias from one zone into another, as
 * the delegation of a challenge needs it.
 *
 * @param nameServer the port on this machine of the name server for all zones
 */
export async function startResolver(nameServer: number): Promise<Resolver> {
  const overTcp = createServer((connection) => {
    let received = Buffer.alloc(0);
    connection.on('error', () => undefined);
    connection.on('data', (part: Buffer) => {
      received = Buffer.concat([received, part]);
      const length = received.length < LENGTH_BYTES ? Number.POSITIVE_INFINITY : received.readUInt16BE();
      if (received.length < LENGTH_BYTES + length) return;
      const question = received.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
      received = received.subarray(LENGTH_BYTES + length);
      void resolve(question, nameServer).then(
        (answer) => connection.write(Buffer.concat([lengthOf(answer), answer])),
        () => connection.destroy(),
      );
    });
  });
  await new Promise<void>((listening) => overTcp.listen(0, '127.0.0.1', listening));
  const { port } = overTcp.address() as AddressInfo;
  const overUdp = createSocket('udp4');
  overUdp.on('message', (question, client) => {
    void resolve(question, nameServer).then(
      (answer) => overUdp.send(answer, client.port, client.address),
      () => undefined, // as if the question was lost: the client asks again
    );
  });
  await new Promise<void>((listening) => overUdp.bind(port, '127.0.0.1', listening));
  return {
    port,
    async stop() {
      await new Promise<void>((closed) => overUdp.close(closed));
      await new Promise<unknown>((closed) => overTcp.close(closed));
    },
  };
}

function lengthOf(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return length;
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
const TIMEOUT_MS = 60_000;

function askOnce(
  question: NonNullable<Packet['questions']>[number],
  port: number,
): Promise<Packet & { rcode?: string }> {
  const socket: Socket = createSocket('udp4');
  return new Promise<Packet>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer for ${question.name}.`)), TIMEOUT_MS);
    socket.once('error', reject);
    socket.once('message', (message: Buffer) => {
      clearTimeout(timer);
      resolve(decode(message));
    });
    socket.send(encode({ type: 'query', id: 1, questions: [question] }), port, '127.0.0.1');
  }).finally(() => socket.close());
}

/** Returns what `dig @127.0.0.1 -p <port> <name> <type> +short` prints, for machines without dig. */
export async function askNameServer(port: number, name: string, type: RecordType): Promise<string[]> {
  const { answers = [] } = await askOnce({ name, type }, port);
  return answers.map((answer) => String('data' in answer ? answer.data : ''));
}
