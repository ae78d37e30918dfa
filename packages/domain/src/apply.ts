import { hasSameLabels, hasSameRecords, isSame, type SetChange, type SetContent } from './plan.js';
import { type SetStep, stepsBetween } from './set-steps.js';

/*
 * Carries out a plan, set by set: record sets are no transaction. Repeating it is safe, since each set is read before it is
 * written; so a run that was interrupted anywhere is resumed by running it again.
 */

export type SetState = 'waiting' | 'writing' | 'written' | 'done' | 'refused' | 'unknown' | 'skipped';

export interface SetOutcome {
  readonly state: SetState;
  /** What the API says, or why it was skipped. */
  readonly detail?: string;
  /** Content of a skipped set now. Null when the set does not exist. */
  readonly found?: SetContent | null;
}

export type Outcomes = Readonly<Record<string, SetOutcome>>;

type SetId = Pick<SetChange, 'name' | 'type'>;

/** The DNS API, for one zone. Changes answer the number of the action to wait for, or null when they have taken effect. */
export interface SetApi {
  /** @returns null when the set does not exist */
  read(id: SetId): Promise<SetContent | null>;
  create(id: SetId, content: SetContent): Promise<number | null>;
  setRecords(id: SetId, records: SetContent['records']): Promise<number | null>;
  changeTtl(id: SetId, ttl: number | null): Promise<number | null>;
  changeLabels(id: SetId, labels: SetContent['labels']): Promise<number | null>;
  remove(id: SetId): Promise<number | null>;
  /** Waits until the action ends. @returns why it failed, or null */
  untilEnded(action: number): Promise<string | null>;
}

/** What a failed request means for the run. */
export type Failure =
  /** The API decided: repeating the request changes nothing. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** All requests have to wait. */
  | { readonly kind: 'wait'; readonly seconds: number; readonly detail: string }
  /** The request may have taken effect. */
  | { readonly kind: 'unknown'; readonly detail: string }
  /** The run cannot continue, for example because the session has ended. */
  | { readonly kind: 'stop'; readonly detail: string };

export interface ApplyOptions {
  readonly waves: readonly (readonly SetChange[])[];
  /** Outcomes of an earlier run: what is done stays so. */
  readonly outcomes: Outcomes;
  readonly api: SetApi;
  readonly classify: (error: unknown) => Failure;
  readonly onOutcome: (key: string, outcome: SetOutcome) => void;
  /** Pauses the run: sets that are being written end first. */
  readonly signal: AbortSignal;
  readonly sleep: (ms: number) => Promise<void>;
}

const AT_ONCE = 4;
const UNKNOWN_TRIES = 4;
const WAITS_MAX = 30;
const UNKNOWN_PAUSE_MS = 1_500;

const KEPT = 'Left as it is, because not everything before it was written.';
/** States that another run has to end. */
const isOpen: ReadonlySet<SetState | undefined> = new Set([undefined, 'waiting', 'unknown']);

/**
 * Nothing is removed unless every addition and change before it was written.
 *
 * @returns why the run ended early, or null. Never rejects
 */
export async function applyChanges(options: ApplyOptions): Promise<string | null> {
  const { waves, outcomes, signal, onOutcome } = options;
  const outcomeNow = new Map(Object.entries(outcomes));
  const note = (key: string, outcome: SetOutcome): void => {
    outcomeNow.set(key, outcome);
    onOutcome(key, outcome);
  };
  let stopped: string | null = null;
  const pace = pacer(options.sleep);
  const stateOf = ({ key }: SetChange) => outcomeNow.get(key)?.state;
  let isWritten = true;
  for (const [at, wave] of waves.entries()) {
    if (!isWritten && wave.some(({ to }) => to === null)) {
      const kept = waves.slice(at).flat();
      for (const change of kept) if (stateOf(change) !== 'done') note(change.key, { state: 'skipped', detail: KEPT });
      return null;
    }
    const left = wave.filter((change) => stateOf(change) !== 'done').values();
    const lane = async (): Promise<void> => {
      for (const change of left) {
        if (signal.aborted || stopped !== null) return;
        note(change.key, { state: 'writing' });
        const outcome = await applyOne(change, options, pace, (written) => note(change.key, written));
        if ('stop' in outcome) {
          stopped = outcome.stop;
          note(change.key, { state: 'waiting' });
        } else note(change.key, outcome);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    if (signal.aborted || stopped !== null) return stopped;
    // A later wave relies on this one: without the removal, a CNAME would be refused.
    if (wave !== waves.at(-1) && wave.some((change) => isOpen.has(stateOf(change)))) return null;
    isWritten &&= wave.every((change) => change.to === null || stateOf(change) === 'done');
  }
  return null;
}

type Pace = ReturnType<typeof pacer>;

/** A shared pause: if one request has to wait, all wait. */
function pacer(sleep: (ms: number) => Promise<void>) {
  let held = Promise.resolve();
  return {
    ready: () => held,
    hold(seconds: number): Promise<void> {
      const hold = sleep(Math.max(1, seconds) * 1_000);
      held = Promise.all([held, hold]).then(() => undefined);
      return held;
    },
    sleep,
  };
}

async function applyOne(
  change: SetChange,
  { api, classify, signal }: ApplyOptions,
  pace: Pace,
  onState: (outcome: SetOutcome) => void,
): Promise<SetOutcome | { readonly stop: string }> {
  let [unknowns, waits] = [0, 0];
  for (;;) {
    await pace.ready();
    try {
      const current = await api.read(change);
      if (isSame(current, change.to)) return { state: 'done' };
      if (!isBetween(current, change)) {
        return { state: 'skipped', detail: 'It has changed since the plan.', found: current };
      }
      const failed = await write(change, current, api, onState);
      return failed === null ? { state: 'done' } : { state: 'refused', detail: failed };
    } catch (error) {
      const failure = classify(error);
      if (failure.kind === 'refused') return { state: 'refused', detail: failure.detail };
      if (failure.kind === 'stop') return { stop: failure.detail };
      if (failure.kind === 'wait') {
        waits += 1;
        if (waits > WAITS_MAX || signal.aborted) return { state: 'waiting', detail: failure.detail };
        await pace.hold(failure.seconds);
        continue;
      }
      unknowns += 1;
      if (unknowns >= UNKNOWN_TRIES || signal.aborted) return { state: 'unknown', detail: failure.detail };
      onState({ state: 'unknown', detail: 'The provider did not answer. Reading the set again.' });
      await pace.sleep(UNKNOWN_PAUSE_MS * unknowns);
    }
  }
}

/** The steps that are missing. Each can fail alone. @returns why an action failed, or null */
async function write(
  change: SetChange,
  current: SetContent | null,
  api: SetApi,
  onState: (outcome: SetOutcome) => void,
): Promise<string | null> {
  for (const step of stepsBetween(current, change.to)) {
    const action = await perform(step, change, api);
    if (action === null) continue;
    onState({ state: 'written' });
    const failed = await api.untilEnded(action);
    if (failed !== null) return failed;
  }
  return null;
}

function perform(step: SetStep, id: SetId, api: SetApi): Promise<number | null> {
  switch (step.kind) {
    case 'create':
      return api.create(id, step.content);
    case 'setRecords':
      return api.setRecords(id, step.records);
    case 'changeTtl':
      return api.changeTtl(id, step.ttl);
    case 'changeLabels':
      return api.changeLabels(id, step.labels);
    case 'remove':
      return api.remove(id);
  }
}

/**
 * Whether the set is as planned from, or on the way from there to what is wanted, part by part: an earlier run may have been
 * interrupted between two steps.
 */
function isBetween(current: SetContent | null, { from, to }: SetChange): boolean {
  if (current === null || from === null) return current === from;
  if (to === null) return isSame(current, from);
  const isPlanned = (same: (one: SetContent, other: SetContent) => boolean) => same(current, from) || same(current, to);
  return isPlanned(hasSameRecords) && isPlanned(hasSameLabels) && isPlanned((one, other) => one.ttl === other.ttl);
}
