// Prepares the host before the first rule: which families it can serve, and the settings that the rules rely on.
import { splitHostPort } from '../config/address.ts';
import type { ProxyConfiguration } from '../config/configuration.ts';
import { aggregated } from '../config/problems.ts';
import { runningProxyMode } from '../kernel/agent-lock.ts';
import { ipv6Support, kernelVersion } from '../kernel/host.ts';
import type { Iptables, IptablesVariant } from '../kernel/iptables.ts';
import { describeLeftover, findLeftovers } from '../kernel/leftovers.ts';
import { applyTunings, describeTuningFailure, machineCpus, setOomScore } from '../kernel/tuning.ts';
import { chooseVariant, probeVariants } from '../kernel/variant.ts';
import { FAMILIES, type Family, isLoopback } from '../lib/ip.ts';
import { familyDetector, type NodeSettings, takesLocalhostNodePorts } from '../node/facts.ts';
import { conntrackTunings, iptablesTunings, ipvsTunings } from '../node/tuning.ts';
import {
  familiesToServe,
  familyProblems,
  fatalMessage,
  nftablesProblem,
  nodePortWarnings,
  QUESTIONABLE,
} from '../node/warnings.ts';
import type { Log } from '../observe/log.ts';
import { FatalError } from './fatal.ts';

/** Which iptables this host uses, said in the log with the reason. */
export async function pickVariant({ mode }: ProxyConfiguration, log: Log): Promise<IptablesVariant> {
  if (mode === 'nftables') return 'auto';
  const { variant, reason } = chooseVariant(await probeVariants());
  log.info('Using iptables', { variant, reason });
  return variant;
}

export const IPVS_DEPRECATION =
  "The ipvs proxier is now deprecated and may be removed in a future release. Please use 'nftables' instead.";

/** Names the mode in the words operators search for. Throws where the kernel is too old for it. */
export function announceMode({ mode }: ProxyConfiguration, log: Log): void {
  log.info(`Using ${mode} Proxier`);
  if (mode === 'ipvs') log.write({ severity: 'error', message: IPVS_DEPRECATION });
  const problem = mode === 'nftables' ? nftablesProblem(kernelVersion(), process.env) : undefined;
  if (problem !== undefined)
    throw new FatalError(`unable to create proxier: unable to create ipv4 proxier: ${problem}`);
}

/** Checks the configuration against the host; resolves to the families to serve, the primary one first. */
export async function chooseFamilies(
  settings: NodeSettings,
  iptables: Readonly<Record<Family, Iptables>>,
  log: Log,
): Promise<readonly Family[]> {
  const { configuration, addresses } = settings;
  const questionable = (texts: readonly string[]): void => {
    if (texts.length > 0) log.error(aggregated(texts), QUESTIONABLE);
  };
  if (isLoopback(addresses.ips[addresses.primary])) {
    log.info(
      "Can't determine this node's IP, assuming loopback; if this is incorrect, please set the --bind-address flag",
    );
  }
  questionable(nodePortWarnings(settings));

  const iptablesProblems: Partial<Record<Family, string>> = {};
  if (configuration.mode !== 'nftables') {
    for (const family of FAMILIES) {
      const problem = await iptables[family].unusableBecause();
      if (problem !== undefined) iptablesProblems[family] = problem;
    }
  }
  const decision = familiesToServe({
    mode: configuration.mode,
    addresses,
    iptablesProblems,
    ipv6: ipv6Support(),
  });
  for (const { message, values } of decision.notes) log.info(message, values);
  if (decision.kind === 'fatal') throw new FatalError(decision.message);

  const problems = familyProblems(settings, decision.isDualStack);
  if (problems.isFatal) throw new FatalError(fatalMessage(problems));
  questionable(problems.texts);
  noteMissingDetector(settings, log);
  return decision.families;
}

function noteMissingDetector(settings: NodeSettings, log: Log): void {
  if (familyDetector(settings, settings.addresses.primary).kind !== 'none') return;
  const source =
    settings.configuration.detectLocalMode === 'NodeCIDR' ? 'PodCIDR defined at node' : 'cluster CIDR specified';
  log.info(
    `Detect-local-mode set to ${settings.configuration.detectLocalMode}, but no ${source} for primary IP family`,
    {
      ipFamily: settings.addresses.primary,
    },
  );
}

/** What cannot be set is said with its consequence; Services go on working without it. */
export async function tuneKernel(settings: NodeSettings, log: Log): Promise<void> {
  const { configuration } = settings;
  if (configuration.mode === 'ipvs') await (await import('./ipvs-runtime.ts')).requireIpvs();
  const tunings = [
    ...conntrackTunings(configuration.conntrack, machineCpus()),
    ...(configuration.mode === 'iptables' ? iptablesTunings(takesLocalhostNodePorts(settings, 'IPv4')) : []),
    ...(configuration.mode === 'ipvs' ? ipvsTunings(configuration.ipvs, kernelVersion()) : []),
  ];
  for (const outcome of applyTunings(tunings)) {
    if (outcome.kind === 'failed')
      log.warning('A kernel setting could not be written', { consequence: describeTuningFailure(outcome) });
    else if (outcome.kind === 'written')
      log.info('Set a kernel setting', { file: outcome.file, value: outcome.value, before: outcome.before });
  }
  const reason = await setOomScore(configuration.oomScoreAdj);
  if (reason !== undefined) log.info('The OOM score could not be set', { reason }, 2);
}

/** Rules of another mode, or in the other iptables, would catch packets with endpoints of yesterday. */
export async function reportLeftovers({ mode }: ProxyConfiguration, variant: IptablesVariant, log: Log): Promise<void> {
  try {
    for (const leftover of await findLeftovers({ mode, ...(variant === 'auto' ? {} : { variant }) })) {
      log.warning('Found rules of another kube-proxy', { what: describeLeftover(leftover) });
    }
  } catch (error) {
    log.error(error, 'Could not look for rules of another kube-proxy');
  }
}

/** Another kube-proxy does not know of our lock. */
export async function reportRunningProxy({ metricsBindAddress }: ProxyConfiguration, log: Log): Promise<void> {
  const address = splitHostPort(metricsBindAddress);
  const mode = 'problem' in address ? undefined : await runningProxyMode(Number(address.port));
  if (mode === undefined) return;
  log.warning("Another kube-proxy seems to run on this node; two of them undo each other's rules", {
    mode,
    metricsBindAddress,
  });
}
