import { durationMs, refuseValue, url, variable } from '@corral/service';

const sendsMail = ({ SMTP_URL }: Record<string, unknown>): boolean => SMTP_URL !== undefined;
const namesApi = ({ CONSOLE_URL, ...config }: Record<string, unknown>): boolean =>
  sendsMail(config) && CONSOLE_URL === undefined;

/** What mails are configured by. Without a mail server invitations are made, and only those who sign in see them. */
export const mailVariables = {
  SMTP_URL: url({
    default: undefined,
    protocols: ['smtp', 'smtps'],
    desc: 'Mail server, with user and password if it wants them. Without it no mail is sent from here.',
    example: 'smtps://corral:password@mail.example.org',
  }),
  MAIL_FROM: variable<string | undefined>(
    {
      ...{ default: undefined, requiredWhen: sendsMail, example: 'Corral <corral@example.org>' },
      desc: 'Whom mails come from.',
    },
    { type: 'text', expected: 'an address, or a name and an address in angle brackets', hidden: false },
    (input) => {
      const isSender = /^([^<>"\p{Cc}]*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/u.test(input);
      return isSender ? input : refuseValue('is no sender');
    },
  ),
  CONSOLE_URL: url({
    default: undefined,
    desc: 'Where people find the console; links in mails begin with it. Without one mails say how to use the API.',
    example: 'https://console.example.org',
  }),
  CLUSTER_API_URL: url({
    default: undefined,
    requiredWhen: namesApi,
    desc: 'Where people reach the cluster API, as in its PUBLIC_URL, for mails without CONSOLE_URL.',
    example: 'https://clusters.example.org',
  }),
  MAIL_TIMEOUT_MS: durationMs({
    desc: 'How long the mail server may take for each step.',
    min: 100,
    max: 60_000,
    default: 20_000,
  }),
  MAIL_INTERVAL_MS: durationMs({
    desc: 'How often mails are looked for that are due and whose wake-up was lost.',
    min: 100,
    default: 10_000,
  }),
};
