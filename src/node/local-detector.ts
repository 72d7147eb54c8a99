// In: the configuration's detectLocalMode and the Node's pod networks.  Out: the detector of one family.
import type { DetectLocal, DetectLocalMode } from '../config/configuration.ts';
import { assertNever } from '../lib/assert.ts';
import { type Family, familyOf, parseCidr } from '../lib/ip.ts';
import type { LocalDetector } from '../modes/local-detector.ts';

export function localDetector(
  mode: DetectLocalMode,
  detectLocal: DetectLocal,
  podCIDRs: readonly string[],
  family: Family,
): LocalDetector {
  switch (mode) {
    case 'ClusterCIDR':
      return firstNetwork(detectLocal.clusterCIDRs, family);
    case 'NodeCIDR':
      return firstNetwork(podCIDRs, family);
    case 'BridgeInterface':
      return { kind: 'interface', name: detectLocal.bridgeInterface };
    case 'InterfaceNamePrefix':
      return { kind: 'interface-prefix', prefix: detectLocal.interfaceNamePrefix };
    default:
      return assertNever(mode);
  }
}

/** A family without a network gets no detector. */
function firstNetwork(cidrs: readonly string[], family: Family): LocalDetector {
  const cidr = cidrs
    .map((text) => parseCidr(text.trim()))
    .find((parsed) => parsed !== undefined && familyOf(parsed) === family);
  return cidr === undefined ? { kind: 'none' } : { kind: 'source', cidr };
}
