import { createTransport } from 'nodemailer';
import type { RenderedMail } from './render-invitation.js';

export interface MailServerOptions {
  /** `smtp://` (with STARTTLS where the server has it) or `smtps://`, with user and password if need be. */
  readonly url: string;
  /** Sender, with or without a name. */
  readonly from: string;
  /** How long the server may take for each step. */
  readonly timeoutMs: number;
}

/**
 * What became of a mail. `refused`: the server will not have it, now or later. `failed`: nobody knows, or not now.
 * `code` and `status` are the library's word and the server's number; its text may hold addresses, and stays out.
 */
export type Delivery =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'failed'; readonly code: string; readonly status: number | null };

export interface MailServer {
  /** Never rejects. */
  deliver(mail: RenderedMail): Promise<Delivery>;
}

/** The connection of a mail server is made with each mail: there are few. */
export function connectMailServer({ url, from, timeoutMs }: MailServerOptions): MailServer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    ...{ host: hostname.replace(/^\[|\]$/g, ''), secure, port: Number(port) || (secure ? 465 : 587) },
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    // A password goes over TLS or not at all; on this machine nobody listens.
    requireTLS: !secure && username !== '' && !isLoopback(hostname),
    ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs, dnsTimeout: timeoutMs },
    // A mail is what is rendered, and never the content of a file or an address.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  const domain = domainOf(from);
  return {
    async deliver({ to, messageKey, ...content }) {
      try {
        await transport.sendMail({
          ...content,
          from,
          // As an object it is one address, whatever is in it.
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
  // 535 and the like are about our password, not about the mail.
  const isAboutMail = status !== null && status >= 500 && code !== 'EAUTH';
  return { kind: isAboutMail ? 'refused' : 'failed', code: typeof code === 'string' ? code : 'unknown', status };
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || host.startsWith('127.');

/** Of `Corral <corral@example.org>` it is `example.org`. */
const domainOf = (from: string): string => /@([^\s<>@]+?)>?\s*$/.exec(from)?.[1] ?? 'localhost';
