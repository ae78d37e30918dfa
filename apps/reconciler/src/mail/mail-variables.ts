import { durationMs, refuseValue, url, variable } from '@corral/service';

const sendsMail = ({ SMTP_URL }: Record<string, unknown>): boolean => SMTP_URL !== undefined;
const namesApi = ({ CONSOLE_URL, ...config }: Record<string, unknown>): boolean =>
  sendsMail(config) && CONSOLE_URL === undefined;

/** What mails are configured by. Without a mail server invitations are made, and only those who sign in see them. */
export const mailVariables = {
  SMTP_URL: url({
    default: undefined,
    protocols: ['smtp', 'smtps'],
    desc: 'URL of the mail server, with user and password if required. Without it, no mail is sent.',
    example: 'smtps://corral:password@mail.example.org',
  }),
  MAIL_FROM: variable<string | undefined>(
    {
      ...{ default: undefined, requiredWhen: sendsMail, example: 'Corral <corral@example.org>' },
      desc: 'Sender of mails.',
    },
    { type: 'text', expected: 'an address, or a name and an address in angle brackets', hidden: false },
    (input) => {
      const isSender = /^([^<>"\p{Cc}]*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/u.test(input);
      return isSender ? input : refuseValue('is not a valid sender');
    },
  ),
  CONSOLE_URL: url({
    default: undefined,
    desc: 'URL of the web console, used for links in mails. Without it, mails explain how to use the API.',
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
