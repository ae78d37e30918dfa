import { type CatalogueBody, type NodePoolSpec, poolSources } from '@corral/contracts';
import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { Trash2 } from 'lucide-react';
import { sourceNames } from '../api/words.js';
import styles from './plan.module.css';
import { imageOptions, typeText, withPresent } from './spec-choices.js';

export interface PoolFieldsProps {
  readonly pool: Partial<NodePoolSpec>;
  readonly region: string | undefined;
  readonly catalogue: CatalogueBody | undefined;
  /** @param field empty for the pool itself */
  readonly at: (field: string) => { readonly 'data-pointer': string; readonly error: string | null };
  readonly onField: (path: readonly [keyof NodePoolSpec, ...string[]], value: unknown) => void;
  /** Removes the pool; without it, there is no button for that. */
  readonly onRemove?: () => void;
  /** False: its name and kind are fixed. */
  readonly isNew?: boolean;
}

export function PoolFields({ pool, region, catalogue, at, onField, onRemove, isNew = true }: PoolFieldsProps) {
  const types = (catalogue?.machineTypes ?? []).filter(({ regions }) => regions.some(({ name }) => name === region));
  const isManaged = (pool.source ?? 'managed') === 'managed';
  const title = pool.name ?? 'a new pool';
  const whole = at('');
  const number = (field: 'minimum' | 'maximum', label: string) => (
    <NumberInput
      label={label}
      min={0}
      allowDecimal={false}
      value={pool[field] ?? ''}
      onChange={(value) => onField([field], value === '' ? undefined : Number(value))}
      {...at(field)}
    />
  );
  return (
    <fieldset className={styles.pool} tabIndex={-1} data-pointer={whole['data-pointer']}>
      <legend>
        Pool <span className="mono">{title}</span>
      </legend>
      {isNew && (
        <NativeSelect
          label="Kind"
          value={pool.source ?? 'managed'}
          onChange={(event) => onField(['source'], event.currentTarget.value)}
          data={poolSources.map((source) => ({ value: source, label: sourceNames[source] }))}
          {...at('source')}
        />
      )}
      {isManaged ? (
        <NativeSelect
          className={styles.wide ?? ''}
          label="Machine type, price per month"
          value={pool.machineType ?? ''}
          onChange={(event) => onField(['machineType'], event.currentTarget.value)}
          data={withPresent(
            types.map(({ name }) => ({ value: name, label: typeText(catalogue, name, region) })),
            pool.machineType,
          )}
          {...at('machineType')}
        />
      ) : (
        <TextInput
          label="Server type"
          value={pool.machineType ?? ''}
          onChange={(event) => onField(['machineType'], event.currentTarget.value || undefined)}
          {...at('machineType')}
        />
      )}
      {isNew && (
        <TextInput
          label="Name"
          value={pool.name ?? ''}
          onChange={(event) => onField(['name'], event.currentTarget.value)}
          {...at('name')}
        />
      )}
      {number('minimum', 'Minimum (nodes)')}
      {number('maximum', 'Maximum (nodes)')}
      {isManaged && <ImageFields pool={pool} catalogue={catalogue} at={at} onField={onField} />}
      {isManaged && (catalogue?.features.includes('private-nodes') || pool.publicIP === false) && (
        <Checkbox
          label="Public addresses"
          checked={pool.publicIP !== false}
          onChange={(event) => onField(['publicIP'], event.currentTarget.checked)}
          {...at('publicIP')}
        />
      )}
      {whole.error !== null && <p className={styles.bad}>{whole.error}</p>}
      {onRemove !== undefined && (
        <Button
          variant="subtle"
          color="bad"
          leftSection={<Trash2 size={14} aria-hidden />}
          onClick={onRemove}
          aria-label={`Remove pool ${title}`}
        >
          Remove
        </Button>
      )}
    </fieldset>
  );
}

/** Name and version of the image in one choice: a version means nothing without its name. */
function ImageFields({ pool, catalogue, at, onField }: Pick<PoolFieldsProps, 'pool' | 'catalogue' | 'at' | 'onField'>) {
  const { name, version } = pool.image ?? {};
  const present = name === undefined ? '' : `${name} ${version ?? ''}`.trim();
  const { error, ...pointer } = at('image');
  return (
    <NativeSelect
      label="Image"
      value={present}
      onChange={({ currentTarget: { value } }) => {
        const [chosen, of] = value.split(' ');
        const { name: _name, version: _version, ...options } = pool.image ?? {};
        const image =
          value === '' ? options : { ...options, name: chosen, ...(of === undefined ? {} : { version: of }) };
        // Without the field, the image would stay.
        onField(['image'], image);
      }}
      data={withPresent(imageOptions(catalogue), present)}
      error={error ?? at('image/name').error ?? at('image/version').error}
      {...pointer}
    />
  );
}
