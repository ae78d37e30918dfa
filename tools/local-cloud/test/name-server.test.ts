import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import packet, { type DecodedPacket, type RecordType } from 'dns-packet';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
  const create = (name: string, type: string, ...values: string[]) =>
    cloud.call('POST', '/zones/7001/rrsets', { name, type, records: records(...values) });
  await create('app', 'A', '192.0.2.1');
  await create('alias', 'CNAME', 'app');
  await create(
    'big',
    'TXT',
    ...Array.from({ length: 20 }, (_, index) => `"${String.fromCharCode(97 + index).repeat(200)}"`),
  );
});
afterAll(() => cloud.close());

const queryFor = (name: string, type: RecordType) =>
  packet.encode({ type: 'query', id: 4711, flags: packet.RECURSION_DESIRED, questions: [{ name, type }] });

type Found = DecodedPacket & { rcode: string };

function askUdp(message: Buffer): Promise<Found> {
  const socket = createSocket('udp4');
  return new Promise<Found>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('message', (answer) => resolve(packet.decode(answer) as Found));
    socket.send(message, cloud.dnsPort, '127.0.0.1');
  }).finally(() => socket.close());
}

/** Sends all messages together, split inside a length field, and reads as many answers. */
function askTcp(...messages: Buffer[]): Promise<Found[]> {
  const socket = connect(cloud.dnsPort, '127.0.0.1');
  const bytes = Buffer.concat(
    messages.flatMap((message) => [Buffer.from([message.length >> 8, message.length & 255]), message]),
  );
  return new Promise<Found[]>((resolve, reject) => {
    let pending = Buffer.alloc(0);
    const answers: Found[] = [];
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      pending = Buffer.concat([pending, Buffer.from(chunk)]);
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const end = 2 + pending.readUInt16BE(0);
        answers.push(packet.decode(pending.subarray(2, end)) as Found);
        pending = pending.subarray(end);
      }
      if (answers.length === messages.length) resolve(answers);
    });
    socket.write(bytes.subarray(0, 1), () => socket.write(bytes.subarray(1)));
  }).finally(() => socket.destroy());
}

describe('the name server', () => {
  it('answers over UDP with what was written through the API', async () => {
    const answer = await askUdp(queryFor('alias.example.net', 'A'));

    expect(answer).toMatchObject({ id: 4711, rcode: 'NOERROR', flag_aa: true, flag_rd: true, flag_ra: false });
    expect(answer.answers).toMatchObject([
      { type: 'CNAME', name: 'alias.example.net', data: 'app.example.net', ttl: 3600 },
      { type: 'A', name: 'app.example.net', data: '192.0.2.1' },
    ]);
  });

  it('truncates long answers over UDP and sends them completely over TCP', async () => {
    const cut = await askUdp(queryFor('big.example.net', 'TXT'));
    const [whole] = await askTcp(queryFor('big.example.net', 'TXT'));

    expect([cut.flag_tc, cut.answers?.length]).toEqual([true, 0]);
    expect([whole?.flag_tc, whole?.answers?.length]).toEqual([false, 20]);
  });
});
