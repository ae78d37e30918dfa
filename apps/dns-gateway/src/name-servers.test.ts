import { createSocket, type Socket } from 'node:dgram';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import packet, { type Answer, type DecodedPacket } from 'dns-packet';
import { nameServers } from './name-servers.js';

const NAME = 'www.acme.example.org';
const address = { type: 'A', name: 'WWW.acme.example.org', ttl: 60, data: '192.0.2.1' } as const;
const TRUNCATED = 0x200;
const SERVFAIL = 2;

describe('a name server', () => {
  let udp: Socket;
  let tcp: Server;
  let answer: (question: DecodedPacket) => Buffer;
  let answerOverTcp: (question: DecodedPacket) => Buffer;
  beforeEach(async () => {
    tcp = createServer((connection) => {
      connection.once('data', (data) => {
        const message = answerOverTcp(packet.decode(data.subarray(2)));
        const length = Buffer.from([message.length >> 8, message.length & 0xff]);
        // A network may deliver the answer in two parts.
        connection.write(Buffer.concat([length, message.subarray(0, 20)]), () => connection.end(message.subarray(20)));
      });
    });
    await new Promise<void>((listening) => tcp.listen(0, '127.0.0.1', listening));
    udp = createSocket('udp4');
    udp.on('message', (message, { port }) => udp.send(answer(packet.decode(message)), port, '127.0.0.1'));
    await new Promise<void>((bound) => udp.bind((tcp.address() as AddressInfo).port, '127.0.0.1', bound));
  });
  afterEach(() => {
    udp.close();
    tcp.close();
  });

  const reply = (question: DecodedPacket, answers: Answer[], flags: number = packet.AUTHORITATIVE_ANSWER): Buffer =>
    packet.encode({ type: 'response', id: question.id ?? 0, flags, questions: question.questions ?? [], answers });
  const ask = async (type = 'A') => {
    const { port } = udp.address();
    return (await nameServers([{ host: 'localhost', port }]).ask('acme', NAME, type))[0];
  };

  it('is asked for the records of a name, and not for those of the target of an alias', async () => {
    const alias = { type: 'CNAME', name: NAME, ttl: 60, data: 'web.example.org' } as const;
    answer = (question) => reply(question, [alias, { ...address, name: 'web.example.org' }]);

    expect(await ask('A')).toEqual([]);
    expect(await ask('CNAME')).toEqual([{ value: 'web.example.org', ttl: 60 }]);
  });

  it('is asked again over TCP when its answer was cut', async () => {
    const long = Array.from({ length: 200 }, (_, at) => ({ ...address, data: `192.0.2.${at}` }));
    answer = (question) => reply(question, [], packet.AUTHORITATIVE_ANSWER | TRUNCATED);
    answerOverTcp = (question) => reply(question, long);

    expect(await ask()).toHaveLength(200);
  });

  it.each<[string, (question: DecodedPacket) => Buffer]>([
    ['does not have the zone', (question) => reply(question, [address], 0)],
    ['has failed', (question) => reply(question, [], packet.AUTHORITATIVE_ANSWER | SERVFAIL)],
    ['answers another question', (question) => reply({ ...question, id: (question.id ?? 0) ^ 1 }, [address])],
    ['sends garbage', () => Buffer.from('garbage')],
    ['cuts its answer over TCP too', (question) => reply(question, [], packet.AUTHORITATIVE_ANSWER | TRUNCATED)],
  ])('has no usable answer if it %s', async (_what, given) => {
    answer = given;
    answerOverTcp = () => Buffer.from('gar');

    expect(await ask()).toBeNull();
  });

  it('is asked once a second for the same, however many wait', async () => {
    let questions = 0;
    answer = (question) => {
      questions += 1;
      return reply(question, [address]);
    };
    const servers = nameServers([{ host: '127.0.0.1', port: udp.address().port }]);

    const answers = await Promise.all(Array.from({ length: 50 }, () => servers.ask('acme', NAME, 'A')));

    expect(new Set(answers.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify([[{ value: '192.0.2.1', ttl: 60 }]])]),
    );
    expect(questions).toBe(1);
  });
});
