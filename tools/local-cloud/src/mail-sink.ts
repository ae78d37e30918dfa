import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import type { AddressObject, ParsedMail } from 'mailparser';
import { SMTPServer } from 'smtp-server';

/** A received mail. It is not forwarded. */
export interface SunkMail {
  /** Starts at 1. */
  readonly id: number;
  /** The sender as in the header, with its display name. */
  readonly from: string;
  readonly to: string;
  /** Envelope recipients. */
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** Empty if the mail has no HTML part. */
  readonly html: string;
  readonly messageId: string;
  /** Names of all header fields, in lower case and original order. */
  readonly headerNames: readonly string[];
}

/** Fault for the next mails. `hang`: stores the mail but never answers. */
export interface MailFault {
  readonly effect: { readonly code: number } | 'hang';
  readonly times: number;
}

export type MailSink = Awaited<ReturnType<typeof startMailSink>>;

/** Limits that bound memory use. */
const MAILS_MAX = 500;
const BYTES_MAX = 1_048_576;
const CLOSE_MS = 100;

/** Accepts every mail and forwards none. No TLS; any password is valid. Port 0 selects a free port. */
export async function startMailSink(host: string, port: number) {
  let mails: SunkMail[] = [];
  let taken = 0;
  let fault: { effect: MailFault['effect']; times: number } = { effect: 'hang', times: 0 };

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    size: BYTES_MAX,
    closeTimeout: CLOSE_MS,
    logger: false,
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
          id: taken,
          from: textOf(mail.from),
          to: textOf(mail.to),
          subject: mail.subject ?? '',
          text: mail.text ?? '',
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          html: mail.html || '',
          messageId: mail.messageId ?? '',
          headerNames: mail.headerLines.map(({ key }) => key),
        });
        mails = mails.slice(-MAILS_MAX);
        if (broken === null) done();
      }, done);
    },
  });
  // Ignore errors of clients that disconnect.
  server.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.server.address() as AddressInfo).port,
    /** Oldest first. */
    mails: (): SunkMail[] => [...mails],
    clear(): void {
      mails = [];
    },
    /** Replaces the remaining faults. */
    breakNext({ effect, times }: MailFault): void {
      fault = { effect, times };
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Loaded with the first mail: most runs receive none, and loading it dominates the start time. */
const parse = async (stream: Readable): Promise<ParsedMail> =>
  (await import('mailparser')).default.simpleParser(stream);

const textOf = (addresses: AddressObject | AddressObject[] | undefined): string =>
  [addresses ?? []]
    .flat()
    .map(({ text }) => text)
    .join(', ');
