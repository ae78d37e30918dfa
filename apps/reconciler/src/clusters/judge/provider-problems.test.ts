import { type ClusterErrorCode, operationErrorCodes, serverErrorCodes } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aDesired, aPool } from '../../../test/support/a-cluster.js';
import { problemOf, sentenceFor } from './provider-problems.js';

describe('a failure with a Gardener error code', () => {
  it.each([
    ['ERR_INFRA_UNAUTHENTICATED', 'provider_token_rejected', true],
    ['ERR_INFRA_UNAUTHORIZED', 'provider_permission_denied', true],
    ['ERR_INFRA_QUOTA_EXCEEDED', 'provider_quota_exceeded', true],
    ['ERR_INFRA_RATE_LIMITS_EXCEEDED', 'provider_rate_limited', false],
    ['ERR_INFRA_DEPENDENCIES', 'provider_dependency', true],
    ['ERR_RETRYABLE_INFRA_DEPENDENCIES', 'provider_dependency', false],
    ['ERR_INFRA_RESOURCES_DEPLETED', 'provider_capacity', false],
    ['ERR_CLEANUP_CLUSTER_RESOURCES', 'cleanup_blocked', false],
    ['ERR_CONFIGURATION_PROBLEM', 'configuration_problem', true],
    ['ERR_RETRYABLE_CONFIGURATION_PROBLEM', 'configuration_problem', false],
    ['ERR_PROBLEMATIC_WEBHOOK', 'webhook_blocks', true],
  ])('%s is classified as %s', (code, expected, needsUser) => {
    expect(problemOf([code], 'rate_limit_exceeded')).toMatchObject({ code: expected, needsUser });
  });

  it('uses the most specific of several codes', () => {
    const codes = ['ERR_CLEANUP_CLUSTER_RESOURCES', 'ERR_INFRA_UNAUTHENTICATED'];

    expect(problemOf(codes, '').code).toBe('provider_token_rejected');
  });
});

describe('a failure without a code', () => {
  it.each([
    ['could not create server: error during placement (resource_unavailable, 8be1)', 'provider_capacity'],
    ['server type cpx31 is currently unavailable in hel1', 'provider_capacity'],
    ['hcloud: unable to authenticate (unauthorized)', 'provider_token_rejected'],
    ['hcloud: token is read-only (token_readonly)', 'provider_permission_denied'],
    ['insufficient permissions for this request (forbidden)', 'provider_permission_denied'],
    ['server limit reached (resource_limit_exceeded)', 'provider_quota_exceeded'],
    ['core limit exceeded', 'provider_quota_exceeded'],
    ['limit of 3600 requests per hour reached (rate_limit_exceeded)', 'provider_rate_limited'],
    ['server type "cx11" does not exist', 'configuration_problem'],
    ['unsupported location for server type', 'configuration_problem'],
    ['image "ubuntu-18.04" not found', 'configuration_problem'],
    ['network is still in use by server 4711', 'provider_dependency'],
    ['SSH key not unique (uniqueness_error)', 'provider_dependency'],
    ['context deadline exceeded', 'internal_error'],
    ['', 'internal_error'],
  ])('"%s" is classified as %s', (description, code) => {
    expect(problemOf([], description).code).toBe(code);
  });

  it('is classified by its text when its code is unknown', () => {
    expect(problemOf(['ERR_NEW'], 'resource_unavailable').code).toBe('provider_capacity');
  });
});

describe('the message for a team', () => {
  const codes = Object.keys(operationErrorCodes).filter((code) => !(code in serverErrorCodes));

  it.each(codes as ClusterErrorCode[])('for %s is a sentence', (code) => {
    expect(sentenceFor(code, aDesired())).toMatch(/^[A-Z].*\.$/);
  });

  it('names pools by the team’s names', () => {
    const desired = aDesired({
      pools: [aPool(), aPool({ name: 'gpu', workerName: 'p9' }), aPool({ workerName: 'p8' })],
    });

    expect(sentenceFor('provider_capacity', desired, ['p9'])).toMatch(/ Concerned: node pool gpu\.$/);
    expect(sentenceFor('provider_capacity', desired, ['p1a2b3', 'p9'])).toMatch(
      / Concerned: node pools general, gpu\.$/,
    );
  });
});
