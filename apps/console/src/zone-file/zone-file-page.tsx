import { decodeZoneFile, type ParsedZoneFile, zoneFileLimits } from '@corral/contracts';
import {
  asJson,
  asTerraform,
  asZoneFile,
  type ChangePlan,
  planChanges,
  planZoneFile,
  readZoneFile,
  type WantedSet,
} from '@corral/domain';
import { Button, Checkbox, FileButton, Textarea } from '@mantine/core';
import { type DragEvent, useDeferredValue, useMemo, useState } from 'react';
import { countsOf } from '../record-changes/change-texts.js';
import changes from '../record-changes/changes.module.css';
import { PlanReview } from '../record-changes/plan-review.js';
import { RunPanel } from '../record-changes/run-panel.js';
import { useChangeRun } from '../record-changes/use-change-run.js';
import { type KnownZone, ZoneLoaded } from '../record-changes/zone-loaded.js';
import { RoleNeeded } from '../shell/role-needed.js';
import { useTeam } from '../shell/use-team.js';
import { DangerDialog } from '../ui/danger.js';
import { download } from '../ui/download.js';
import { Page, Section } from '../ui/page.js';
import { plural } from '../ui/plural.js';
import { useDraft } from '../ui/use-draft.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { zoneFileDraft } from './zone-file-draft.js';

/** Changes many record sets by a zone file and its plan, and exports them. */
export function ZoneFilePage() {
  const { slug, me } = useTeam();
  const { run, begin } = useChangeRun(slug, `zone-file.${me.id}`);
  const [back, setBack] = useState<readonly WantedSet[] | null>(null);
  const planBack = (sets: readonly WantedSet[]) => {
    run?.discard();
    setBack(sets);
  };
  useFocusKept('textarea', `${run === null} ${back === null}`);
  const apply = (plan: ChangePlan) => {
    setBack(null);
    begin(plan);
  };
  const isBusy = run !== null && (run.isRunning || countsOf(run.waves.flat(), run.outcomes).left > 0);
  // A run that was interrupted is shown even while the API cannot be read.
  return (
    <Page>
      {run !== null && <RunPanel run={run} onWayBack={planBack} />}
      <Planning back={back} isBusy={isBusy} onApply={apply} onLeaveBack={() => setBack(null)} />
    </Page>
  );
}

interface PlanningProps {
  /** Whether a plan is being applied, or was interrupted: until it has ended, there is no other. */
  readonly isBusy: boolean;
  /** What leads back to an earlier state; null: the zone file is planned. */
  readonly back: readonly WantedSet[] | null;
  readonly onApply: (plan: ChangePlan) => void;
  readonly onLeaveBack: () => void;
}

function Planning({ back, isBusy, onApply, onLeaveBack }: PlanningProps) {
  const { slug } = useTeam();
  return (
    <ZoneLoaded>
      {(known) => {
        const { zone, records, rrsets } = known;
        if (back === null) return <ZoneFile {...known} isBusy={isBusy} onApply={onApply} />;
        const plan = planChanges(rrsets, back, { zoneName: zone.name, ownerLabel: slug, records });
        return (
          <Section title="Undo these changes" actions={<Button onClick={onLeaveBack}>Cancel</Button>}>
            <PlanReview plan={plan} limit={records.limit} onApply={() => onApply(plan)} />
          </Section>
        );
      }}
    </ZoneLoaded>
  );
}

interface ZoneFileProps extends KnownZone {
  readonly isBusy: boolean;
  readonly onApply: (plan: ChangePlan) => void;
}

function ZoneFile({ zone, records, rrsets, isBusy, onApply }: ZoneFileProps) {
  const { slug, me, can } = useTeam();
  const [text, setText] = useDraft(zoneFileDraft(me.id, slug), '');
  const [alsoRemoves, setAlsoRemoves] = useState(false);
  const [isConfirming, setConfirming] = useState(false);
  const readText = useDeferredValue(text);
  const context = useMemo(() => ({ zoneName: zone.name, ownerLabel: slug, records }), [zone.name, slug, records]);
  const read = useMemo(() => readZoneFile(readText, { zoneTtl: zone.ttl, context }), [readText, zone.ttl, context]);
  const { plan, notes, removable, removed, removesMost, existing } = planZoneFile(read, rrsets, context, alsoRemoves);
  return (
    <>
      {can('createRrset') ? (
        <Source text={text} onText={setText} />
      ) : (
        <RoleNeeded operation="createRrset" what="import a zone file" />
      )}
      {text.trim() !== '' && !isBusy && (
        <Section title="Plan">
          <Problems parsed={read.parsed} />
          {notes.map((note) => (
            <p key={note}>{note}</p>
          ))}
          {removable > 0 && (
            <Checkbox
              label={`Also remove ${plural(removable, 'set')} that the file lacks`}
              checked={alsoRemoves}
              onChange={(event) => setAlsoRemoves(event.currentTarget.checked)}
            />
          )}
          <PlanReview
            plan={plan}
            limit={records.limit}
            onApply={() => (removesMost ? setConfirming(true) : onApply(plan))}
          />
          <DangerDialog
            opened={isConfirming}
            onClose={() => setConfirming(false)}
            title="Remove most of the record sets"
            confirmation={String(removed)}
            action="Apply"
            onConfirm={() => onApply(plan)}
            isPending={false}
            error={null}
          >
            <p>{`This removes ${removed} of ${plural(existing, 'record set')}.`}</p>
          </DangerDialog>
        </Section>
      )}
      <Export zone={zone} rrsets={rrsets} />
    </>
  );
}

function Source({ text, onText }: { readonly text: string; readonly onText: (text: string) => void }) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const read = async (file: File | null | undefined) => {
    if (file == null) return;
    if (file.size > zoneFileLimits.characters) return setRefusal(`${file.name} is too large for a zone file.`);
    const decoded = decodeZoneFile(new Uint8Array(await file.arrayBuffer()));
    if (typeof decoded !== 'string') {
      return setRefusal(
        `Line ${decoded.line} of ${file.name} is not UTF-8. Save the file as UTF-8, or paste its text.`,
      );
    }
    setRefusal(null);
    onText(decoded);
  };
  const drop = (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    void read(event.dataTransfer.files[0]);
  };
  return (
    <Section
      title="Source"
      actions={
        <div className={changes.buttons}>
          <FileButton onChange={(file) => void read(file)}>
            {(props) => <Button {...props}>Choose a file</Button>}
          </FileButton>
          {text !== '' && <Button onClick={() => onText('')}>Clear</Button>}
        </div>
      }
    >
      <Textarea
        label="Zone file"
        description="Paste or drop a file. Relative names are below $ORIGIN, or below the name that the plan shows."
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        onDrop={drop}
        onDragOver={(event) => event.preventDefault()}
        error={refusal}
        autosize
        minRows={8}
        maxRows={24}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--font-mono)' } }}
        data-shortcut="/"
      />
    </Section>
  );
}

function Problems({ parsed: { problems, notes, unlisted } }: { readonly parsed: ParsedZoneFile }) {
  if (problems.length + notes.length === 0) return null;
  return (
    <div className={changes.panel}>
      {problems.length > 0 && (
        <>
          <strong className={changes.refusal}>{`${plural(problems.length, 'line')} cannot be read`}</strong>
          <Lines caption="Lines that cannot be read" lines={problems} />
        </>
      )}
      {notes.length > 0 && <Lines caption="Notes" lines={notes} />}
      {unlisted > 0 && <p className="muted">{`And ${unlisted} more.`}</p>}
    </div>
  );
}

const Lines = ({ caption, lines }: { readonly caption: string; readonly lines: ParsedZoneFile['problems'] }) => (
  <ul className={changes.list} aria-label={caption}>
    {lines.map(({ line, message }) => (
      <li key={`${line} ${message}`}>
        Line {line}: {message}
      </li>
    ))}
  </ul>
);

function Export({ zone, rrsets }: Pick<ZoneFileProps, 'zone' | 'rrsets'>) {
  return (
    <Section title="Export">
      <p className="muted">{plural(rrsets.length, 'record set')} of yours. Zone files cannot contain labels.</p>
      <div className={changes.buttons}>
        <Button onClick={() => download(`${zone.name}.zone`, 'text/dns', asZoneFile(rrsets, zone))}>Zone file</Button>
        <Button onClick={() => download(`${zone.name}.json`, 'application/json', asJson(rrsets))}>JSON</Button>
        <Button onClick={() => download(`${zone.name}.tf`, 'text/plain', asTerraform(rrsets, zone))}>Terraform</Button>
      </div>
    </Section>
  );
}
