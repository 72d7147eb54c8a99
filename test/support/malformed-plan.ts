// Any objects through parse, track, model and plan, as the agent would take them.
import type { Problem } from '../../src/api/objects.ts';
import { parseEndpointSlice, parseEndpoints, parseNode, parseService, parseServiceCIDR } from '../../src/api/parse.ts';
import type { Family } from '../../src/lib/ip.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { plan } from '../../src/modes/iptables/plan.ts';
import { print } from '../../src/modes/iptables/print.ts';
import { Tracker } from '../../src/track/tracker.ts';
import { defaultFacts } from './iptables-node.ts';

export interface Taken {
  readonly tracker: Tracker;
  readonly problems: readonly Problem[];
}

export function takeAll(stream: readonly { readonly kind: string; readonly raw: unknown }[]): Taken {
  const tracker = new Tracker();
  const problems: Problem[] = [];
  for (const { kind, raw } of stream) {
    const parsed = take(tracker, kind, raw);
    problems.push(...parsed);
  }
  return { tracker, problems };
}

export function rulesOf(tracker: Tracker, family: Family): string {
  const identity = {
    nodeName: 'n1',
    nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
    allowsExternalIPs: true,
  };
  return print(plan(resolveNode(tracker.take(family), identity), defaultFacts(family)));
}

function take(tracker: Tracker, kind: string, raw: unknown): readonly Problem[] {
  switch (kind) {
    case 'Service': {
      const { value, problems } = parseService(raw);
      if (value) tracker.setService(`${value.namespace}/${value.name}`, value);
      return problems;
    }
    case 'EndpointSlice': {
      const { value, problems } = parseEndpointSlice(raw);
      if (value) tracker.setSlice(`${value.namespace}/${value.name}`, value);
      return problems;
    }
    case 'Endpoints': {
      const { value, problems } = parseEndpoints(raw);
      for (const slice of value ?? []) tracker.setSlice(`${slice.namespace}/${slice.name}`, slice);
      return problems;
    }
    case 'Node': {
      const { value, problems } = parseNode(raw);
      if (value) tracker.setNode(value);
      return problems;
    }
    default: {
      const { value, problems } = parseServiceCIDR(raw);
      if (value) tracker.setServiceCIDR(value.name, value);
      return problems;
    }
  }
}
