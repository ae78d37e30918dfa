import { readConfig } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { mailVariables } from './mail-variables.js';

const enough = { SMTP_URL: 'smtp://mail.example.org', MAIL_FROM: 'corral@example.org' };

describe('whoever sends mail says where people accept', () => {
  it.each([
    ['with a console', { CONSOLE_URL: 'https://console.example.org' }],
    ['without one, with the API', { CLUSTER_API_URL: 'https://clusters.example.org', CONSOLE_URL: '' }],
  ])('%s', (_how, place) => {
    expect(() => readConfig(mailVariables, { ...enough, ...place })).not.toThrow();
  });

  it('or is told what is missing', () => {
    expect(() => readConfig(mailVariables, enough)).toThrow(/CLUSTER_API_URL is missing/);
  });

  it('and whoever sends none need not', () => {
    expect(() => readConfig(mailVariables, {})).not.toThrow();
  });
});
