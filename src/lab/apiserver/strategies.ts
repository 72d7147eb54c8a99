// Which strategy each kind has. A kind without one is stored as it comes.
import type { Strategy } from './registry.ts';
import type { Resource } from './resources.ts';
import { allocateService } from './service-allocation.ts';
import { fillService } from './service-defaults.ts';
import type { Service } from './types.ts';

const STRATEGIES: Readonly<Record<string, Strategy>> = {
  services: {
    prepare: (object) => {
      object.status = { loadBalancer: {} };
    },
    fill: (object) => fillService(object as Service),
    allocate: (object, before, world) => allocateService(object as Service, before as Service | undefined, world),
  },
};

export function strategyOf(resource: Resource): Strategy {
  return STRATEGIES[resource.storage] ?? {};
}
