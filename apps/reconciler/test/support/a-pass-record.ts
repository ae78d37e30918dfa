import type { Learned } from '../../src/clusters/decide/shoot-runs.js';
import type { Verdict } from '../../src/clusters/model.js';
import type { PassRecord } from '../../src/clusters/record.js';
import type { TestCluster } from './cluster-rows.js';

const HOUR_MS = 3_600_000;

const aVerdict: Verdict = {
  phase: 'Provisioning',
  conditions: [],
  seedName: null,
  migrationPhase: null,
  observed: null,
  observedGeneration: 0,
  operation: { to: 'running', progress: 10 },
  waiting: null,
  nextPassMs: HOUR_MS,
};

export const aRecord = (
  cluster: TestCluster,
  more: Partial<PassRecord> & { says?: Partial<Verdict> } = {},
): PassRecord => {
  const { says, ...rest } = more;
  return {
    verdict: { ...aVerdict, ...says },
    generation: 1,
    operationId: cluster.operationId,
    learned: null,
    observedHash: 'h1',
    failures: 0,
    ...rest,
  };
};

export const aLearned: Learned = {
  shootUid: 'u',
  appliedGeneration: 1,
  appliedShootGeneration: 1,
  appliedAt: new Date(),
  appliedTokenVersion: 1,
  retriedGeneration: 0,
};
