// Load balancer addresses: every Service of type LoadBalancer gets one of each of its families, from a pool. The lab makes
// these addresses lead to the nodes.
import { type Family, parseIp } from '../../../lib/ip.ts';
import { cidrOfFamily, isInCidrs } from '../allocations.ts';
import type { LoadBalancerIngress, Service } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { recordEvent } from './events.ts';
import { find, replaceStatus } from './objects.ts';

const COMPONENT = 'service-controller';

export function loadBalancerController(world: World): Controller {
  return {
    watches: { services: ownKey },
    reconcile(key) {
      const { namespace, name } = splitKey(key);
      const service = find<Service>(world, 'services', namespace, name);
      // Another class is another balancer's business.
      if (!service || service.spec.loadBalancerClass) return;
      const held = service.status?.loadBalancer?.ingress ?? [];
      const wanted = service.spec.type === 'LoadBalancer';
      if (wanted === held.length > 0) return;
      const ingress = wanted ? newIngress(world, service) : [];
      replaceStatus(world, 'services', { ...service, status: { loadBalancer: ingress.length > 0 ? { ingress } : {} } });
      if (ingress.length > 0) recordEvent(world, service, COMPONENT, 'EnsuredLoadBalancer', 'Ensured load balancer');
    },
  };
}

function newIngress({ facts, allocations }: World, { spec }: Service): LoadBalancerIngress[] {
  const asked = parseIp(spec.loadBalancerIP ?? '');
  if (asked && isInCidrs(facts.loadBalancerCIDRs, asked)) return [{ ip: asked, ipMode: 'VIP' }];
  return (spec.ipFamilies ?? []).flatMap((family) => {
    const cidr = cidrOfFamily(facts.loadBalancerCIDRs, family as Family);
    const ip = cidr && allocations.freeLoadBalancerIp(cidr);
    return ip ? [{ ip, ipMode: 'VIP' }] : [];
  });
}
