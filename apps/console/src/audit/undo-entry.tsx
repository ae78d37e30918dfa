import type { ClusterSchemas } from '@corral/client';
import { changeOfEntry, keyOf, type SetChange, type SetContent } from '@corral/domain';
import { Button, Checkbox, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { actionName } from '../api/words.js';
import { changeSentence } from '../cluster-form/plan-text.js';
import { EffectList } from '../cluster-form/plan-view.js';
import { Difference } from '../record-changes/change-list.js';
import { RunLine } from '../record-changes/run-panel.js';
import { useChangeRun } from '../record-changes/use-change-run.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Failed, Loaded } from '../ui/states.js';
import { Time } from '../ui/time.js';
import { useReturnFocus } from '../ui/use-return-focus.js';
import { actorOf } from './audit-entry-view.js';

type AuditEntry = ClusterSchemas['AuditEntry'];
type UndoPlan = ClusterSchemas['UndoPlan'];
type UndoItem = UndoPlan['items'][number];

/** The button that opens the plan; nothing for an entry that changed nothing. */
export function UndoEntry({ entry }: { readonly entry: AuditEntry }) {
  const [isOpen, setOpen] = useState(false);
  if (changeOfEntry(entry).kind === 'nothing') return null;
  const what = `Undo ${actionName(entry.action)} ${entry.target.name}`;
  return (
    <div>
      <Button onClick={() => setOpen(true)} aria-label={what}>
        Undo …
      </Button>
      {isOpen && <UndoDialog id={entry.id} what={what} onClose={() => setOpen(false)} />}
    </div>
  );
}

interface UndoDialogProps {
  readonly id: string;
  readonly what: string;
  readonly onClose: () => void;
}

function UndoDialog({ id, what, onClose }: UndoDialogProps) {
  const { slug } = useTeam();
  useReturnFocus();
  const plan = useQuery({
    queryKey: [...teamKey(slug), 'undo', id],
    queryFn: ({ signal }) =>
      bodyOf(corral.undoAuditEntry({ team: slug, id }, { query: { dryRun: true }, body: {}, signal })),
    // It is shown as it was, so that what is confirmed is what was read.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <Modal opened onClose={onClose} title={what} size="lg">
      <Stack>
        <Loaded query={plan} what="the plan">
          {({ tag, items: [item] }) => item && <Undo id={id} tag={tag} item={item} onClose={onClose} />}
        </Loaded>
      </Stack>
    </Modal>
  );
}

interface UndoProps extends Pick<UndoDialogProps, 'id' | 'onClose'> {
  readonly tag: string;
  readonly item: UndoItem;
}

function Undo({ id, tag, item, onClose }: UndoProps) {
  const { slug, me } = useTeam();
  const cache = useQueryClient();
  const [overwrites, setOverwrites] = useState(false);
  const [isPressed, setPressed] = useState(false);
  const { run, begin } = useChangeRun(slug, `undo.${me.id}.${id}`);
  const declare = useMutation({
    mutationFn: () => bodyOf(corral.undoAuditEntry({ team: slug, id }, { body: overwrites ? { overwrite: tag } : {} })),
    onSuccess: () => {
      announce('Undo: accepted');
      void cache.invalidateQueries({ queryKey: teamKey(slug) });
      onClose();
    },
    retry: false,
  });
  const isConflict = item.overwrites.length > 0;
  const leave = () => {
    run?.discard();
    onClose();
  };
  const press = () => {
    setPressed(true);
    if (isConflict && !overwrites) return;
    if (item.kind === 'recordSet') begin({ waves: [[changeOf(item)]] });
    else declare.mutate();
  };
  return (
    <>
      <ItemView item={item} />
      {isConflict && item.state === 'planned' && (
        <Checkbox
          label="Also take back the later changes"
          checked={overwrites}
          onChange={(event) => setOverwrites(event.currentTarget.checked)}
          error={isPressed && !overwrites && 'Others changed it since. Confirm that their changes go, too.'}
        />
      )}
      {declare.error !== null && <Failed error={declare.error} what="Nothing was taken back." />}
      {run === null ? (
        <Group justify="flex-end">
          <Button onClick={onClose}>{item.state === 'planned' ? 'Cancel' : 'Close'}</Button>
          {item.state === 'planned' && (
            <Button variant="filled" loading={declare.isPending} onClick={press}>
              Undo
            </Button>
          )}
        </Group>
      ) : (
        <Group>
          <RunLine run={{ ...run, discard: leave }} />
        </Group>
      )}
    </>
  );
}

const changeOf = ({ name, type, now, to }: UndoItem): SetChange => {
  const set = { name, type: type as string };
  return { ...set, key: keyOf(set), from: now as SetContent | null, to: to as SetContent | null };
};

/** What undo does, and what others did since. */
function ItemView({ item }: { readonly item: UndoItem }) {
  const { kind, state, reason, changes, effects, changedSince, overwrites, to } = item;
  const pools = ((to ?? {}) as { nodePools?: { name: string }[] }).nodePools?.map(({ name }) => name) ?? [];
  return (
    <>
      {state === 'impossible' && <p role="alert">{reason}</p>}
      {state === 'same' && <p role="status">It is as it was before. Nothing is left to do.</p>}
      {kind === 'recordSet' && state === 'planned' && <Difference {...changeOf(item)} />}
      {changes.length > 0 && (
        <ul aria-label="Changed fields">
          {changes.map((change) => (
            <li key={change.pointer}>{changeSentence(change, pools)}</li>
          ))}
        </ul>
      )}
      {effects.length > 0 && <EffectList effects={effects} />}
      {overwrites.length > 0 && <p role="alert">Changed again since, and taken back too: {overwrites.join(', ')}.</p>}
      {changedSince.length > 0 && (
        <ul aria-label="Changed since">
          {changedSince.map((later) => (
            <li key={later.id}>
              <Time at={later.createdAt} /> {actorOf({ actor: { ...later.actor, id: null } })}:{' '}
              {actionName(later.action)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
