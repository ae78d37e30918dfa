import { createSocket } from 'node:dgram';
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

describe('the name server', () => {
  it('answers over UDP with what was written through the API', async () => {
    const answer = await askUdp(queryFor('alias.example.net', 'A'));

    expect(answer).toMatchObject({ id: 4711, rcode: 'NOERROR', flag_aa: true, flag_rd: true, flag_ra: false });
    expect(answer.answers).toMatchObject([
      { type: 'CNAME', name: 'alias.example.net', data: 'app.example.net', ttl: 3600 },
      { type: 'A', name: 'app.example.net', data: '192.0.2.1' },
    ]);
  });
});
