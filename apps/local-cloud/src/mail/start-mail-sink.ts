import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import type { AddressObject, ParsedMail } from 'mailparser';
import { SMTPServer } from 'smtp-server';

/** A mail that was taken, and went no further. */
export interface SunkMail {
  /** Counts from 1. */
  readonly id: number;
  readonly receivedAt: string;
  /** As the header has them, names included. */
  readonly from: string;
  readonly to: string;
  /** Whom it would have been brought to. */
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** Empty without one. */
  readonly html: string;
  readonly messageId: string;
  /** Names of all header fields, in lower case and in order. */
  readonly headerNames: readonly string[];
}

/** What becomes of the next mails. `hang`: it is taken, and nobody is told. */
export interface MailFault {
  readonly effect: { readonly code: number } | 'hang';
  readonly times: number;
}

export interface MailSink {
  readonly port: number;
  /** Oldest first. */
  mails(): SunkMail[];
  clear(): void;
  /** Replaces the faults that are left. */
  breakNext(fault: MailFault): void;
  close(): Promise<void>;
}

/** More is no play any more, and memory. */
const MAILS_MAX = 500;
const BYTES_MAX = 1_048_576;
const CLOSE_MS = 100;

/** A mail server that takes every mail and brings none anywhere; without TLS, with any password. Port 0 takes a free one. */
export async function startMailSink(host: string, port: number): Promise<MailSink> {
  let mails: SunkMail[] = [];
  let taken = 0;
  let fault: { effect: MailFault['effect']; times: number } = { effect: 'hang', times: 0 };

  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS'], size: BYTES_MAX, closeTimeout: CLOSE_MS, logger: false },
    disableReverseLookup: true,
    onAuth: ({ username }, _session, done) => done(null, { user: username ?? '' }),
    onData(stream, session, done) {
      parse(stream).then((mail) => {
        const broken = fault.times > 0 ? fault.effect : null;
        if (broken !== null) fault.times -= 1;
        if (broken !== null && broken !== 'hang') {
          return done(Object.assign(new Error('Not now'), { responseCode: broken.code }));
        }
        taken += 1;
        mails.push({
          ...{ id: taken, receivedAt: new Date().toISOString() },
          ...{ from: textOf(mail.from), to: textOf(mail.to), subject: mail.subject ?? '', text: mail.text ?? '' },
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          ...{ html: mail.html || '', messageId: mail.messageId ?? '' },
          headerNames: mail.headerLines.map(({ key }) => key),
        });
        mails = mails.slice(-MAILS_MAX);
        if (broken === null) done();
      }, done);
    },
  });
  // A client that breaks off is its own affair.
  server.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.server.address() as AddressInfo).port,
    mails: () => [...mails],
    clear() {
      mails = [];
    },
    breakNext({ effect, times }) {
      fault = { effect, times };
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Loaded with the first mail: most runs send none, and it takes longer than all else at the start. */
const parse = async (stream: Readable): Promise<ParsedMail> =>
  (await import('mailparser')).default.simpleParser(stream);

const textOf = (addresses: AddressObject | AddressObject[] | undefined): string =>
  [addresses ?? []]
    .flat()
    .map(({ text }) => text)
    .join(', ');
