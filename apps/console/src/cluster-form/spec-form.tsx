import type { FieldProblem } from '@corral/client';
import { type CatalogueBody, type ClusterNetwork, type ClusterSpec, type Connection, plans } from '@corral/contracts';
import { Button, Checkbox, NativeSelect, TextInput, type TextInputProps } from '@mantine/core';
import { planNames, regionText } from '../api/words.js';
import styles from './plan.module.css';
import { PoolFields } from './pool-fields.js';
import { firstTypeIn, newPool, withPresent } from './spec-choices.js';
import { withField, withPool } from './spec-document.js';

export interface SpecFormProps {
  /** The document, which is valid. */
  readonly text: string;
  readonly spec: Readonly<Partial<ClusterSpec>>;
  readonly onText: (text: string) => void;
  readonly connections: readonly Connection[];
  readonly catalogue: CatalogueBody | undefined;
  readonly problems: readonly FieldProblem[];
  /** Connection and region are fixed at creation. */
  readonly isNew: boolean;
  /** The network is fixed at the start. */
  readonly isStarted: boolean;
}

const tariffs = plans.map((plan) => ({ value: plan, label: planNames[plan] }));

/** The fields of a cluster. Each change patches the document. */
export function SpecForm(props: SpecFormProps) {
  const { text, spec, onText, connections, catalogue, problems, isNew, isStarted } = props;
  const set = (path: readonly (string | number)[], value: unknown) => onText(withField(text, path, value));
  const errorOf = (pointer: string) => problems.find((each) => each.pointer === `/spec/${pointer}`)?.message ?? null;
  /** What each control of a field has. */
  const at = (field: string) => ({ 'data-pointer': `/spec/${field}`, error: errorOf(field) });
  const versions = (catalogue?.kubernetesVersions ?? []).filter(({ newestOf }) => newestOf !== null);
  const pools = spec.nodePools ?? [];
  const choice = (
    field: 'connectionRef' | 'region' | 'kubernetesVersion',
    label: string,
    options: Parameters<typeof withPresent>[0],
    description?: string,
  ) => (
    <NativeSelect
      label={label}
      description={description}
      value={String(spec[field] ?? '')}
      onChange={(event) => set([field], event.currentTarget.value)}
      data={withPresent(options, spec[field])}
      {...at(field)}
    />
  );
  return (
    <>
      {isNew ? (
        <>
          {choice(
            'connectionRef',
            'Connection',
            connections.map(({ metadata, status }) => ({
              value: metadata.ref,
              label: `${metadata.name} (${status.phase})`,
            })),
            'The cloud project in which the nodes run. It is fixed at creation.',
          )}
          {choice(
            'region',
            'Region',
            (catalogue?.regions ?? []).map(({ name }) => ({ value: name, label: regionText(name) })),
            'It is fixed at creation.',
          )}
        </>
      ) : (
        <p>
          Connection <code>{spec.connectionRef}</code>, region <code>{spec.region}</code>: fixed. Create another cluster
          to move.
        </p>
      )}
      {choice(
        'kubernetesVersion',
        'Kubernetes version',
        versions.map(({ version, newestOf, supportedUntil }) => ({
          value: newestOf ?? version,
          label: `${newestOf} (${version})${supportedUntil === null ? '' : `, until ${supportedUntil.slice(0, 10)}`}`,
        })),
      )}
      <NativeSelect
        label="Tariff"
        value={spec.plan ?? (isNew ? 'payg' : '')}
        onChange={(event) => set(['plan'], event.currentTarget.value)}
        // Without the field, the plan of a cluster stays.
        data={[...(isNew || spec.plan !== undefined ? [] : [{ value: '', label: 'Unchanged' }]), ...tariffs]}
        {...at('plan')}
      />
      {(catalogue?.features.includes('control-plane-ha') || spec.controlPlaneHA === true) && (
        <Checkbox
          label="Highly available control plane"
          description={isStarted ? 'It cannot be switched off later.' : 'It cannot be switched off once it is started.'}
          checked={spec.controlPlaneHA === true}
          onChange={(event) => set(['controlPlaneHA'], event.currentTarget.checked)}
          {...at('controlPlaneHA')}
        />
      )}
      <Checkbox
        label="Deletion protection"
        description="While it is on, nobody can delete the cluster."
        checked={spec.deletionProtection === true}
        onChange={(event) => set(['deletionProtection'], event.currentTarget.checked)}
        {...at('deletionProtection')}
      />
      <NetworkFields
        network={spec.network ?? {}}
        catalogue={catalogue}
        isFixed={isStarted}
        at={(field) => at(`network/${field}`)}
        onField={(field, value) => set(['network', field], value)}
      />
      {pools.map((pool, index) => (
        <PoolFields
          key={index}
          pool={pool}
          region={spec.region}
          catalogue={catalogue}
          at={(field) => at(`nodePools/${index}${field === '' ? '' : `/${field}`}`)}
          onField={(path, value) => set(['nodePools', index, ...path], value)}
          onRemove={() => set(['nodePools', index], undefined)}
        />
      ))}
      {errorOf('nodePools') !== null && <p className={styles.bad}>Node pools: {errorOf('nodePools')}</p>}
      <div>
        <Button
          data-pointer="/spec/nodePools"
          onClick={() =>
            onText(
              withPool(
                text,
                newPool(
                  pools.map(({ name }) => name),
                  firstTypeIn(catalogue, spec.region),
                ),
              ),
            )
          }
        >
          Add pool
        </Button>
      </div>
    </>
  );
}

interface NetworkFieldsProps {
  readonly network: Partial<ClusterNetwork>;
  readonly catalogue: CatalogueBody | undefined;
  /** Once the cluster was started. */
  readonly isFixed: boolean;
  readonly at: (field: keyof ClusterNetwork) => { readonly 'data-pointer': string; readonly error: string | null };
  readonly onField: (field: keyof ClusterNetwork, value: string | undefined) => void;
}

/** Address ranges. Absent ones take the defaults. */
function NetworkFields({ network, catalogue, isFixed, at, onField }: NetworkFieldsProps) {
  if (isFixed) {
    return (
      <p>
        Ranges of the nodes <code>{network.nodeCIDR}</code>, the pods <code>{network.podCIDR}</code> and the services{' '}
        <code>{network.serviceCIDR}</code>
        {network.existingNetwork !== undefined && (
          <>
            , in the network <code>{network.existingNetwork}</code>
          </>
        )}
        : fixed since the cluster was started.
      </p>
    );
  }
  const defaults = catalogue?.network;
  const hasExisting = catalogue?.features.includes('existing-network') || network.existingNetwork !== undefined;
  const text = (field: 'podCIDR' | 'serviceCIDR' | 'existingNetwork', props: TextInputProps) => (
    <TextInput
      value={network[field] ?? ''}
      onChange={(event) => onField(field, event.currentTarget.value || undefined)}
      {...props}
      {...at(field)}
    />
  );
  return (
    <details className={styles.details}>
      <summary>Network ranges{network.podCIDR || network.serviceCIDR || network.nodeCIDR ? '' : ' (defaults)'}</summary>
      <NativeSelect
        label="Range of the nodes"
        value={network.nodeCIDR ?? ''}
        // Without the field, the range of a draft would stay.
        onChange={(event) => onField('nodeCIDR', event.currentTarget.value || defaults?.nodeCIDRs[0])}
        data={withPresent(
          [
            { value: '', label: `Default (${defaults?.nodeCIDRs[0] ?? ''})` },
            ...(defaults?.nodeCIDRs ?? []).map((range) => ({ value: range, label: range })),
          ],
          network.nodeCIDR,
        )}
        {...at('nodeCIDR')}
      />
      {text('podCIDR', { label: 'Range of the pods', placeholder: defaults?.podCIDR ?? '' })}
      {text('serviceCIDR', { label: 'Range of the services', placeholder: defaults?.serviceCIDR ?? '' })}
      {hasExisting &&
        text('existingNetwork', {
          label: 'Existing network',
          description: 'Name or id in the cloud project. Without it the cluster gets its own network.',
        })}
    </details>
  );
}
