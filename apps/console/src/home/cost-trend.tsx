import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { usageQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { moneyRange } from '../ui/money.js';
import { dayOf } from '../ui/relative-time.js';
import { earlierCost } from './earlier-cost.js';

const DAYS = 30;
const DAY_MS = 86_400_000;

/** What the clusters cost up to a month ago. Nothing without a record, as the page is complete without it. */
export function CostTrend() {
  const { slug: team } = useTeam();
  const usage = useQuery(
    usageQuery(team, 'cost trend', () => ({ step: 'day', from: new Date(Date.now() - DAYS * DAY_MS).toISOString() })),
  );
  const earlier = earlierCost(usage.data?.points ?? []);
  if (earlier === null) return null;
  return (
    <div className="muted">
      <span className="numeric">
        {dayOf(Date.parse(earlier.from))}: {moneyRange(earlier.cost, earlier.cost.currency)}.
      </span>{' '}
      <Link to="/teams/$team/usage" params={{ team }} search={{ range: '30d' }}>
        Cost over time
      </Link>
    </div>
  );
}
