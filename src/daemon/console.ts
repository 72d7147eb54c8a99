// The console of a running agent. In: its reports. Out: a web page that shows them, and what the kernel really holds. Loaded
// only where the configuration asks for it.
import { readFileSync } from 'node:fs';
import type { Node, Problem } from '../api/objects.ts';
import type { Ready } from '../config/options.ts';
import { Iptables, type IptablesVariant } from '../kernel/iptables.ts';
import { assertNever } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { FAMILIES, type Family } from '../lib/ip.ts';
import type { ServicePort } from '../model/model.ts';
import { endpointChain, serviceChains } from '../modes/iptables/names.ts';
import type { IptablesPlan } from '../modes/iptables/plan.ts';
import type { ModeName } from '../modes/mode.ts';
import type { NodeSettings } from '../node/facts.ts';
import { isLoopbackAddress } from '../observe/console/access.ts';
import { CounterWatch } from '../observe/console/counter-watch.ts';
import { endpointCounter, frontendKey, keyOf } from '../observe/console/frontend-key.ts';
import { iptablesCounters } from '../observe/console/iptables-rule.ts';
import { type ConsoleSources, consoleListener } from '../observe/console/pages.ts';
import { iptablesPicture } from '../observe/console/picture-iptables.ts';
import { nftablesPicture, nftablesRules } from '../observe/console/picture-nftables.ts';
import { plainPicture } from '../observe/console/picture-plain.ts';
import { ConsoleState } from '../observe/console/state.ts';
import { keepListening } from '../observe/listen.ts';
import type { Log } from '../observe/log.ts';
import type { ReadCounts } from '../observe/service-metrics.ts';
import type { SyncReport } from '../pipeline.ts';
import { walksOf } from './console-walks.ts';

export interface AgentConsoleOptions {
  readonly ready: Ready;
  readonly settings: NodeSettings;
  readonly log: Log;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly variant: IptablesVariant;
  readonly node: () => Node | undefined;
  readonly problems: () => readonly Problem[];
  readonly counts: ReadCounts;
}

export class AgentConsole {
  readonly #state: ConsoleState;

  /** Undefined if it may not be served as configured; the agent goes on without. */
  static open(options: AgentConsoleOptions): AgentConsole | undefined {
    const { log, ready } = options;
    const { consoleBindAddress: bindAddress, consoleTokenFile } = ready.configuration.portolan;
    const token = readToken(consoleTokenFile, log);
    if (token === undefined && (consoleTokenFile !== '' || !isLoopbackAddress(bindAddress))) {
      log.error('others could read the whole cluster', 'The console needs a token where it is not on loopback', {
        consoleBindAddress: bindAddress,
        consoleTokenFile,
      });
      return undefined;
    }
    const state = new ConsoleState(options.clock);
    keepListening({
      bindAddress,
      answer: consoleListener(sourcesOf(options, state, token)),
      isHardFail: false,
      onRetry: (error) => log.error(error, 'The console cannot listen'),
      onFatal: () => {},
      onListening: ({ port }) => log.info('Serving the console', { bindAddress, port }),
    });
    return new AgentConsole(state);
  }

  private constructor(state: ConsoleState) {
    this.#state = state;
  }

  synced(report: SyncReport): void {
    this.#state.synced(report);
  }

  trouble(family: Family, kind: 'drift' | 'sync-failed', text: string): void {
    this.#state.trouble(family, kind, text);
  }
}

function readToken(file: string, log: Log): string | undefined {
  if (file === '') return undefined;
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    log.error(error, 'The token of the console cannot be read', { file });
    return undefined;
  }
}

function sourcesOf(options: AgentConsoleOptions, state: ConsoleState, token: string | undefined): ConsoleSources {
  const { ready, clock, log, nodeName, settings } = options;
  const { mode } = ready.configuration;
  const onError = (error: unknown): void => log.error(error, 'The console could not answer');
  const read = counterReader(options);
  const walks = walksOf({ mode, state, settings, nodeName, clock });
  return {
    state,
    token,
    onError,
    node: () => ({
      name: nodeName,
      mode,
      version: ready.version,
      ips: options.node()?.ips ?? [],
      podCIDRs: options.node()?.podCIDRs ?? [],
      zone: options.node()?.zone,
    }),
    draw: (port, family) => drawPort(mode, port, family, state),
    countersOf: mode === 'iptables' ? iptablesEndpointCounters : nftablesEndpointCounters,
    counters: read && new CounterWatch({ clock, read, onError }),
    objectProblems: options.problems,
    trace: walks.trace,
    verify: walks.verify,
  };
}

function drawPort(
  mode: ModeName,
  port: ServicePort,
  family: Family,
  state: ConsoleState,
): ReturnType<ConsoleSources['draw']> {
  switch (mode) {
    case 'iptables':
      return drawIptables(port, family, state);
    case 'nftables':
      return { picture: nftablesPicture(port), rules: nftablesRules(port, family) };
    case 'ipvs':
      return { picture: plainPicture(port, 'IPVS'), rules: [] };
    case 'userspace':
      return { picture: plainPicture(port, 'relay'), rules: [] };
    default:
      return assertNever(mode);
  }
}

function drawIptables(port: ServicePort, family: Family, state: ConsoleState): ReturnType<ConsoleSources['draw']> {
  const report = state.reports.get(family)!;
  const name = `${port.namespace}/${port.serviceName}`;
  const place = report.model.services.get(name)!.ports.indexOf(port);
  const rules = (report.plan as IptablesPlan).services.get(name)?.[place];
  return rules
    ? { picture: iptablesPicture(port, rules), rules: [...rules.natDispatch, ...rules.filter, ...rules.natRules] }
    : { picture: { nodes: [], edges: [] }, rules: [] };
}

function iptablesEndpointCounters(port: ServicePort, address: string): readonly string[] {
  const { cluster, local } = serviceChains(port);
  return [cluster, local].map((chain) => `${chain}>${endpointChain(port, address)}`);
}

function nftablesEndpointCounters(port: ServicePort, address: string): readonly string[] {
  return port.frontends.map((frontend) => endpointCounter(frontendKey(port, frontend), address));
}

/** Undefined where the mode counts nothing. Readers of their own: a sync must not wait for one. */
function counterReader(options: AgentConsoleOptions): (() => Promise<Map<string, number>>) | undefined {
  const { mode, portolan } = options.ready.configuration;
  if (mode === 'iptables') {
    const readers = FAMILIES.map((family) => new Iptables(family, options.variant));
    return async () => {
      const texts = await Promise.all(readers.map((iptables) => iptables.save('nat', true)));
      return new Map(texts.flatMap((text) => [...iptablesCounters(text)]));
    };
  }
  return mode === 'nftables' && portolan.serviceMetrics ? () => nftablesCounters(options.counts) : undefined;
}

async function nftablesCounters(read: ReadCounts): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const add = (name: string, connections: number): void => {
    counts.set(name, (counts.get(name) ?? 0) + connections);
  };
  for (const { frontends, endpoints } of (await read()).values()) {
    for (const { port, frontend, connections } of frontends) add(textKey(port, frontend), connections);
    for (const { port, frontend, endpoint, connections } of endpoints)
      add(endpointCounter(textKey(port, frontend), endpoint), connections);
  }
  return counts;
}

/** Of `10.96.0.10:53`, or `:30053` for a node port. */
function textKey({ protocol }: ServicePort, frontend: string): string {
  const colon = frontend.lastIndexOf(':');
  const ip = frontend.slice(0, colon).replace(/^\[|\]$/g, '');
  return keyOf(ip === '' ? undefined : ip, protocol, frontend.slice(colon + 1));
}
