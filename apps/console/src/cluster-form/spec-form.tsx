import { type CatalogueBody, type ClusterSpec, type Connection, plans } from '@corral/contracts';
import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import type { FieldProblem } from '../api/problem.js';
import styles from './plan.module.css';
import { PoolFields } from './pool-fields.js';
import { firstTypeIn, newPool, withPresent } from './spec-choices.js';
import { withField, withPool } from './spec-document.js';

export interface SpecFormProps {
  readonly text: string;
  readonly spec: Readonly<Partial<ClusterSpec>>;
  readonly onText: (text: string) => void;
  readonly connections: readonly Connection[];
  readonly catalogue: CatalogueBody | undefined;
  readonly problems: readonly FieldProblem[];
  /** Connection and region are fixed at creation. */
  readonly isNew: boolean;
}

/** The fields of a cluster. Each change patches the document. */
export function SpecForm({ text, spec, onText, connections, catalogue, problems, isNew }: SpecFormProps) {
  const set = (path: readonly (string | number)[], value: unknown) => onText(withField(text, path, value));
  const errorOf = (pointer: string) => problems.find((each) => each.pointer === `/spec/${pointer}`)?.message ?? null;
  const versions = (catalogue?.kubernetesVersions ?? []).filter(({ newestOf }) => newestOf !== null);
  const pools = spec.nodePools ?? [];
  return (
    <div className={styles.fields}>
      {isNew ? (
        <>
          <NativeSelect
            label="Connection"
            description="The cloud project in which the nodes run. It is fixed at creation."
            value={spec.connectionRef ?? ''}
            onChange={(event) => set(['connectionRef'], event.currentTarget.value)}
            data={withPresent(
              connections.map(({ metadata, status }) => ({
                value: metadata.ref,
                label: `${metadata.name} (${status.phase})`,
              })),
              spec.connectionRef,
            )}
            error={errorOf('connectionRef')}
          />
          <NativeSelect
            label="Region"
            description="It is fixed at creation."
            value={spec.region ?? ''}
            onChange={(event) => set(['region'], event.currentTarget.value)}
            data={withPresent(
              (catalogue?.regions ?? []).map(({ name }) => ({ value: name, label: name })),
              spec.region,
            )}
            error={errorOf('region')}
          />
        </>
      ) : (
        <p>
          Connection <code>{spec.connectionRef}</code>, region <code>{spec.region}</code>: fixed. Create another cluster
          to move.
        </p>
      )}
      <NativeSelect
        label="Kubernetes version"
        value={String(spec.kubernetesVersion ?? '')}
        onChange={(event) => set(['kubernetesVersion'], event.currentTarget.value)}
        data={withPresent(
          versions.map(({ version, newestOf, supportedUntil }) => ({
            value: newestOf ?? version,
            label: `${newestOf} (${version})${supportedUntil === null ? '' : `, until ${supportedUntil.slice(0, 10)}`}`,
          })),
          spec.kubernetesVersion,
        )}
        error={errorOf('kubernetesVersion')}
      />
      <NativeSelect
        label="Plan"
        value={spec.plan ?? 'payg'}
        onChange={(event) => set(['plan'], event.currentTarget.value)}
        data={[...plans]}
        error={errorOf('plan')}
      />
      {(catalogue?.features.includes('control-plane-ha') || spec.controlPlaneHA === true) && (
        <Checkbox
          label="Highly available control plane"
          checked={spec.controlPlaneHA === true}
          onChange={(event) => set(['controlPlaneHA'], event.currentTarget.checked)}
          error={errorOf('controlPlaneHA')}
        />
      )}
      <TextInput
        label="Range of the pods"
        placeholder={catalogue?.network.podCIDR ?? ''}
        value={spec.network?.podCIDR ?? ''}
        onChange={(event) => set(['network', 'podCIDR'], event.currentTarget.value || undefined)}
        error={errorOf('network/podCIDR')}
      />
      {pools.map((pool, index) => (
        <PoolFields
          key={index}
          pool={pool}
          region={spec.region}
          catalogue={catalogue}
          errorOf={(field) => errorOf(`nodePools/${index}${field === '' ? '' : `/${field}`}`)}
          onField={(field, value) => set(['nodePools', index, field], value)}
          onRemove={() => set(['nodePools', index], undefined)}
        />
      ))}
      {errorOf('nodePools') !== null && <p role="alert">Node pools: {errorOf('nodePools')}</p>}
      <div>
        <Button
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
    </div>
  );
}
