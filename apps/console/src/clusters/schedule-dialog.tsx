import type { FieldProblem } from '@corral/client';
import {
  type Cluster,
  type ClusterSpec,
  type HibernationSchedule,
  scheduleDefaults,
  type Weekday,
  weekdayNames,
} from '@corral/contracts';
import { Button, Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import styles from '../cluster-form/plan.module.css';
import { FormRow } from '../ui/api-form.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';

type Hours = HibernationSchedule['awake'][number];
type Exception = HibernationSchedule['exceptions'][number];

const browserZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
const officeHours: Hours = { weekdays: weekdayNames.slice(0, 5), from: '07:00', until: '19:00' };

/** The fields of a schedule above the plan of what they do. A schedule without hours ends. */
export function ScheduleDialog({ cluster, onClose }: { readonly cluster: Cluster; readonly onClose: () => void }) {
  const spec = cluster.spec as ClusterSpec;
  const { name } = cluster.metadata;
  const [draft, setDraft] = useState<HibernationSchedule>(
    spec.hibernationSchedule ?? { ...scheduleDefaults, timeZone: browserZone(), awake: [officeHours] },
  );
  return (
    <PlannedChangeDialog
      cluster={cluster}
      spec={{ ...spec, hibernationSchedule: draft }}
      action={`Change the schedule of ${name}`}
      onClose={onClose}
      fields={(problems) => <ScheduleFields draft={draft} onDraft={setDraft} problems={problems} />}
    />
  );
}

interface ScheduleFieldsProps {
  readonly draft: HibernationSchedule;
  readonly onDraft: (draft: HibernationSchedule) => void;
  readonly problems: readonly FieldProblem[];
}

function ScheduleFields({ draft, onDraft, problems }: ScheduleFieldsProps) {
  const { timeZone, awake, exceptions } = draft;
  const errorAt = (place: string) =>
    problems.find(({ pointer }) => pointer === `/spec/hibernationSchedule/${place}`)?.message ?? null;
  const setHours = (index: number, hours: Partial<Hours>) =>
    onDraft({ ...draft, awake: awake.with(index, { ...(awake[index] as Hours), ...hours }) });
  const setException = (index: number, exception: Exception) =>
    onDraft({ ...draft, exceptions: exceptions.with(index, exception) });
  return (
    <>
      <NativeSelect
        label="Time zone"
        value={timeZone}
        onChange={(event) => onDraft({ ...draft, timeZone: event.currentTarget.value })}
        data={[...new Set([browserZone(), timeZone, 'UTC', ...Intl.supportedValuesOf('timeZone')])]}
        error={errorAt('timeZone')}
      />
      {awake.map((hours, index) => (
        <fieldset key={index} className={styles.fields}>
          <legend>Awake</legend>
          <Checkbox.Group
            label={`Weekdays of hours ${index + 1}`}
            value={hours.weekdays}
            onChange={(chosen) => setHours(index, { weekdays: weekdayNames.filter((day) => chosen.includes(day)) })}
            error={errorAt(`awake/${index}/weekdays`)}
          >
            <Group>
              {weekdayNames.map((day) => (
                <Checkbox key={day} value={day} label={shortDay(day)} />
              ))}
            </Group>
          </Checkbox.Group>
          <TimesRow
            times={hours}
            onTimes={(times) => setHours(index, times)}
            errorAt={(field) => errorAt(`awake/${index}/${field}`)}
            removal={`Remove hours ${index + 1}`}
            onRemove={() => onDraft({ ...draft, awake: awake.toSpliced(index, 1) })}
          />
        </fieldset>
      ))}
      {exceptions.map(({ date, ...times }, index) => (
        <fieldset key={index} className={styles.fields}>
          <legend>Exception</legend>
          <TextInput
            label={`Date of exception ${index + 1}`}
            type="date"
            value={date}
            onChange={(event) => setException(index, { ...times, date: event.currentTarget.value })}
            error={errorAt(`exceptions/${index}/date`)}
          />
          <TimesRow
            times={times}
            onTimes={({ from, until }) =>
              setException(index, { date, ...(from === '' ? {} : { from }), ...(until === '' ? {} : { until }) })
            }
            errorAt={(field) => errorAt(`exceptions/${index}/${field}`)}
            hint="Without hours, it sleeps all day."
            removal={`Remove exception ${index + 1}`}
            onRemove={() => onDraft({ ...draft, exceptions: exceptions.toSpliced(index, 1) })}
          />
        </fieldset>
      ))}
      <Group>
        <Button onClick={() => onDraft({ ...draft, awake: [...awake, officeHours] })}>Add hours</Button>
        <Button onClick={() => onDraft({ ...draft, exceptions: [...exceptions, { date: today() }] })}>
          Add a date
        </Button>
      </Group>
      {awake.length === 0 && <p className="muted">Without hours, the schedule ends: the cluster stays as it is.</p>}
    </>
  );
}

interface TimesRowProps {
  readonly times: { readonly from?: string; readonly until?: string };
  readonly onTimes: (times: { readonly from: string; readonly until: string }) => void;
  readonly errorAt: (field: 'from' | 'until') => string | null;
  readonly hint?: string;
  /** What the button that removes them is called. */
  readonly removal: string;
  readonly onRemove: () => void;
}

/** Texts rather than fields of a time, which do not know 24:00. */
function TimesRow({ times: { from = '', until = '' }, onTimes, errorAt, hint, removal, onRemove }: TimesRowProps) {
  return (
    <FormRow>
      <TextInput
        label="From"
        placeholder="07:00"
        value={from}
        onChange={(event) => onTimes({ from: event.currentTarget.value, until })}
        error={errorAt('from')}
      />
      <TextInput
        label="Until"
        placeholder="19:00"
        description={hint}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={until}
        onChange={(event) => onTimes({ from, until: event.currentTarget.value })}
        error={errorAt('until')}
      />
      <Button onClick={onRemove} aria-label={removal}>
        Remove
      </Button>
    </FormRow>
  );
}

const shortDay = (day: Weekday): string => `${day.charAt(0).toUpperCase()}${day.slice(1, 3)}`;
const today = (): string => new Date().toISOString().slice(0, 10);
