import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { clusterOpenApi } from './openapi/openapi.js';
import {
  clusterPhaseMeanings,
  conditionReasonMeanings,
  conditionTypeMeanings,
  connectionPhaseMeanings,
  migrationPhaseMeanings,
  operationStateMeanings,
  renderStatusPage,
  serverPhaseMeanings,
  waitReasonMeanings,
} from './status-meanings.js';

const file = new URL('../../../../docs/status.md', import.meta.url);
const HOW = 'CORRAL_WRITE_DOCS=1 npm test -- contracts status';

describe('docs/status.md', () => {
  it(`has the meanings of the contracts; after changing them, run: ${HOW}`, () => {
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, renderStatusPage());

    expect(readFileSync(file, 'utf8')).toBe(renderStatusPage());
  });
});

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
}

describe('the OpenAPI document', () => {
  const { components } = clusterOpenApi('https://clusters.example.org') as {
    components: { schemas: Readonly<Record<string, Described>> };
  };
  const { schemas } = components;

  it.each<[string, Described | undefined, Readonly<Record<string, string>>]>([
    ['phase of a cluster', schemas.ClusterPhase, clusterPhaseMeanings],
    ['migration phase', schemas.MigrationPhase, migrationPhaseMeanings],
    ['phase of a connection', schemas.ConnectionPhase, connectionPhaseMeanings],
    ['phase of a server', schemas.ServerPhase, serverPhaseMeanings],
    ['state of an operation', schemas.OperationState, operationStateMeanings],
    ['condition', schemas.Condition?.properties?.type, conditionTypeMeanings],
    ['reason of a condition', schemas.Condition?.properties?.reason, conditionReasonMeanings],
    ['reason to wait', schemas.OperationWaiting?.properties?.reason, waitReasonMeanings],
  ])('says what each %s means', (_what, described, meanings) => {
    for (const [word, meaning] of Object.entries(meanings)) {
      expect(described?.description).toContain(`\`${word}\`: ${meaning}`);
    }
  });
});
