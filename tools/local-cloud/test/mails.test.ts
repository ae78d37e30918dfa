import { createConnection, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { waitFor } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const mail = [
  'From: Corral <corral@example.test>',
  'To: Ada <ada@acme.test>',
  'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=',
  'Message-ID: <one@example.test>',
  '',
  'Hello',
  '.',
];

/** Speaks SMTP line by line. @returns the last answer; null when the connection was closed before one */
async function send(lines: readonly string[]): Promise<{ socket: Socket; answers: string[] }> {
  const socket = createConnection(cloud.smtpPort, '127.0.0.1');
  const answers: string[] = [];
  createInterface({ input: socket }).on('line', (line) => answers.push(line));
  const until = (count: number) =>
    waitFor('an answer', async () => answers.filter((line) => /^\d{3} /.test(line)).length >= count);
  await until(1);
  for (const [index, line] of lines.entries()) {
    socket.write(`${line}\r\n`);
    await until(index + 2);
  }
  socket.write(`${mail.join('\r\n')}\r\n`);
  return { socket, answers };
}
const envelope = ['EHLO test', 'MAIL FROM:<corral@example.test>', 'RCPT TO:<ada@acme.test>', 'DATA'];
const lastOf = (answers: string[], codes: RegExp) =>
  waitFor('the outcome', async () => codes.test(answers.at(-1) ?? ''));

describe('the mail server', () => {
  it('accepts a mail and shows it in the admin API', async () => {
    const { socket, answers } = await send(envelope);
    await lastOf(answers, /^250 /);
    socket.destroy();

    const { body } = await cloud.callAdmin('GET', '/mails');
    expect(body.mails).toEqual([
      {
        id: 1,
        receivedAt: expect.any(String),
        messageId: '<one@example.test>',
        html: '',
        from: '"Corral" <corral@example.test>',
        to: '"Ada" <ada@acme.test>',
        recipients: ['ada@acme.test'],
        subject: 'Grüße',
        text: 'Hello\n',
        headerNames: ['from', 'to', 'subject', 'message-id'],
      },
    ]);
  });
});
