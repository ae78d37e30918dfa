import { type CatalogueBody, type NodePoolSpec, poolSources } from '@corral/contracts';
import { Button, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { Trash2 } from 'lucide-react';
import styles from './plan.module.css';
import { withPresent } from './spec-choices.js';

export interface PoolFieldsProps {
  readonly pool: Partial<NodePoolSpec>;
  readonly region: string | undefined;
  readonly catalogue: CatalogueBody | undefined;
  readonly errorOf: (field: string) => string | null;
  readonly onField: (field: keyof NodePoolSpec, value: unknown) => void;
  readonly onRemove: () => void;
}

export function PoolFields({ pool, region, catalogue, errorOf, onField, onRemove }: PoolFieldsProps) {
  const types = (catalogue?.machineTypes ?? []).filter(({ regions }) => regions.some(({ name }) => name === region));
  const isManaged = (pool.source ?? 'managed') === 'managed';
  const title = pool.name ?? 'a new pool';
  return (
    <fieldset className={styles.pool}>
      <legend>
        Pool <span className="mono">{title}</span>
      </legend>
      <TextInput
        label="Name"
        value={pool.name ?? ''}
        onChange={(event) => onField('name', event.currentTarget.value)}
        error={errorOf('name') ?? errorOf('')}
      />
      <NativeSelect
        label="Source"
        value={pool.source ?? 'managed'}
        onChange={(event) => onField('source', event.currentTarget.value)}
        data={[...poolSources]}
        error={errorOf('source')}
      />
      {isManaged ? (
        <NativeSelect
          label="Machine type"
          value={pool.machineType ?? ''}
          onChange={(event) => onField('machineType', event.currentTarget.value)}
          data={withPresent(
            types.map(({ name, cores, memoryGiB }) => ({
              value: name,
              label: `${name}, ${cores ?? '?'} cores, ${memoryGiB ?? '?'} GB`,
            })),
            pool.machineType,
          )}
          error={errorOf('machineType')}
        />
      ) : (
        <TextInput
          label="Server type"
          value={pool.machineType ?? ''}
          onChange={(event) => onField('machineType', event.currentTarget.value || undefined)}
          error={errorOf('machineType')}
        />
      )}
      <NumberInput
        label="Minimum (nodes)"
        min={0}
        allowDecimal={false}
        value={pool.minimum ?? ''}
        onChange={(value) => onField('minimum', value === '' ? undefined : Number(value))}
        error={errorOf('minimum')}
      />
      <NumberInput
        label="Maximum (nodes)"
        min={0}
        allowDecimal={false}
        value={pool.maximum ?? ''}
        onChange={(value) => onField('maximum', value === '' ? undefined : Number(value))}
        error={errorOf('maximum')}
      />
      <Button
        variant="subtle"
        color="bad"
        leftSection={<Trash2 size={14} aria-hidden />}
        onClick={onRemove}
        aria-label={`Remove pool ${title}`}
      >
        Remove
      </Button>
    </fieldset>
  );
}
