// Which of the two iptables a host uses, where an image carries both. Rules in the wrong one work, but beside those of
// kubelet and the network plugin instead of among them, and nobody finds them. In: what each variant holds. Out: the
// variant, and the reason in words for the log.
import { FAMILIES, type Family } from '../lib/ip.ts';
import { KernelError } from './error.ts';
import { legacyTables } from './host.ts';
import { Iptables, type IptablesVariant } from './iptables.ts';

/** What one variant holds, over both families. */
export interface VariantState {
  /** Chains that kubelet makes so that others find the variant in use. */
  readonly hints: readonly string[];
  /** Rules of anybody. */
  readonly rules: number;
  /** Tables that are there and could not be read, with the reason: hints may hide in them. */
  readonly unreadable?: string;
}

export interface VariantProbes {
  /** Undefined where the program is not installed. */
  readonly nft: VariantState | undefined;
  readonly legacy: VariantState | undefined;
  /** What plain `iptables` is; undefined where it is not installed. */
  readonly plain: 'nft' | 'legacy' | undefined;
}

export interface VariantChoice {
  readonly variant: IptablesVariant;
  /** `iptables-nft: kubelet's chain KUBE-IPTABLES-HINT is there` */
  readonly reason: string;
}

const HINT_CHAINS = ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY'];
const VARIANTS = ['nft', 'legacy'] as const;
type NamedVariant = (typeof VARIANTS)[number];

/** First kubelet's word, then where rules are, then what `iptables` is. Pure. */
export function chooseVariant({ nft, legacy, plain }: VariantProbes): VariantChoice {
  if (!nft && !legacy) return { variant: 'auto', reason: 'iptables: the host has no other name for it' };
  if (!nft) return choice('legacy', 'iptables-nft is not installed');
  if (!legacy) return choice('nft', 'iptables-legacy is not installed');
  const beside = (other: string): string => ` (${other} holds such a chain too, left by an earlier set-up)`;
  if (nft.hints.length > 0)
    return choice(
      'nft',
      `kubelet's chain ${nft.hints[0]} is there${legacy.hints.length > 0 ? beside('iptables-legacy') : ''}`,
    );
  if (legacy.hints.length > 0) return choice('legacy', `kubelet's chain ${legacy.hints[0]} is there`);
  // On a node, kubelet marks one of the two. Not this one, so the other; if that cannot be used either, it is said, not guessed.
  if (legacy.unreadable !== undefined && nft.rules === 0)
    return choice(
      'legacy',
      `its tables are there, though they cannot be read (${legacy.unreadable}); iptables-nft is empty`,
    );
  if (nft.rules !== legacy.rules) {
    const [more, fewer] = nft.rules > legacy.rules ? (['nft', 'legacy'] as const) : (['legacy', 'nft'] as const);
    const held = { nft: nft.rules, legacy: legacy.rules };
    return choice(more, `${held[more]} rules are there, ${held[fewer]} in iptables-${fewer}`);
  }
  return plain
    ? choice(plain, "neither kubelet nor existing rules decide, and it is this host's iptables")
    : choice('nft', 'neither kubelet nor existing rules decide, and it is the newer one');
}

function choice(variant: NamedVariant, why: string): VariantChoice {
  return { variant, reason: `iptables-${variant}: ${why}` };
}

/** Reads both variants; makes no table that is not there. */
export async function probeVariants(): Promise<VariantProbes> {
  return {
    nft: await probeVariant('nft'),
    legacy: await probeVariant('legacy'),
    plain: await plainVariant(),
  };
}

async function probeVariant(variant: NamedVariant): Promise<VariantState | undefined> {
  const states: VariantState[] = [];
  for (const family of FAMILIES) {
    const state = await probeFamily(variant, family);
    if (state) states.push(state);
  }
  if (states.length === 0) return undefined;
  const unreadable = states.find((state) => state.unreadable !== undefined)?.unreadable;
  return {
    hints: [...new Set(states.flatMap(({ hints }) => hints))],
    rules: states.reduce((sum, { rules }) => sum + rules, 0),
    ...(unreadable !== undefined && { unreadable }),
  };
}

async function probeFamily(variant: NamedVariant, family: Family): Promise<VariantState | undefined> {
  const iptables = new Iptables(family, variant);
  try {
    await iptables.version();
    const hasMangle = variant === 'nft' || legacyTables(family).includes('mangle');
    const hints = hasMangle ? hintsIn(await iptables.save('mangle')) : [];
    // Where kubelet speaks, nobody counts: a large node has tens of thousands of rules.
    return { hints, rules: hints.length > 0 ? 0 : countRules(await iptables.save()) };
  } catch (error) {
    if (error instanceof KernelError && error.code === 'TOOL_MISSING') return undefined;
    if (!(error instanceof KernelError)) throw error;
    const isThere = variant === 'legacy' && legacyTables(family).includes('mangle');
    return { hints: [], rules: 0, ...(isThere && { unreadable: error.message }) };
  }
}

async function plainVariant(): Promise<NamedVariant | undefined> {
  try {
    return (await new Iptables('IPv4').version()).backend === 'legacy' ? 'legacy' : 'nft';
  } catch {
    return undefined;
  }
}

/** In: the text of iptables-save of table mangle. */
export function hintsIn(saved: string): readonly string[] {
  return HINT_CHAINS.filter((chain) => saved.includes(`\n:${chain} `));
}

export function countRules(saved: string): number {
  return saved.split('\n').filter((line) => line.startsWith('-A ')).length;
}
