import type { AnswerHeaders } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { denialSentence } from './admission.js';
import { type Access, classify } from './classify.js';
import { parseStatus } from './status.js';

const aStatus = (code: number, reason: string, message: string, details: object = {}, metadata: object = {}) =>
  parseStatus({ kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure', message, reason, details, code });

const aShoot = { name: 'web', group: 'core.gardener.cloud', kind: 'shoots' };

describe('error kind of a failed call', () => {
  const forbids = 'shoots.core.gardener.cloud "web" is forbidden:';
  const fails = 'Internal error occurred:';
  it.each<[number, string, string, object?]>([
    [400, 'strict decoding error: unknown field "spec.x"', 'refused'],
    [401, 'Unauthorized', 'credentials'],
    [401, 'admission webhook "own.example.org" denied the request: sign first', 'refused'],
    [403, `${forbids} User "system:serviceaccount:a:b" cannot patch resource "shoots" in API group "x"`, 'rbac'],
    [403, 'forbidden: User "system:anonymous" cannot get path "/readyz"', 'rbac'],
    [403, 'x "c" is forbidden: CredentialsBinding cannot reference a Secret you are not allowed to read', 'rbac'],
    [403, `${forbids} you are not allowed to both confirm the deletion and send the actual DELETE request`, 'rbac'],
    [403, 'projects "a" is forbidden: user "b" is not allowed to manage-members for "projects"', 'rbac'],
    [403, `${forbids} [spec.kubernetes.version: Unsupported value: "1.2.3"]`, 'refused'],
    [403, `${forbids} quota limits exceeded. Unable to allocate further cpu`, 'quota_exceeded'],
    [403, 'secrets "c" is forbidden: exceeded quota: gardener, requested: count/secrets=1', 'quota_exceeded'],
    [403, `${forbids} credentialsbinding.security.gardener.cloud "conn-1" not found`, 'stale_reference'],
    [403, `${forbids} not yet ready to handle request`, 'server_error'],
    [404, 'shoots.core.gardener.cloud "web" not found', 'not_found', aShoot],
    [404, 'namespaces "garden-a" not found', 'not_found', { name: 'garden-a', kind: 'namespaces' }],
    [404, 'the server could not find the requested resource', 'unusable'],
    [405, 'the server does not allow this method', 'unusable'],
    [406, 'only the following media types are accepted', 'unusable'],
    [415, 'the body of the request was in an unknown format', 'unusable'],
    [409, 'Operation cannot be fulfilled: the object has been modified', 'conflict', aShoot],
    [410, 'too old resource version: 1 (2)', 'expired'],
    [413, 'Request entity too large', 'refused'],
    [422, 'Shoot.core.gardener.cloud "web" is invalid: spec.region: Required value', 'refused', aShoot],
    [422, `${forbids} ValidatingAdmissionPolicy 'a' with binding 'b' denied request: at most 5 nodes`, 'refused'],
    [429, 'too many requests', 'throttled'],
    [429, 'admission webhook "a" denied the request without explanation', 'refused'],
    [
      500,
      'failed to create typed patch object (a/web; b/v1, Kind=Shoot): .spec.foo: field not declared in schema',
      'refused',
    ],
    [500, `${fails} could not find referenced credentials binding: not found`, 'stale_reference'],
    [500, `${fails} failed calling webhook "own.example.org": failed to call webhook: Post "x"`, 'webhook_unavailable'],
  ])('answer %i %s is classified as %s', (code, message, kind, details = {}) => {
    const status = aStatus(code, 'Any', message, details);

    expect(classify(code, status, {}, 'read').kind).toBe(kind);
    expect(classify(code, status, {}, 'write').kind).toBe(kind);
  });

  it('409 AlreadyExists is classified as exists', () => {
    expect(classify(409, aStatus(409, 'AlreadyExists', 'already exists', aShoot), {}, 'write').kind).toBe('exists');
  });

  it.each([500, 502, 503, 504])('answer %i is a server error of a read, and leaves a write uncertain', (code) => {
    for (const status of [aStatus(code, 'Any', 'etcd has no leader'), null]) {
      expect(classify(code, status, {}, 'read').kind).toBe('server_error');
      expect(classify(code, status, {}, 'write').kind).toBe('uncertain');
    }
  });

  it.each([
    [301, 'unusable'],
    [400, 'unusable'],
    [401, 'credentials'],
    [403, 'unusable'],
    [404, 'unusable'],
    [409, 'unusable'],
    [429, 'throttled'],
  ])('classifies %i without a Status, which a proxy may have sent', (code, kind) => {
    expect(classify(code, null, {}, 'read').kind).toBe(kind);
    expect(classify(code, null, {}, 'write').kind).toBe(kind);
  });
});

describe('conflict about the uid precondition', () => {
  const uidCause = { reason: 'FieldValueInvalid', field: 'metadata.uid', message: 'field is immutable' };

  it.each<[number, string, object?]>([
    [409, 'Operation cannot be fulfilled: Precondition failed: UID in precondition: a, UID in object meta: b'],
    [409, 'Operation cannot be fulfilled: the UID in the precondition (a) does not match the UID in record (b)'],
    [409, 'Operation cannot be fulfilled: uid mismatch: the provided object specified uid a, and no object was found'],
    [422, 'Shoot "web" is invalid: metadata.uid: Invalid value: "a": field is immutable', { causes: [uidCause] }],
  ])('is recognised: %i %s', (code, message, details = {}) => {
    const { kind, details: said } = classify(code, aStatus(code, 'Any', message, details), {}, 'write');

    expect([kind, said.uidMismatch]).toEqual(['conflict', true]);
  });

  it('is not confused with other conflicts', () => {
    const status = aStatus(409, 'Conflict', 'Operation cannot be fulfilled: the object has been modified', aShoot);

    expect(classify(409, status, {}, 'write').details.uidMismatch).toBe(false);
  });
});

describe('error details', () => {
  it('name each field and its fault for 422', () => {
    const causes = [
      { reason: 'FieldValueInvalid', field: 'spec.region', message: 'Invalid value: "x": field is immutable' },
      { reason: 'FieldValueForbidden', message: 'no field' },
    ];
    const message = 'Shoot.core.gardener.cloud "web" is invalid: [spec.region: …]';

    const { details } = classify(422, aStatus(422, 'Invalid', message, { causes }), {}, 'write');

    expect(details).toMatchObject({
      status: 422,
      reason: 'Invalid',
      fields: [{ field: 'spec.region', message: 'Invalid value: "x": field is immutable' }],
      sentences: ['spec.region: Invalid value: "x": field is immutable', 'no field'],
    });
  });

  it.each([
    ['shoots.core.gardener.cloud "web" is forbidden: one reason', 'one reason'],
    [
      'shoots.core.gardener.cloud "web" is forbidden: [a: Required value, b: Required value]',
      'a: Required value, b: Required value',
    ],
    [
      'admission webhook "validator.hcloud" denied the request: minimum value must be >= 1',
      'minimum value must be >= 1',
    ],
    ['shoots.core.gardener.cloud "web" is forbidden: admission webhook "v" denied the request: no', 'no'],
  ])('contain only the bare reason for %s', (message, sentence) => {
    expect(classify(403, aStatus(403, 'Forbidden', message), {}, 'write').details.sentences).toEqual([sentence]);
  });

  it('name each field and its fault when validators of Gardener refuse with 403', () => {
    const region = 'Unsupported value: "x": supported values: "fsn1", "nbg1"';
    const message = `shoots.core.gardener.cloud "web" is forbidden: [spec.region: ${region}, spec.provider.workers[0].zones[0]: Invalid value: "x": no]`;

    const { details } = classify(403, aStatus(403, 'Forbidden', message), {}, 'write');

    expect(details).toMatchObject({
      fields: [
        { field: 'spec.region', message: region },
        { field: 'spec.provider.workers[0].zones[0]', message: 'Invalid value: "x": no' },
      ],
      sentences: [`spec.region: ${region}`, 'spec.provider.workers[0].zones[0]: Invalid value: "x": no'],
    });
  });

  it('have the words of a policy or webhook of operators, in one line, and the fields that they name', () => {
    const why = `ValidatingAdmissionPolicy 'small' with binding 'all' denied request: spec.provider.workers[0].maximum: at most 5,\n\task \u0000ops`;
    const message = `shoots.core.gardener.cloud "web" is forbidden: ${why}`;

    const { details } = classify(422, aStatus(422, 'Invalid', message, { causes: [{ message: why }] }), {}, 'write');

    const words = 'spec.provider.workers[0].maximum: at most 5, ask ops';
    expect(details).toMatchObject({
      denial: { by: 'small', words },
      fields: [{ field: 'spec.provider.workers[0].maximum', message: 'at most 5, ask ops' }],
      sentences: [words],
    });
  });

  it.each([
    [
      'a webhook of Gardener',
      'admission webhook "validation.hcloud.provider.extensions.gardener.cloud" denied the request: no',
    ],
    [
      'a validator',
      'shoots.core.gardener.cloud "web" is forbidden: spec.purpose: admission webhook "a" denied the request: no',
    ],
  ])('have no words of %s', (_whose, message) => {
    expect(classify(403, aStatus(403, 'Forbidden', message), {}, 'write').details.denial).toBeNull();
  });

  it('name the webhook that does not answer', () => {
    const message = 'Internal error occurred: failed calling webhook "own.example.org": context deadline exceeded';

    expect(classify(500, aStatus(500, 'InternalError', message), {}, 'write').details.webhook).toBe('own.example.org');
  });

  it('name the field that the garden does not know when an apply fails with 500', () => {
    const message = (path: string) =>
      `failed to create typed patch object (garden-a/web; core.gardener.cloud/v1beta1, Kind=Shoot): ${path}: field not declared in schema`;
    const fieldOf = (path: string) =>
      classify(500, aStatus(500, '', message(path)), {}, 'write').details.fields?.map(({ field }) => field);

    expect(fieldOf('.spec.maintenance.foo')).toEqual(['spec.maintenance.foo']);
    expect(fieldOf('.spec.provider.workers[name="p1"].foo')).toEqual(['spec.provider.workers[name="p1"].foo']);
  });

  it('have a bounded length however long the answer is', () => {
    const causes = Array.from({ length: 500 }, (_, n) => ({ reason: 'R', field: `f${n}`, message: 'x'.repeat(5_000) }));

    const { details } = classify(422, aStatus(422, 'Invalid', 'y'.repeat(100_000), { causes }), {}, 'write');

    expect(JSON.stringify(details).length).toBeLessThan(30_000);
  });

  it('can be stored when the bound is within a character', () => {
    const causes = [{ reason: 'R', field: 'spec.x', message: `${'x'.repeat(494)}${'\u{1f600}'.repeat(9)}` }];

    const { details } = classify(422, aStatus(422, 'Invalid', 'no', { causes }), {}, 'write');

    // A half of a pair is escaped.
    expect(JSON.stringify(details)).toContain('\u{1f600}…');
    expect(JSON.stringify(details)).not.toContain('\\ud83d');
  });

  it('name the owner of each field for a conflict of an apply', () => {
    const causes = [
      {
        reason: 'FieldManagerConflict',
        field: '.spec.kubernetes.version',
        message: 'conflict with "gardener-controller-manager" using core.gardener.cloud/v1beta1',
      },
      {
        reason: 'FieldManagerConflict',
        field: '.spec.provider.workers[name="p12345"].maximum',
        message:
          'conflict with "dashboard" with subresource "x" using core.gardener.cloud/v1beta1 at 2026-08-01T10:00:00Z',
      },
      { reason: 'FieldManagerConflict', field: '.spec.region', message: 'words of tomorrow' },
    ];

    const { details } = classify(
      409,
      aStatus(409, 'Conflict', 'Apply failed with 3 conflicts', { causes }),
      {},
      'write',
    );

    expect(details.causes).toEqual([
      { field: '.spec.kubernetes.version', manager: 'gardener-controller-manager' },
      { field: '.spec.provider.workers[name="p12345"].maximum', manager: 'dashboard' },
      { field: '.spec.region', manager: null },
    ]);
  });

  it('contain no reason in an unknown format, because reasons are logged', () => {
    expect(classify(500, aStatus(500, 'Bearer abc', 'm'), {}, 'read').details.reason).toBe('Unknown');
  });
});

describe('retry delay', () => {
  const date = 'Sat, 01 Aug 2026 10:00:00 GMT';

  it.each<[string, number, AnswerHeaders, object, number | null]>([
    ['the header in seconds', 429, { 'retry-after': '7' }, { retryAfterSeconds: 3 }, 7],
    [
      'the header as a date, by the clock of the garden',
      429,
      { 'retry-after': 'Sat, 01 Aug 2026 10:00:30 GMT', date },
      {},
      30,
    ],
    ['a past date', 429, { 'retry-after': 'Sat, 01 Aug 2026 09:00:00 GMT', date }, {}, 0],
    ['the details', 429, {}, { retryAfterSeconds: 3 }, 3],
    ['the details when the header is invalid', 429, { 'retry-after': 'soon' }, { retryAfterSeconds: 3 }, 3],
    ['the default of a second when a 429 states none', 429, {}, {}, 1],
    ['the header of a 503', 503, { 'retry-after': '20' }, {}, 20],
    ['null when the answer states none', 503, {}, {}, null],
  ])('is %s', (_what, code, headers, details, seconds) => {
    const access: Access = 'read';

    expect(classify(code, aStatus(code, 'Any', 'm', details), headers, access).details.retryAfterSeconds).toBe(seconds);
  });
});

describe('parsing of a Status', () => {
  it('accepts a Status with parts of unexpected types', () => {
    const odd = {
      kind: 'Status',
      code: '403',
      reason: 5,
      message: {},
      details: { causes: 'x', name: 1 },
      metadata: [],
    };

    expect(parseStatus(odd)).toEqual({
      code: null,
      reason: 'Unknown',
      message: '',
      details: { name: null, kind: null, retryAfterSeconds: null },
      causes: [],
      continueToken: null,
    });
  });
});

describe('the sentence about a refusal by a policy', () => {
  it.each([
    ['At most 5 nodes.', 'The policy small of the garden refuses the kubeconfig: At most 5 nodes.'],
    ['at most 5 nodes', 'The policy small of the garden refuses the kubeconfig: at most 5 nodes.'],
    ['', 'The policy small of the garden refuses the kubeconfig.'],
  ])('has its words, if it has any: %j', (words, sentence) => {
    expect(denialSentence({ by: 'small', words }, 'the kubeconfig')).toBe(sentence);
  });

  it('says whose policy it is', () => {
    const sentence = denialSentence({ by: 'small', words: 'no' }, 'work on the node', 'cluster');
    expect(sentence).toBe('The policy small of the cluster refuses work on the node: no.');
  });
});
