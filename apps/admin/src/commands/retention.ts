import { retentionLimits } from '@corral/contracts';
import { type Pool, type RetentionRule, retentionCount, retentionRules, sweepRetention } from '@corral/database';
import { silentLog } from '@corral/service';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import { readByPool, withPool } from '../owner-pool.js';
import { renderTable } from '../table.js';

interface RuleState extends Pick<RetentionRule, 'name' | 'table' | 'days'> {
  /** Rows that are due. */
  readonly due: number;
}

export function retentionCommand(withContext: WithContext): Command {
  const command = new Command('retention').description('show how long data is stored, and delete what is older');
  command
    .command('show')
    .description('list the rules with the number of rows that are due')
    .action(
      withContext(async (context) => {
        const rules = await readDue(context);
        context.print({ rules }, tableOf(rules));
      }),
    );
  command
    .command('run')
    .description('list what is due; with --yes, delete or shorten it now instead of with the next sweep')
    .option('--yes', 'act instead of listing what is due')
    .action(
      withContext(async (context, { yes }: { yes?: true }) => {
        if (yes !== true) {
          const rules = await readDue(context);
          context.print(
            { dryRun: true, rules },
            `${tableOf(rules)}\nNothing has changed. To apply the rules, add --yes.\n`,
          );
          return;
        }
        const swept = await sweepNow(context);
        const rows = Object.values(swept).reduce((sum, count) => sum + count, 0);
        context.print({ dryRun: false, swept }, `Rows deleted or shortened: ${rows}.\n`);
      }),
    );
  return command;
}

const poolOptions = { purpose: 'retention', connectionsMax: 1, statementTimeoutMs: 600_000 } as const;

function readDue(context: AdminContext): Promise<RuleState[]> {
  return readByPool(context, poolOptions, async (pool: Pool) => {
    const states: RuleState[] = [];
    for (const rule of retentionRules(rulesOf(context))) {
      const { rows } = await pool.query<{ rows: number }>(retentionCount(rule), [rule.days]);
      states.push({ name: rule.name, table: rule.table, days: rule.days, due: rows[0]?.rows ?? 0 });
    }
    return states;
  });
}

function sweepNow(context: AdminContext) {
  const rules = retentionRules(rulesOf(context));
  const act = { team: null, action: 'retention.run', target: { kind: 'Database', name: '' } } as const;
  const onSwept = (rule: string, rows: number) => context.progress(`${rule}: ${rows} …\n`);
  return context.perform({ ...act, detail: rulesOf(context) }, () =>
    withPool(context, poolOptions, (pool) =>
      sweepRetention({ pool, rules, onSwept, log: silentLog })(new AbortController().signal),
    ),
  );
}

/** @throws OperatorError when the variable of the reconcilers has an impossible value */
function rulesOf({ io }: AdminContext): { auditDays: number } {
  const { auditDays, auditDaysMin, auditDaysMax } = retentionLimits;
  const text = io.env.AUDIT_RETENTION_DAYS?.trim() || String(auditDays);
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (days >= auditDaysMin && days <= auditDaysMax) return { auditDays: days };
  throw new OperatorError(`AUDIT_RETENTION_DAYS must be a whole number from ${auditDaysMin} to ${auditDaysMax}.`);
}

const tableOf = (rules: readonly RuleState[]): string =>
  renderTable(rules, {
    RULE: ({ name }) => name,
    TABLE: ({ table }) => table,
    DAYS: ({ days }) => Math.round(days * 100) / 100,
    DUE: ({ due }) => due,
  });
