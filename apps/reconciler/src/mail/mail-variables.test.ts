import { readConfig } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { mailVariables } from './connect-mail-server.js';

const enough = { SMTP_URL: 'smtp://mail.example.org', MAIL_FROM: 'corral@example.org' };

describe('mail variables', () => {
  it.each([
    ['accept a mail server with a console', { CONSOLE_URL: 'https://console.example.org' }],
    [
      'accept a mail server with the API and no console',
      { CLUSTER_API_URL: 'https://clusters.example.org', CONSOLE_URL: '' },
    ],
  ])('%s', (_how, place) => {
    expect(() => readConfig(mailVariables, { ...enough, ...place })).not.toThrow();
  });

  it('require CLUSTER_API_URL for a mail server without a console', () => {
    expect(() => readConfig(mailVariables, enough)).toThrow(/CLUSTER_API_URL is missing/);
  });

  it('are all optional without a mail server', () => {
    expect(() => readConfig(mailVariables, {})).not.toThrow();
  });
});
