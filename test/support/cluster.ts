// Manifests into a Tracker, as the agent's watches would bring them.
import { parseEndpointSlice, parseNode, parseService, parseServiceCIDR } from '../../src/api/parse.ts';
import { Tracker } from '../../src/track/tracker.ts';
import type { Manifest } from './golden.ts';

export class TestCluster {
  readonly tracker = new Tracker();
  #version = 0;

  apply(...manifests: readonly Manifest[]): this {
    for (const manifest of manifests)
      this.#set(manifest, {
        ...manifest,
        metadata: { ...manifest.metadata, resourceVersion: String(++this.#version) },
      });
    return this;
  }

  delete(...manifests: readonly Manifest[]): this {
    for (const manifest of manifests) this.#set(manifest, undefined);
    return this;
  }

  #set({ kind, metadata }: Manifest, raw: Manifest | undefined): void {
    const name = `${metadata.namespace ?? 'default'}/${metadata.name}`;
    switch (kind) {
      case 'Service':
        this.tracker.setService(name, raw && parseService(raw).value);
        break;
      case 'EndpointSlice':
        this.tracker.setSlice(name, raw && parseEndpointSlice(raw).value);
        break;
      case 'ServiceCIDR':
        this.tracker.setServiceCIDR(metadata.name, raw && parseServiceCIDR(raw).value);
        break;
      case 'Node': {
        const node = raw && metadata.name === 'n1' ? parseNode(raw).value : undefined;
        if (node) this.tracker.setNode(node);
        break;
      }
      default:
        throw new Error(`a ${kind} in a test cluster`);
    }
  }
}
