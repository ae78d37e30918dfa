import { consoleVariables, durationMs, refuseValue, url, variable } from '@corral/service';
import { createTransport } from 'nodemailer';
import type { RenderedMail } from './render-invitation.js';

interface MailServerOptions {
  /** `smtp://` (with STARTTLS if the server supports it) or `smtps://`, with user and password if required. */
  readonly url: string;
  /** Sender, with or without a display name. */
  readonly from: string;
  /** Timeout of each step in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * The outcome of a mail. `refused`: the server rejected it permanently. `failed`: the outcome is unknown, or the error is
 * temporary. `code` is the library's error code and `status` the server's. Their text may contain addresses and is dropped.
 */
export type Delivery =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'failed'; readonly code: string; readonly status: number | null };

export interface MailServer {
  /** Never rejects. */
  deliver(mail: RenderedMail): Promise<Delivery>;
}

/** Sends mails over a new connection each, since there are few. */
export function connectMailServer({ url, from, timeoutMs }: MailServerOptions): MailServer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    secure,
    port: Number(port) || (secure ? 465 : 587),
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    // A password requires TLS, except on the loopback interface.
    requireTLS: !secure && username !== '' && !isLoopback(hostname),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // A mail contains only what was rendered, never a file or a fetched URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = domainOf(from);
  return {
    async deliver({ to, messageKey, ...content }) {
      try {
        await transport.sendMail({
          ...content,
          from,
          // An object is a single address, whatever it contains.
          to: { name: '', address: to },
          messageId: `<${messageKey}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        return { kind: 'sent' };
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

function failureOf(error: unknown): Delivery {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  const status = typeof responseCode === 'number' ? responseCode : null;
  // 535 and similar codes are about our password, not about the mail.
  const isAboutMail = status !== null && status >= 500 && code !== 'EAUTH';
  return { kind: isAboutMail ? 'refused' : 'failed', code: typeof code === 'string' ? code : 'unknown', status };
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || host.startsWith('127.');

/** `example.org` for `Corral <corral@example.org>`. */
const domainOf = (from: string): string => /@([^\s<>@]+?)>?\s*$/.exec(from)?.[1] ?? 'localhost';

const sendsMail = ({ SMTP_URL }: Record<string, unknown>): boolean => SMTP_URL !== undefined;
const namesApi = ({ CONSOLE_URL, ...config }: Record<string, unknown>): boolean =>
  sendsMail(config) && CONSOLE_URL === undefined;

const mailFrom = {
  default: undefined,
  requiredWhen: sendsMail,
  example: 'Corral <corral@example.org>',
  desc: 'Sender of mails.',
};

/** Variables for mails. Without a mail server, invited people see invitations only after they sign in. */
export const mailVariables = {
  SMTP_URL: url({
    default: undefined,
    protocols: ['smtp', 'smtps'],
    desc: 'URL of the mail server, with user and password if required. Without it, no mail is sent.',
    example: 'smtps://corral:password@mail.example.org',
  }),
  MAIL_FROM: variable<string | undefined>(
    mailFrom,
    { type: 'text', expected: 'an address, or a name and an address in angle brackets', hidden: false },
    (input) => {
      const isSender = /^([^<>"\p{Cc}]*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/u.test(input);
      return isSender ? input : refuseValue('is not a valid sender');
    },
  ),
  ...consoleVariables,
  CONSOLE_URL: url({
    default: undefined,
    desc: 'URL of the web console, used for links in mails. Default: CLUSTER_API_URL with /console if CONSOLE_ENABLED; otherwise mails explain how to use the API.',
    example: 'https://console.example.org',
  }),
  CLUSTER_API_URL: url({
    default: undefined,
    requiredWhen: namesApi,
    desc: 'Public URL of the cluster API (its PUBLIC_URL), for mails when CONSOLE_URL is not set.',
    example: 'https://clusters.example.org',
  }),
  MAIL_TIMEOUT_MS: durationMs({
    desc: 'Timeout of each step of a mail delivery.',
    min: 100,
    max: 60_000,
    default: 20_000,
  }),
  MAIL_INTERVAL_MS: durationMs({
    desc: 'Interval at which the database is searched for due mails whose job was lost.',
    min: 100,
    default: 10_000,
  }),
};
