import { flag, refuseValue, url, variable } from '@corral/service';

const SECRET_CHARACTERS_MIN = 16;

/** What teams, their mails and their subscriptions are configured by. */
export const teamVariables = {
  CONSOLE_URL: url({
    default: undefined,
    desc: 'Where people find the console; links in answers begin with it. Without one they lead to this API.',
    example: 'https://console.example.org',
  }),
  BILLING_WEBHOOK_SECRETS: variable<readonly string[]>(
    {
      ...{ default: [] },
      desc: 'Secrets that the billing system may sign with, by commas: two while they are exchanged. None: no webhook.',
    },
    { type: 'secrets', expected: `secrets of at least ${SECRET_CHARACTERS_MIN} characters`, hidden: true },
    (input) => {
      const secrets = input.split(',').map((secret) => secret.trim());
      if (secrets.some(({ length }) => length < SECRET_CHARACTERS_MIN)) refuseValue('has a secret that is too short');
      return secrets;
    },
  ),
  SUBSCRIPTION_REQUIRED: flag({
    default: false,
    desc: 'Whether a team needs an active subscription to start a cluster. Those that run go on without one.',
  }),
};
