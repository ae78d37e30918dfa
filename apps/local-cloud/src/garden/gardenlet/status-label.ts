import type { Condition, Shoot } from '../kinds/shoot/shoot.js';

const LABEL = 'shoot.gardener.cloud/status';

/** From worst to best. */
const ranks = ['unhealthy', 'unknown', 'progressing', 'healthy'] as const;
type Health = (typeof ranks)[number];

const worst = (all: readonly Health[]): Health => ranks.find((rank) => all.includes(rank)) ?? 'healthy';

const healthOf: Readonly<Record<Condition['status'], Health>> = {
  True: 'healthy',
  Progressing: 'progressing',
  Unknown: 'unknown',
  False: 'unhealthy',
};

const healthIf = (isWell: boolean): Health => (isWell ? 'healthy' : 'unhealthy');

/** The one word that Gardener sums a Shoot up with (`pkg/utils/gardener/shoot_status.go`): healthy unless something is known. */
function summaryOf({ lastOperation, lastErrors = [], conditions = [] }: Shoot['status']): Health {
  if (lastOperation === undefined) return 'healthy';
  const { type, state } = lastOperation;
  if ((type === 'Create' && state !== 'Succeeded') || type === 'Delete') return healthIf(lastErrors.length === 0);
  const isWell = state === 'Processing' ? lastErrors.length === 0 : state === 'Succeeded';
  return worst([...conditions.map(({ status }) => healthOf[status]), healthIf(isWell)]);
}

/** Keeps the label of a Shoot in step with its status. */
export function withStatusLabel(shoot: Shoot): Shoot {
  const { metadata, status } = shoot;
  const summary = summaryOf(status);
  if (metadata.labels?.[LABEL] === summary) return shoot;
  return { ...shoot, metadata: { ...metadata, labels: { ...metadata.labels, [LABEL]: summary } } };
}
