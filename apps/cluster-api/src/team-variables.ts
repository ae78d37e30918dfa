import { flag, refuseValue, url, variable } from '@corral/service';

const SECRET_CHARACTERS_MIN = 16;

/** What teams, their mails and their subscriptions are configured by. */
export const teamVariables = {
  CONSOLE_URL: url({
    default: undefined,
    desc: 'URL of the web console, used for links in responses. Without it, links point to this API.',
    example: 'https://console.example.org',
  }),
  BILLING_WEBHOOK_SECRETS: variable<readonly string[]>(
    {
      ...{ default: [] },
      desc: 'Comma-separated signing secrets of the billing webhook. Set two while you rotate them. Without a secret the webhook is off.',
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
    desc: 'Require an active subscription to start a cluster. Running clusters are not affected.',
  }),
};
