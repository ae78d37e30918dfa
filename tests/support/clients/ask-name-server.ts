import { createSocket } from 'node:dgram';
import { decode, encode, type RecordType } from 'dns-packet';

const TIMEOUT_MS = 60_000;

/** Returns what `dig @127.0.0.1 -p <port> <name> <type> +short` prints, for machines without dig. */
export function askNameServer(port: number, name: string, type: RecordType): Promise<string[]> {
  const socket = createSocket('udp4');
  const question = encode({ type: 'query', id: 1, questions: [{ name, type }] });
  return new Promise<string[]>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer for ${name} within ${TIMEOUT_MS} ms.`)), TIMEOUT_MS);
    socket.once('error', reject);
    socket.once('message', (message) => {
      clearTimeout(timer);
      resolve((decode(message).answers ?? []).map((answer) => String('data' in answer ? answer.data : '')));
    });
    socket.send(question, port, '127.0.0.1');
  }).finally(() => socket.close());
}
