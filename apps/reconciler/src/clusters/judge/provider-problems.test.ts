import { type ClusterErrorCode, operationErrorCodes, serverErrorCodes } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aDesired, aPool } from '../../../test/support/a-cluster.js';
import { problemOf, remainingIn, sentenceFor, workersIn } from './provider-problems.js';

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

describe('what a failure is about', () => {
  const workers = [
    { name: 'p1', machineType: 'cpx31' },
    { name: 'p2', machineType: 'cpx31' },
    { name: 'p3', machineType: 'cpx3' },
  ];

  it.each([
    ['machine shoot--t--c-p2-hel1-dc2-7d9f4: server type cpx31 is unavailable', ['p2']],
    ['server type "cpx31" is currently unavailable', ['p1', 'p2']],
    ['no more cpx3.', ['p3']],
    ['no capacity', []],
  ])('is the pools that it names, or else those of its machine type: %s', (description, names) => {
    expect(workersIn(description, workers)).toEqual(names);
  });

  it.each<[string, readonly string[], string, readonly string[]]>([
    [
      'of the cluster, without internals',
      ['ERR_CLEANUP_CLUSTER_RESOURCES'],
      '[*v1beta1.CustomResourceDefinition /installs.kyma.org apps/v1, Kind=Deployment web/shop]',
      ['CustomResourceDefinition installs.kyma.org', 'Deployment web/shop'],
    ],
    ['of the garden, which are none of the team', [], '[*v1alpha1.Machine shoot--t--c/m-1]', []],
    [
      'no more than five of them',
      ['ERR_CLEANUP_CLUSTER_RESOURCES'],
      `[${Array.from({ length: 9 }, (_, n) => `*v1.Namespace /n${n}`).join(' ')}]`,
      ['n0', 'n1', 'n2', 'n3', 'n4'].map((name) => `Namespace ${name}`),
    ],
  ])('is the objects that remain: %s', (_whose, codes, listed, names) => {
    const description = `task "Cleaning" failed: 1 error occurred: remaining objects are still present: ${listed}`;

    expect(remainingIn(codes, description)).toEqual(names);
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

    expect(sentenceFor('provider_capacity', desired, { workers: ['p9'] })).toBe(
      'The provider has no capacity left for a machine type in hel1. Concerned: node pool gpu (cpx31).',
    );
    expect(sentenceFor('provider_capacity', desired, { workers: ['p1a2b3', 'p9'] })).toMatch(
      / Concerned: node pools general \(cpx31\), gpu \(cpx31\)\.$/,
    );
  });

  it('names objects that a clean-up has left', () => {
    expect(sentenceFor('cleanup_blocked', aDesired(), { remaining: ['Namespace web', 'Deployment web/shop'] })).toBe(
      'Objects in the cluster cannot be deleted. Concerned: Namespace web, Deployment web/shop.',
    );
  });
});
