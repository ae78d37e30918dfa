import type { CatalogueBody, ClusterNetwork } from '@corral/contracts';
import { NativeSelect, TextInput } from '@mantine/core';
import styles from './plan.module.css';
import { withPresent } from './spec-choices.js';

export interface NetworkFieldsProps {
  readonly network: Partial<ClusterNetwork>;
  readonly catalogue: CatalogueBody | undefined;
  /** Once the cluster was started. */
  readonly isFixed: boolean;
  readonly at: (field: keyof ClusterNetwork) => { readonly 'data-pointer': string; readonly error: string | null };
  readonly onField: (field: keyof ClusterNetwork, value: string | undefined) => void;
}

/** Address ranges. Absent ones take the defaults. */
export function NetworkFields({ network, catalogue, isFixed, at, onField }: NetworkFieldsProps) {
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
      <TextInput
        label="Range of the pods"
        placeholder={defaults?.podCIDR ?? ''}
        value={network.podCIDR ?? ''}
        onChange={(event) => onField('podCIDR', event.currentTarget.value || undefined)}
        {...at('podCIDR')}
      />
      <TextInput
        label="Range of the services"
        placeholder={defaults?.serviceCIDR ?? ''}
        value={network.serviceCIDR ?? ''}
        onChange={(event) => onField('serviceCIDR', event.currentTarget.value || undefined)}
        {...at('serviceCIDR')}
      />
      {hasExisting && (
        <TextInput
          label="Existing network"
          description="Name or id in the cloud project. Without it the cluster gets its own network."
          value={network.existingNetwork ?? ''}
          onChange={(event) => onField('existingNetwork', event.currentTarget.value || undefined)}
          {...at('existingNetwork')}
        />
      )}
    </details>
  );
}
